#include "core/kernels/elementwise/arithmetic.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

// Signed integers wrap: they are added as unsigned ones.
template <class T>
struct Unsigned {
    using type = T;
};
template <>
struct Unsigned<int32_t> {
    using type = uint32_t;
};
template <>
struct Unsigned<int64_t> {
    using type = uint64_t;
};
template <class T>
using Wrapping = typename Unsigned<T>::type;

#define CLEW_OPERATION(Name, ...)              \
    struct Name {                              \
        template <class T>                     \
        static CLEW_INLINE T apply(T a, T b) { \
            return T(__VA_ARGS__);             \
        }                                      \
    }
CLEW_OPERATION(Add, Wrapping<T>(a) + Wrapping<T>(b));
CLEW_OPERATION(Subtract, Wrapping<T>(a) - Wrapping<T>(b));
CLEW_OPERATION(Multiply, Wrapping<T>(a) * Wrapping<T>(b));
CLEW_OPERATION(Divide, a / b);
CLEW_OPERATION(Maximum, a > b || a != a ? a : b);  // when b is NaN neither holds
CLEW_OPERATION(Minimum, a < b || a != a ? a : b);
CLEW_OPERATION(And, a& b);
CLEW_OPERATION(Or, a | b);
CLEW_OPERATION(Xor, a ^ b);
#undef CLEW_OPERATION

// Bool is a byte that holds 0 or 1: its operations are those on bits.
#define CLEW_NUMBERS(op, boolean) \
    {boolean,                     \
     binary_loop<op, uint8_t>,    \
     binary_loop<op, int32_t>,    \
     binary_loop<op, int64_t>,    \
     binary_loop<op, float>,      \
     binary_loop<op, double>}
#define CLEW_ALL(op, boolean)         \
    {boolean,                         \
     binary_loop<op, uint8_t>,        \
     binary_loop<op, int32_t>,        \
     binary_loop<op, int64_t>,        \
     binary_loop<op, float>,          \
     binary_loop<op, double>,         \
     binary_loop<op, Complex<float>>, \
     binary_loop<op, Complex<double>>}
#define CLEW_BITS(op)          \
    {binary_loop<op, uint8_t>, \
     binary_loop<op, uint8_t>, \
     binary_loop<op, int32_t>, \
     binary_loop<op, int64_t>, \
     nullptr,                  \
     nullptr}

}  // namespace

CLEW_EXPORT_TABLE(ArithmeticTable, arithmetic,
                  {
                      .add = CLEW_ALL(Add, (binary_loop<Or, uint8_t>)),
                      .sub = CLEW_ALL(Subtract, nullptr),
                      .mul = CLEW_ALL(Multiply, (binary_loop<And, uint8_t>)),
                      .div = CLEW_INEXACT(binary_loop, Divide),
                      .maximum = CLEW_NUMBERS(Maximum, (binary_loop<Or, uint8_t>)),
                      .minimum = CLEW_NUMBERS(Minimum, (binary_loop<And, uint8_t>)),
                      .bitwise_and = CLEW_BITS(And),
                      .bitwise_or = CLEW_BITS(Or),
                      .bitwise_xor = CLEW_BITS(Xor),
                  });

}  // namespace clew::kernels
