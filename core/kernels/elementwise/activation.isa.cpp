#include "core/kernels/elementwise/activation.h"

#include "core/kernels/elementwise/gelu.h"
#include "core/kernels/elementwise/math_vectors.h"

namespace clew::kernels {
namespace {

inline constexpr double kRootTwoOverPi = 0.7978845608028654;  // sqrt(2/pi)
inline constexpr double kCubic = 0.044715;

#define CLEW_OPERATION(Name, ...)         \
    struct Name {                         \
        template <class T>                \
        static CLEW_INLINE T apply(T x) { \
            return __VA_ARGS__;           \
        }                                 \
    }
CLEW_OPERATION(Silu, x* math::sigmoid(x));
CLEW_OPERATION(GeluTanh, T(0.5) * x * (T(1) + math::tanh(T(kRootTwoOverPi) * (x + T(kCubic) * x * x * x))));
CLEW_OPERATION(LogSigmoid, -math::softplus(-x));
CLEW_OPERATION(Hardsigmoid, (x <= T(-3) ? T(0) : x >= T(3) ? T(6) : x + T(3)) / T(6));
CLEW_OPERATION(Hardswish, x*((x <= T(-3) ? T(0) : x >= T(3) ? T(6) : x + T(3)) / T(6)));
CLEW_OPERATION(Mish, x* math::tanh(math::softplus(x)));
#undef CLEW_OPERATION
#define CLEW_OPERATION(Name, ...)              \
    struct Name {                              \
        template <class T>                     \
        static CLEW_INLINE T apply(T g, T x) { \
            __VA_ARGS__;                       \
        }                                      \
    }
CLEW_OPERATION(SigmoidBackward, return g * (x * (T(1) - x)));
CLEW_OPERATION(TanhBackward, return g * (T(1) - x * x));
CLEW_OPERATION(SiluBackward, const T s = math::sigmoid(x); return g * (s * (T(1) + x * (T(1) - s))));
CLEW_OPERATION(GeluTanhBackward, const T t = math::tanh(T(kRootTwoOverPi) * (x + T(kCubic) * x * x * x));
               const T slope = T(kRootTwoOverPi) * (T(1) + T(3 * kCubic) * x * x);
               return g * (T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope));
CLEW_OPERATION(LogSigmoidBackward, return g * math::sigmoid(-x));
// A corner belongs to the piece on its outer side.
CLEW_OPERATION(HardsigmoidBackward, return x > T(-3) && x < T(3) ? g / T(6) : x == x ? T(0) : x);
CLEW_OPERATION(HardswishBackward, const T between = g * (x / T(3) + T(0.5)); return x <= T(-3)  ? T(0)
                                                                                    : x >= T(3) ? g
                                                                                                : between);
CLEW_OPERATION(MishBackward, const T t = math::tanh(math::softplus(x));
               return g * (t + x * math::sigmoid(x) * (T(1) - t * t)));
#undef CLEW_OPERATION
#define CLEW_OPERATION(Name, ...)                             \
    struct Name {                                             \
        template <class T>                                    \
        static CLEW_INLINE ValueAndDerivative<T> apply(T x) { \
            __VA_ARGS__;                                      \
        }                                                     \
    }
CLEW_OPERATION(GeluTanhBoth, const T t = math::tanh(T(kRootTwoOverPi) * (x + T(kCubic) * x * x * x));
               const T slope = T(kRootTwoOverPi) * (T(1) + T(3 * kCubic) * x * x);
               return {T(0.5) * x * (T(1) + t), T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * slope});
CLEW_OPERATION(MishBoth, const T t = math::tanh(math::softplus(x));
               return {x * t, t + x * math::sigmoid(x) * (T(1) - t * t)});
#undef CLEW_OPERATION
// Writes the value to `out`, and the derivative over x.
template <class Op, class T>
void derivative_block(T* out, T* x, int64_t count) {
    count &= -kPadding;
    constexpr bool halved = sizeof(T) == sizeof(float) && requires(float v) { Op::second(v, v, v); };
#ifdef __AVX512F__
    if constexpr (halved) {
        const auto put = [&](float* to, const auto& both) {
            avx512::store(to, both.value);
            avx512::store(x + (to - out), both.derivative);
        };
        return put_two_halves<2>(
            out, x, count, [](auto v, auto then) { Op::first(v, then); },
            [](auto v, auto one, auto two) { return Op::second(v, one, two); }, put);
    }
#else
    if constexpr (halved)
        return in_two_passes<2>(
            count, [&](int64_t i, auto then) { Op::first(x[i], then); },
            [&](int64_t i, T one, T two) {
                const ValueAndDerivative<T> both = Op::second(x[i], one, two);
                out[i] = both.value;
                x[i] = both.derivative;
            });
#endif
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        const ValueAndDerivative<T> both = Op::apply(x[i]);
        out[i] = both.value;
        x[i] = both.derivative;
    }
}
template <class Op, class T>
void derivative_loop(char* const* data, const int64_t*, int64_t count) {
    T *const out = reinterpret_cast<T*>(data[0]), *const x = reinterpret_cast<T*>(data[1]);
    derivative_block<Op>(out, x, count);
    const int64_t whole = count & -kPadding;
    T values[kPadding], derivatives[kPadding];
    for (int64_t i = 0; i < kPadding; ++i) derivatives[i] = whole + i < count ? x[whole + i] : T(1);
    if (whole < count) derivative_block<Op>(values, derivatives, kPadding);
    for (int64_t i = whole; i < count; ++i) {
        out[i] = values[i - whole];
        x[i] = derivatives[i - whole];
    }
}

template <class T>
struct Softplus {
    T beta, threshold;
    CLEW_INLINE explicit Softplus(const Number* params) : beta(T(params[0].real)), threshold(T(params[1].real)) {}
    CLEW_INLINE T operator()(T x) const {
        const T scaled = x * beta;
        const T y = math::softplus(scaled) / beta;
        return scaled > threshold ? x : y;
    }
};
template <class T>
struct SoftplusBackward {
    T beta, threshold;
    CLEW_INLINE explicit SoftplusBackward(const Number* params)
        : beta(T(params[0].real)), threshold(T(params[1].real)) {}
    CLEW_INLINE T operator()(T g, T x) const {
        const T scaled = x * beta;
        const T y = g * math::sigmoid(scaled);
        return scaled > threshold ? g : y;
    }
};
template <class T>
struct Elu {
    T negative, scale, input_scale;
    CLEW_INLINE explicit Elu(const Number* params)
        : negative(T(params[0].real * params[1].real)), scale(T(params[1].real)), input_scale(T(params[2].real)) {}
    CLEW_INLINE T operator()(T x) const {
        const T below = negative * math::expm1(x * input_scale);
        return x > T(0) ? scale * x : below;
    }
};
template <class T>
struct EluBackward {
    T slope_at_zero, scale, input_scale;
    CLEW_INLINE explicit EluBackward(const Number* params)
        : slope_at_zero(T(params[0].real * params[1].real * params[2].real)),
          scale(T(params[1].real)),
          input_scale(T(params[2].real)) {}
    CLEW_INLINE T operator()(T g, T x) const {
        const T below = g * (slope_at_zero * math::exp(x * input_scale));
        return x > T(0) ? g * scale : below;
    }
};
template <class T>
struct LeakyRelu {
    T slope;
    CLEW_INLINE explicit LeakyRelu(const Number* params) : slope(T(params[0].real)) {}
    CLEW_INLINE T operator()(T x) const { return x * (x > T(0) ? T(1) : slope); }
};
template <class T>
struct LeakyReluBackward {
    T slope;
    CLEW_INLINE explicit LeakyReluBackward(const Number* params) : slope(T(params[0].real)) {}
    CLEW_INLINE T operator()(T g, T x) const { return g * (x > T(0) ? T(1) : slope); }
};
template <class T>
struct Huber {
    T delta;
    CLEW_INLINE explicit Huber(const Number* params) : delta(T(params[0].real)) {}
    CLEW_INLINE T operator()(T x) const {
        const T size = math::magnitude(x);
        return size < delta ? T(0.5) * size * size : delta * (size - T(0.5) * delta);
    }
};
template <class T>
struct SmoothL1 {
    T beta;
    CLEW_INLINE explicit SmoothL1(const Number* params) : beta(T(params[0].real)) {}
    CLEW_INLINE T operator()(T x) const {
        const T size = math::magnitude(x);
        return size < beta ? T(0.5) * size * size / beta : size - T(0.5) * beta;
    }
};
template <class T>
struct HardtanhBackward {
    T low, high;
    CLEW_INLINE explicit HardtanhBackward(const Number* params) : low(T(params[0].real)), high(T(params[1].real)) {}
    CLEW_INLINE T operator()(T g, T x) const { return x > low && x < high ? g : x == x ? T(0) : x; }
};
template <class T>
struct ThresholdBackward {
    T threshold;
    CLEW_INLINE explicit ThresholdBackward(const Number* params) : threshold(T(params[0].real)) {}
    CLEW_INLINE T operator()(T g, T x) const { return x <= threshold ? T(0) : g; }
};

}  // namespace

