#include "core/kernels/elementwise/parametric.h"

#include "core/kernels/elementwise/power_loops.h"

namespace clew::kernels {
namespace {

template <class T>
struct Converted {
    static CLEW_INLINE T of(const Number& number) {
        if (T(0.5) != T(0)) return T(number.real);
        return T(number.integer);
    }
};
template <class T>
struct Converted<Complex<T>> {
    static CLEW_INLINE Complex<T> of(const Number& number) { return {T(number.real), T(number.imag)}; }
};
template <class T>
CLEW_INLINE T converted(const Number& number) {
    return Converted<T>::of(number);
}
// Integers wrap.
template <class T>
CLEW_INLINE T product(T a, T b) {
    return T(uint64_t(a) * uint64_t(b));
}
CLEW_INLINE float product(float a, float b) { return a * b; }
CLEW_INLINE double product(double a, double b) { return a * b; }
template <class T>
CLEW_INLINE Complex<T> product(Complex<T> a, Complex<T> b) {
    return a * b;
}
template <class T>
CLEW_INLINE Complex<T> sum(Complex<T> a, Complex<T> b) {
    return a + b;
}
template <class T>
CLEW_INLINE T sum(T a, T b) {
    return T(uint64_t(a) + uint64_t(b));
}
CLEW_INLINE float sum(float a, float b) { return a + b; }
CLEW_INLINE double sum(double a, double b) { return a + b; }

template <class T>
struct AddScaled {
    T scale;
    CLEW_INLINE explicit AddScaled(const Number* params) : scale(converted<T>(params[0])) {}
    CLEW_INLINE T operator()(T a, T b) const { return sum(a, product(scale, b)); }
};
template <class T>
struct SubtractScaled {
    T scale;
    CLEW_INLINE explicit SubtractScaled(const Number* params) : scale(product(T(-1), converted<T>(params[0]))) {}
    CLEW_INLINE T operator()(T a, T b) const { return sum(a, product(scale, b)); }
};
template <class T>
struct Clamp {
    T low, high;
    CLEW_INLINE explicit Clamp(const Number* params) : low(converted<T>(params[0])), high(converted<T>(params[1])) {}
    CLEW_INLINE T operator()(T x) const {
        const T raised = x < low ? low : x;
        return raised > high ? high : raised;
    }
};
template <class T>
struct Threshold {
    T bound, other;
    CLEW_INLINE explicit Threshold(const Number* params)
        : bound(converted<T>(params[0])), other(converted<T>(params[1])) {}
    CLEW_INLINE T operator()(T x) const { return x <= bound ? other : x; }
};
template <class T>
struct Lerp {
    T weight;
    CLEW_INLINE explicit Lerp(const Number* params) : weight(converted<T>(params[0])) {}
    CLEW_INLINE T operator()(T a, T b) const {
        const T difference = b - a;
        return math::is_small_weight(weight) ? a + weight * difference : b - difference * (T(1) - weight);
    }
};
template <class T>
struct AddProduct {
    T scale;
    CLEW_INLINE explicit AddProduct(const Number* params) : scale(converted<T>(params[0])) {}
    CLEW_INLINE T operator()(T x, T a, T b) const { return x + scale * a * b; }
};
template <class T>
struct AddQuotient {
    T scale;
    CLEW_INLINE explicit AddQuotient(const Number* params) : scale(converted<T>(params[0])) {}
    CLEW_INLINE T operator()(T x, T a, T b) const { return x + scale * a / b; }
};

// Powers with an exponent known for the whole array. As in PyTorch, 0.5 is the square root: NaN at -inf, -0 at -0.
CLEW_INLINE float root(float x) { return __builtin_sqrtf(x); }
CLEW_INLINE double root(double x) { return __builtin_sqrt(x); }
#define CLEW_OPERATION(Name, ...)                                   \
    template <class T>                                              \
    struct Name {                                                   \
        CLEW_INLINE explicit Name(const Number*) {}                 \
        CLEW_INLINE T operator()(T x) const { return __VA_ARGS__; } \
    }
CLEW_OPERATION(Same, x);
CLEW_OPERATION(Square, product(x, x));
CLEW_OPERATION(Cube, product(product(x, x), x));
CLEW_OPERATION(Root, root(x));
CLEW_OPERATION(Inverse, T(1) / x);
CLEW_OPERATION(InverseSquare, T(1) / (x * x));
CLEW_OPERATION(InverseRoot, T(1) / root(x));
#undef CLEW_OPERATION

// One exponent many times over: where g++ sees that it is always the same it makes branches of what hangs on it.
inline void power_by_float(float* out, const float* const* inputs, int64_t count, const Number* params) {
    const float exponent = static_cast<float>(params[0].real);
#ifdef __AVX512F__
    if (exponent > -kSmallExponent && exponent < kSmallExponent)
        return vector_powers_by_small_number(out, inputs[0], count, exponent);
    constexpr auto block = vector_power_block;
#else
    constexpr auto block = binary_block<FloatPower, float>;
#endif
    float exponents[kBuffer];
    for (int64_t i = 0; i < kBuffer; ++i) exponents[i] = exponent;
    for (int64_t start = 0; start < count; start += kBuffer) {
        const float* pair[] = {inputs[0] + start, exponents};
        block(out + start, pair, count - start < kBuffer ? count - start : kBuffer, nullptr);
    }
}

template <class T>
void power_by_number(char* const* data, const int64_t* strides, int64_t count, const Number* params) {
    const double exponent = params[0].real;
    if (exponent == 1.0) return unary_param_loop<Same, T>(data, strides, count, params);
    if (exponent == 2.0) return unary_param_loop<Square, T>(data, strides, count, params);
    if (exponent == 3.0) return unary_param_loop<Cube, T>(data, strides, count, params);
    if constexpr (T(0.5) != T(0)) {
        if (exponent == 0.5) return unary_param_loop<Root, T>(data, strides, count, params);
        if (exponent == -1.0) return unary_param_loop<Inverse, T>(data, strides, count, params);
        if (exponent == -2.0) return unary_param_loop<InverseSquare, T>(data, strides, count, params);
        if (exponent == -0.5) return unary_param_loop<InverseRoot, T>(data, strides, count, params);
    }
    if constexpr (sizeof(T) == 4 && T(0.5) != T(0))
        return in_blocks<float, 1>(power_by_float, data, strides, count, params);
    T number = converted<T>(params[0]);
    char* const with_number[] = {data[0], data[1], reinterpret_cast<char*>(&number)};
    const int64_t with_zero[] = {strides[0], strides[1], 0};
    power_loop<T>(with_number, with_zero, count);
}

#define CLEW_SLOPE(Name, power)                                             \
    template <class T>                                                      \
    struct Name {                                                           \
        CLEW_INLINE explicit Name(const Number*) {}                         \
        CLEW_INLINE T operator()(T g, T x) const { return g * (T(power)); } \
    }
CLEW_SLOPE(SlopeOfSquare, 2 * x);
CLEW_SLOPE(SlopeOfCube, 3 * (x * x));
CLEW_SLOPE(SlopeOfFourth, 4 * (x * x * x));
#undef CLEW_SLOPE

template <class T>
void power_slope(char* const* data, const int64_t* strides, int64_t count, const Number* params) {
    if (params[0].real == 2.0) return binary_param_loop<SlopeOfSquare, T>(data, strides, count, params);
    if (params[0].real == 3.0) return binary_param_loop<SlopeOfCube, T>(data, strides, count, params);
    binary_param_loop<SlopeOfFourth, T>(data, strides, count, params);
}

template <class T>
void fill(char* const* data, const int64_t* strides, int64_t count, const Number* params) {
    const T number = converted<T>(params[0]);
    if (strides[0] != sizeof(T)) {
        for (int64_t i = 0; i < count; ++i) store<T>(data[0] + i * strides[0], number);
        return;
    }
    T* const out = reinterpret_cast<T*>(data[0]);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = number;
}

#define CLEW_NUMBERS(loop, op) \
    {nullptr, loop<op, uint8_t>, loop<op, int32_t>, loop<op, int64_t>, loop<op, float>, loop<op, double>}
#define CLEW_WITH_COMPLEX(loop, op)                                                   \
    {nullptr,         loop<op, uint8_t>, loop<op, int32_t>,        loop<op, int64_t>, \
     loop<op, float>, loop<op, double>,  loop<op, Complex<float>>, loop<op, Complex<double>>}

}  // namespace

CLEW_EXPORT_TABLE(ParametricTable, parametric,
                  {
                      .fill = {nullptr, nullptr, nullptr, nullptr, fill<float>, fill<double>},
                      .add_scaled = CLEW_WITH_COMPLEX(binary_param_loop, AddScaled),
                      .sub_scaled = CLEW_WITH_COMPLEX(binary_param_loop, SubtractScaled),
                      .clamp = CLEW_NUMBERS(unary_param_loop, Clamp),
                      .threshold = CLEW_NUMBERS(unary_param_loop, Threshold),
                      .pow = {nullptr, power_by_number<uint8_t>, power_by_number<int32_t>, power_by_number<int64_t>,
                              power_by_number<float>, power_by_number<double>, complex_power_by_number<float>,
                              complex_power_by_number<double>},
                      .power_slope = {nullptr, nullptr, nullptr, nullptr, power_slope<float>, power_slope<double>},
                      .lerp = CLEW_INEXACT(binary_param_loop, Lerp),
                      .addcmul = CLEW_INEXACT(ternary_param_loop, AddProduct),
                      .addcdiv = CLEW_INEXACT(ternary_param_loop, AddQuotient),
                  });

}  // namespace clew::kernels
