#include "core/kernels/elementwise/unary.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

CLEW_INLINE float root(float x) { return __builtin_sqrtf(x); }
CLEW_INLINE double root(double x) { return __builtin_sqrt(x); }
CLEW_INLINE float absolute(float x) { return __builtin_fabsf(x); }
CLEW_INLINE double absolute(double x) { return __builtin_fabs(x); }
CLEW_INLINE uint8_t absolute(uint8_t x) { return x; }
CLEW_INLINE int32_t absolute(int32_t x) { return x < 0 ? int32_t(0u - uint32_t(x)) : x; }
CLEW_INLINE int64_t absolute(int64_t x) { return x < 0 ? int64_t(uint64_t(0) - uint64_t(x)) : x; }
CLEW_INLINE float negative(float x) { return -x; }
CLEW_INLINE double negative(double x) { return -x; }
CLEW_INLINE uint8_t negative(uint8_t x) { return uint8_t(-x); }
CLEW_INLINE int32_t negative(int32_t x) { return int32_t(0u - uint32_t(x)); }
CLEW_INLINE int64_t negative(int64_t x) { return int64_t(uint64_t(0) - uint64_t(x)); }
template <class T>
CLEW_INLINE Complex<T> negative(Complex<T> x) {
    return -x;
}
template <class T>
CLEW_INLINE Complex<T> squared(Complex<T> x) {
    return x * x;
}
CLEW_INLINE float squared(float x) { return x * x; }
CLEW_INLINE double squared(double x) { return x * x; }
CLEW_INLINE uint8_t squared(uint8_t x) { return uint8_t(x * x); }
CLEW_INLINE int32_t squared(int32_t x) { return int32_t(uint32_t(x) * uint32_t(x)); }
CLEW_INLINE int64_t squared(int64_t x) { return int64_t(uint64_t(x) * uint64_t(x)); }
CLEW_INLINE float down(float x) { return __builtin_floorf(x); }
CLEW_INLINE double down(double x) { return __builtin_floor(x); }
CLEW_INLINE float up(float x) { return __builtin_ceilf(x); }
CLEW_INLINE double up(double x) { return __builtin_ceil(x); }
CLEW_INLINE float to_zero(float x) { return __builtin_truncf(x); }
CLEW_INLINE double to_zero(double x) { return __builtin_trunc(x); }
CLEW_INLINE float to_nearest(float x) { return __builtin_rintf(x); }
CLEW_INLINE double to_nearest(double x) { return __builtin_rint(x); }

#define CLEW_OPERATION(Name, ...)         \
    struct Name {                         \
        template <class T>                \
        static CLEW_INLINE T apply(T a) { \
            return T(__VA_ARGS__);        \
        }                                 \
    }
CLEW_OPERATION(Negative, negative(a));
CLEW_OPERATION(Absolute, absolute(a));
CLEW_OPERATION(Sign, (a > T(0)) - (a < T(0)));
CLEW_OPERATION(Square, squared(a));
CLEW_OPERATION(BitwiseNot, ~a);
CLEW_OPERATION(LogicalNot, a ^ T(1));
CLEW_OPERATION(Relu, a < T(0) ? T(0) : a);
CLEW_OPERATION(Same, a);
CLEW_OPERATION(Reciprocal, T(1) / a);
CLEW_OPERATION(SquareRoot, root(a));
CLEW_OPERATION(ReciprocalSquareRoot, T(1) / root(a));
CLEW_OPERATION(Angle, a != a ? a : a < T(0) ? T(3.14159265358979323846) : T(0));
CLEW_OPERATION(Conjugate, T(a.real, -a.imag));
CLEW_OPERATION(Floor, down(a));
CLEW_OPERATION(Ceil, up(a));
CLEW_OPERATION(Round, to_nearest(a));
CLEW_OPERATION(Truncate, to_zero(a));
#undef CLEW_OPERATION

#define CLEW_NUMBERS(op, boolean, byte) \
    {boolean, byte, unary_loop<op, int32_t>, unary_loop<op, int64_t>, unary_loop<op, float>, unary_loop<op, double>}
#define CLEW_ALL(op, boolean, byte, single, twice)                                                                   \
    {boolean, byte, unary_loop<op, int32_t>, unary_loop<op, int64_t>, unary_loop<op, float>, unary_loop<op, double>, \
     single,  twice}

}  // namespace

CLEW_EXPORT_TABLE(
    UnaryTable, unary,
    {
        .neg = CLEW_ALL(Negative, nullptr, (unary_loop<Negative, uint8_t>), (unary_loop<Negative, Complex<float>>),
                        (unary_loop<Negative, Complex<double>>)),
        .abs = CLEW_ALL(Absolute, (unary_loop<Same, uint8_t>), (unary_loop<Same, uint8_t>),
                        (complex_loop<complex_functions::Abs, float>), (complex_loop<complex_functions::Abs, double>)),
        .sign = CLEW_NUMBERS(Sign, (unary_loop<Same, uint8_t>), (unary_loop<Sign, uint8_t>)),
        .square = CLEW_ALL(Square, (unary_loop<Same, uint8_t>), (unary_loop<Square, uint8_t>),
                           (unary_loop<Square, Complex<float>>), (unary_loop<Square, Complex<double>>)),
        .bitwise_not = {unary_loop<LogicalNot, uint8_t>, unary_loop<BitwiseNot, uint8_t>,
                        unary_loop<BitwiseNot, int32_t>, unary_loop<BitwiseNot, int64_t>, nullptr, nullptr},
        .relu = CLEW_NUMBERS(Relu, nullptr, (unary_loop<Same, uint8_t>)),
        .sgn = CLEW_ALL(Sign, (unary_loop<Same, uint8_t>), (unary_loop<Sign, uint8_t>),
                        (complex_loop<complex_functions::Sign, float>),
                        (complex_loop<complex_functions::Sign, double>)),
        .angle = {nullptr, nullptr, nullptr, nullptr, unary_loop<Angle, float>, unary_loop<Angle, double>,
                  complex_loop<complex_functions::Angle, float>, complex_loop<complex_functions::Angle, double>},
        .conj = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, unary_loop<Conjugate, Complex<float>>,
                 unary_loop<Conjugate, Complex<double>>},
        .reciprocal = CLEW_INEXACT(unary_loop, Reciprocal),
        .sqrt = CLEW_HOLOMORPHIC(unary_loop, SquareRoot, Sqrt),
        .rsqrt = CLEW_HOLOMORPHIC(unary_loop, ReciprocalSquareRoot, Rsqrt),
        .floor = CLEW_FLOATING(unary_loop, Floor),
        .ceil = CLEW_FLOATING(unary_loop, Ceil),
        .round = CLEW_FLOATING(unary_loop, Round),
        .trunc = CLEW_FLOATING(unary_loop, Truncate),
    });

}  // namespace clew::kernels
