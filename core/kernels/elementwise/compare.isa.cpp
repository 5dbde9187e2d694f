#include "core/kernels/elementwise/compare.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

#define CLEW_OPERATION(Name, ...)                    \
    struct Name {                                    \
        template <class T>                           \
        static CLEW_INLINE uint8_t apply(T a, T b) { \
            return __VA_ARGS__;                      \
        }                                            \
    }
CLEW_OPERATION(Equal, a == b);
CLEW_OPERATION(NotEqual, a != b);
CLEW_OPERATION(Less, a < b);
CLEW_OPERATION(LessEqual, a <= b);
CLEW_OPERATION(Greater, a > b);
CLEW_OPERATION(GreaterEqual, a >= b);
CLEW_OPERATION(LogicalAnd, (a != T(0)) & (b != T(0)));
CLEW_OPERATION(LogicalOr, (a != T(0)) | (b != T(0)));
CLEW_OPERATION(LogicalXor, (a != T(0)) ^ (b != T(0)));
#undef CLEW_OPERATION

#define CLEW_OPERATION(Name, ...)               \
    struct Name {                               \
        template <class T>                      \
        static CLEW_INLINE uint8_t apply(T a) { \
            return __VA_ARGS__;                 \
        }                                       \
    }
CLEW_OPERATION(LogicalNot, a == T(0));
CLEW_OPERATION(IsNaN, a != a);
CLEW_OPERATION(IsFinite, a - a == T(0));
#undef CLEW_OPERATION
struct IsInfinite {
    template <class T>
    static CLEW_INLINE uint8_t apply(T a) {
        return a == T(__builtin_inf()) || a == -T(__builtin_inf());
    }
    template <class T>
    static CLEW_INLINE uint8_t apply(Complex<T> a) {
        return apply(a.real) | apply(a.imag);
    }
};

template <uint8_t kValue>
struct Always {
    template <class T>
    static CLEW_INLINE uint8_t apply(T) {
        return kValue;
    }
};

#define CLEW_ALL(loop, op)                                                               \
    {loop<op, uint8_t, uint8_t>, loop<op, uint8_t, uint8_t>, loop<op, uint8_t, int32_t>, \
     loop<op, uint8_t, int64_t>, loop<op, uint8_t, float>,   loop<op, uint8_t, double>}
#define CLEW_WITH_COMPLEX(loop, op)                                                                    \
    {loop<op, uint8_t, uint8_t>,        loop<op, uint8_t, uint8_t>,        loop<op, uint8_t, int32_t>, \
     loop<op, uint8_t, int64_t>,        loop<op, uint8_t, float>,          loop<op, uint8_t, double>,  \
     loop<op, uint8_t, Complex<float>>, loop<op, uint8_t, Complex<double>>}
#define CLEW_FLOATING_OR(always, op)                                                \
    {unary_loop<always, uint8_t, uint8_t>,    unary_loop<always, uint8_t, uint8_t>, \
     unary_loop<always, uint8_t, int32_t>,    unary_loop<always, uint8_t, int64_t>, \
     unary_loop<op, uint8_t, float>,          unary_loop<op, uint8_t, double>,      \
     unary_loop<op, uint8_t, Complex<float>>, unary_loop<op, uint8_t, Complex<double>>}

}  // namespace

CLEW_EXPORT_TABLE(CompareTable, compare,
                  {
                      .eq = CLEW_WITH_COMPLEX(binary_loop, Equal),
                      .ne = CLEW_WITH_COMPLEX(binary_loop, NotEqual),
                      .lt = CLEW_ALL(binary_loop, Less),
                      .le = CLEW_ALL(binary_loop, LessEqual),
                      .gt = CLEW_ALL(binary_loop, Greater),
                      .ge = CLEW_ALL(binary_loop, GreaterEqual),
                      .logical_and = CLEW_WITH_COMPLEX(binary_loop, LogicalAnd),
                      .logical_or = CLEW_WITH_COMPLEX(binary_loop, LogicalOr),
                      .logical_xor = CLEW_WITH_COMPLEX(binary_loop, LogicalXor),
                      .logical_not = CLEW_WITH_COMPLEX(unary_loop, LogicalNot),
                      .isnan = CLEW_FLOATING_OR(Always<0>, IsNaN),
                      .isinf = CLEW_FLOATING_OR(Always<0>, IsInfinite),
                      .isfinite = CLEW_FLOATING_OR(Always<1>, IsFinite),
                  });

}  // namespace clew::kernels