CLEW_EXPORT_TABLE(ActivationTable, activation,
                  {
                      .silu = CLEW_HOLOMORPHIC(vector_loop, Silu, Silu),
                      .gelu = CLEW_FLOATING(vector_loop, Gelu),
                      .gelu_tanh = CLEW_FLOATING(math_loop, GeluTanh),
                      .logsigmoid = CLEW_FLOATING(math_loop, LogSigmoid),
                      .mish = CLEW_FLOATING(math_loop, Mish),
                      .softplus = CLEW_FLOATING(unary_param_loop, Softplus),
                      .elu = CLEW_FLOATING(unary_param_loop, Elu),
                      .leaky_relu = CLEW_FLOATING(unary_param_loop, LeakyRelu),
                      .hardsigmoid = CLEW_FLOATING(math_loop, Hardsigmoid),
                      .hardswish = CLEW_FLOATING(math_loop, Hardswish),
                      .huber = CLEW_FLOATING(unary_param_loop, Huber),
                      .smooth_l1 = CLEW_FLOATING(unary_param_loop, SmoothL1),
                      .sigmoid_backward = CLEW_FLOATING(binary_math_loop, SigmoidBackward),
                      .tanh_backward = CLEW_FLOATING(binary_math_loop, TanhBackward),
                      .silu_backward = CLEW_FLOATING(binary_math_loop, SiluBackward),
                      .gelu_backward = CLEW_FLOATING(binary_vector_loop, GeluBackward),
                      .gelu_tanh_backward = CLEW_FLOATING(binary_math_loop, GeluTanhBackward),
                      .logsigmoid_backward = CLEW_FLOATING(binary_math_loop, LogSigmoidBackward),
                      .mish_backward = CLEW_FLOATING(binary_math_loop, MishBackward),
                      .softplus_backward = CLEW_FLOATING(binary_param_loop, SoftplusBackward),
                      .elu_backward = CLEW_FLOATING(binary_param_loop, EluBackward),
                      .leaky_relu_backward = CLEW_FLOATING(binary_param_loop, LeakyReluBackward),
                      .hardtanh_backward = CLEW_FLOATING(binary_param_loop, HardtanhBackward),
                      .hardsigmoid_backward = CLEW_FLOATING(binary_math_loop, HardsigmoidBackward),
                      .hardswish_backward = CLEW_FLOATING(binary_math_loop, HardswishBackward),
                      .threshold_backward = CLEW_FLOATING(binary_param_loop, ThresholdBackward),
                      .gelu_and_derivative = CLEW_FLOATING(derivative_loop, GeluBoth),
                      .gelu_tanh_and_derivative = CLEW_FLOATING(derivative_loop, GeluTanhBoth),
                      .mish_and_derivative = CLEW_FLOATING(derivative_loop, MishBoth),
                  });

}  // namespace clew::kernels
