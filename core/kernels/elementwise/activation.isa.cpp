#include "core/kernels/elementwise/activation.h"

#include "core/kernels/elementwise/math_vectors.h"

namespace clew::kernels {
namespace {

inline constexpr double kRootHalf = 0.7071067811865476;       // sqrt(1/2)
inline constexpr double kRootTwoOverPi = 0.7978845608028654;  // sqrt(2/pi)
inline constexpr double kDensity = 0.3989422804014327;        // 1 / sqrt(2 pi)
inline constexpr double kCubic = 0.044715;

// exp(z) for z <= 0 or NaN, and 0 below -87.
CLEW_INLINE float exp_of_negative(float z) {
    constexpr float kScaleRounderF = 12582912.0f + 127.0f;
    const float bounded = z < -87.0f ? -87.0f : z;
    const float rounded = math::multiply_add(bounded, 1.4426950408889634f, kScaleRounderF);
    const float r = math::multiply_add(rounded - kScaleRounderF, -0.6931472f, bounded);
    const float scale = math::from_bits(math::bits_of(rounded) << 23);
    return z < -87.0f ? 0.0f : math::exp_near_zero(r) * scale;
}

// erfc(|x| / sqrt(2)) / 2 = exp(-u) / 2 as in erf(), whose polynomial this is, in |x|; 0 from where erf rounds to 1.
CLEW_INLINE float normal_distribution(float x) {
    constexpr double h = kRootHalf;
    constexpr float kScaleRounderF = 12582912.0f + 126.0f, kBound = 5.586f;
    const uint32_t bits = math::bits_of(math::magnitude(x)), bound = math::bits_of(kBound);
    const float z = math::from_bits(bits < bound ? bits : bound);
    const float square = z * z;
    const float low = math::multiply_add(
        square, math::multiply_add(z, float(-0.019152723 * h * h * h * h), float(0.10277773 * h * h * h)),
        math::multiply_add(z, float(0.6366194 * h * h), float(1.1283792 * h)));
    const float last = math::multiply_add(square, float(-9.264332e-06 * h * h * h * h * h * h * h * h * h),
                                          math::multiply_add(z, float(0.00011771643 * h * h * h * h * h * h * h * h),
                                                             float(-0.00063311774 * h * h * h * h * h * h * h)));
    const float high = math::multiply_add(
        square, last,
        math::multiply_add(z, float(0.0016675694 * h * h * h * h * h * h), float(-0.0001609747 * h * h * h * h * h)));
    const float u = z * math::multiply_add(square * square, high, low);
    const float rounded = math::multiply_add(u, -1.4426950408889634f, kScaleRounderF);
    const float r = math::multiply_add(rounded - kScaleRounderF, -0.6931472f, -u);
    const float half = math::from_bits(math::bits_of(rounded) << 23);  // of 2^n
    const float tail = z < kBound ? math::exp_near_zero(r) * half : 0.0f;
    return x > 0.0f ? 1.0f - tail : tail;  // not of NaN: the caller multiplies by x
}
CLEW_INLINE double normal_distribution(double x) { return 0.5 * (1.0 + math::erf(x * kRootHalf)); }
CLEW_INLINE float normal_density(float x) { return float(kDensity) * exp_of_negative(-0.5f * x * x); }
CLEW_INLINE double normal_density(double x) { return kDensity * math::exp(-0.5 * x * x); }

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
struct Gelu {
    template <class T>
    static CLEW_INLINE T apply(T x) {
        return x * normal_distribution(x);
    }
#ifdef __AVX512F__
    template <class V>
    static CLEW_INLINE V first(V x) {
        return math::tail_exponent(x);
    }
    template <class V>
    static CLEW_INLINE V second(V x, V u) {
        return avx512::each(
            [](math::Floats v, math::Floats tail) {
                const __mmask16 upper = _mm512_cmp_ps_mask(v, avx512::all(0.0f), _CMP_GT_OQ);
                return v * _mm512_mask_sub_ps(tail, upper, avx512::all(1.0f), tail);
            },
            x, math::normal_tail(x, u));
    }
#endif
};

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
struct GeluBackward {
    template <class T>
    static CLEW_INLINE T apply(T g, T x) {
        return g * (normal_distribution(x) + x * normal_density(x));
    }
#ifdef __AVX512F__
    template <class V>
    static CLEW_INLINE V vectors(V g, V x) {
        return g * avx512::each(
                       [](math::Floats v, math::Floats tail) {
                           const __mmask16 upper = _mm512_cmp_ps_mask(v, avx512::all(0.0f), _CMP_GT_OQ);
                           const math::Floats below = _mm512_mask_sub_ps(tail, upper, avx512::all(1.0f), tail);
                           return avx512::multiply_add(v * float(kDensity), math::bell(v), below);
                       },
                       x, math::normal_tail(x, math::tail_exponent(x)));
    }
#endif
};

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
                  });

}  // namespace clew::kernels
