#include "core/kernels/elementwise/exponential.h"

#include "core/kernels/elementwise/math_vectors.h"

namespace clew::kernels {
namespace {

#define CLEW_OPERATION(Name, function)    \
    struct Name {                         \
        template <class T>                \
        static CLEW_INLINE T apply(T x) { \
            return math::function(x);     \
        }                                 \
    }
CLEW_OPERATION(Exp, exp);
CLEW_OPERATION(Exp2, exp2);
CLEW_OPERATION(Expm1, expm1);
CLEW_OPERATION(Log, log);
CLEW_OPERATION(Log2, log2);
CLEW_OPERATION(Log10, log10);
CLEW_OPERATION(Log1p, log1p);
CLEW_OPERATION(Sinh, sinh);
CLEW_OPERATION(Cosh, cosh);
CLEW_OPERATION(Tanh, tanh);
CLEW_OPERATION(Sigmoid, sigmoid);
#undef CLEW_OPERATION

}  // namespace

CLEW_EXPORT_TABLE(ExponentialTable, exponential,
                  {
                      .exp = CLEW_HOLOMORPHIC(vector_loop, Exp, Exp),
                      .exp2 = CLEW_HOLOMORPHIC(math_loop, Exp2, Exp2),
                      .expm1 = CLEW_HOLOMORPHIC(math_loop, Expm1, Expm1),
                      .log = CLEW_HOLOMORPHIC(vector_loop, Log, Log),
                      .log2 = CLEW_HOLOMORPHIC(math_loop, Log2, Log2),
                      .log10 = CLEW_HOLOMORPHIC(math_loop, Log10, Log10),
                      .log1p = CLEW_HOLOMORPHIC(math_loop, Log1p, Log1p),
                      .sinh = CLEW_HOLOMORPHIC(math_loop, Sinh, Sinh),
                      .cosh = CLEW_HOLOMORPHIC(math_loop, Cosh, Cosh),
                      .tanh = CLEW_HOLOMORPHIC(math_loop, Tanh, Tanh),
                      .sigmoid = CLEW_HOLOMORPHIC(vector_loop, Sigmoid, Sigmoid),
                  });

}  // namespace clew::kernels
