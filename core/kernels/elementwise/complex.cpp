#include "core/kernels/elementwise/complex.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <type_traits>

namespace clew::kernels {

namespace complex_functions {

#define CLEW_FUNCTION(Name, ...)                      \
    struct Name {                                     \
        template <class T>                            \
        static auto apply(const std::complex<T>& z) { \
            return __VA_ARGS__;                       \
        }                                             \
    }
CLEW_FUNCTION(Exp, std::exp(z));
CLEW_FUNCTION(Exp2, std::exp(z* std::numbers::ln2_v<T>));
CLEW_FUNCTION(Log, std::log(z));
CLEW_FUNCTION(Log2, std::log(z) / std::numbers::ln2_v<T>);
CLEW_FUNCTION(Log10, std::log10(z));
CLEW_FUNCTION(Sinh, std::sinh(z));
CLEW_FUNCTION(Cosh, std::cosh(z));
CLEW_FUNCTION(Tanh, std::tanh(z));
CLEW_FUNCTION(Sigmoid, T(1) / (T(1) + std::exp(-z)));
CLEW_FUNCTION(Silu, z / (T(1) + std::exp(-z)));
CLEW_FUNCTION(Sin, std::sin(z));
CLEW_FUNCTION(Cos, std::cos(z));
CLEW_FUNCTION(Tan, std::tan(z));
CLEW_FUNCTION(Asin, std::asin(z));
CLEW_FUNCTION(Acos, std::acos(z));
CLEW_FUNCTION(Atan, std::atan(z));
CLEW_FUNCTION(Sqrt, std::sqrt(z));
CLEW_FUNCTION(Rsqrt, T(1) / std::sqrt(z));
CLEW_FUNCTION(Sign, z == T(0) ? z : z / std::abs(z));
CLEW_FUNCTION(Abs, std::abs(z));
CLEW_FUNCTION(Angle, std::arg(z));
// exp(x) cos(y) - 1 = expm1(x) cos(y) - 2 sin(y/2)^2
struct Expm1 {
    template <class T>
    static std::complex<T> apply(const std::complex<T>& z) {
        const T half = std::sin(z.imag() / 2);
        return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half, std::exp(z.real()) * std::sin(z.imag())};
    }
};
// |1 + z|^2 = 1 + (2 x + x^2 + y^2)
struct Log1p {
    template <class T>
    static std::complex<T> apply(const std::complex<T>& z) {
        const T x = z.real(), y = z.imag();
        if (std::abs(x) > T(0.5) || std::abs(y) > T(0.5)) return std::log(T(1) + z);
        return {std::log1p(x * (2 + x) + y * y) / 2, std::atan2(y, 1 + x)};
    }
};
#undef CLEW_FUNCTION

}  // namespace complex_functions

namespace {

template <class T>
std::complex<T>& at(char* data, std::int64_t place) {
    return *reinterpret_cast<std::complex<T>*>(data + place);
}

// As in PyTorch: 0 to the power 0 is 1, small whole exponents are products.
template <class T>
std::complex<T> power(const std::complex<T>& z, const std::complex<T>& exponent) {
    if (exponent == T(0)) return T(1);
    if (z == T(0)) return exponent.real() > 0 ? std::complex<T>(0) : std::pow(z, exponent);
    return std::pow(z, exponent);
}

}  // namespace

template <class Function, class T>
void complex_loop(char* const* data, const std::int64_t* strides, std::int64_t count) {
    using Out = decltype(Function::apply(std::complex<T>()));
    for (std::int64_t i = 0; i < count; ++i)
        *reinterpret_cast<Out*>(data[0] + i * strides[0]) = Function::apply(at<T>(data[1], i * strides[1]));
}

template <class T>
void complex_power_loop(char* const* data, const std::int64_t* strides, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
        at<T>(data[0], i * strides[0]) = power(at<T>(data[1], i * strides[1]), at<T>(data[2], i * strides[2]));
}

template <class T>
void complex_power_by_number(char* const* data, const std::int64_t* strides, std::int64_t count, const Number* params) {
    const std::complex<T> exponent(static_cast<T>(params[0].real), static_cast<T>(params[0].imag));
    for (std::int64_t i = 0; i < count; ++i) {
        const std::complex<T> z = at<T>(data[1], i * strides[1]);
        at<T>(data[0], i * strides[0]) = exponent == T(2)      ? z * z
                                         : exponent == T(3)    ? z * z * z
                                         : exponent == T(1)    ? z
                                         : exponent == T(-1)   ? T(1) / z
                                         : exponent == T(0.5)  ? std::sqrt(z)
                                         : exponent == T(-0.5) ? T(1) / std::sqrt(z)
                                                               : power(z, exponent);
    }
}

#define CLEW_INSTANCE(Function)                                                                                      \
    template void complex_loop<complex_functions::Function, float>(char* const*, const std::int64_t*, std::int64_t); \
    template void complex_loop<complex_functions::Function, double>(char* const*, const std::int64_t*, std::int64_t);
CLEW_INSTANCE(Exp)
CLEW_INSTANCE(Exp2)
CLEW_INSTANCE(Expm1)
CLEW_INSTANCE(Log)
CLEW_INSTANCE(Log2)
CLEW_INSTANCE(Log10)
CLEW_INSTANCE(Log1p)
CLEW_INSTANCE(Sinh)
CLEW_INSTANCE(Cosh)
CLEW_INSTANCE(Tanh)
CLEW_INSTANCE(Sigmoid)
CLEW_INSTANCE(Silu)
CLEW_INSTANCE(Sin)
CLEW_INSTANCE(Cos)
CLEW_INSTANCE(Tan)
CLEW_INSTANCE(Asin)
CLEW_INSTANCE(Acos)
CLEW_INSTANCE(Atan)
CLEW_INSTANCE(Sqrt)
CLEW_INSTANCE(Rsqrt)
CLEW_INSTANCE(Sign)
CLEW_INSTANCE(Abs)
CLEW_INSTANCE(Angle)
#undef CLEW_INSTANCE
template void complex_power_loop<float>(char* const*, const std::int64_t*, std::int64_t);
template void complex_power_loop<double>(char* const*, const std::int64_t*, std::int64_t);
template void complex_power_by_number<float>(char* const*, const std::int64_t*, std::int64_t, const Number*);
template void complex_power_by_number<double>(char* const*, const std::int64_t*, std::int64_t, const Number*);

}  // namespace clew::kernels
