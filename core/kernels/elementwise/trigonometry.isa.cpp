#include "core/kernels/elementwise/trigonometry.h"

#include "core/kernels/elementwise/math_float32.h"

namespace clew::kernels {
namespace {

// Angles too large for our reduction are asked of libm, one by one, after the others.
template <class Op, class T>
void angle_block(T* out, const T* const* inputs, int64_t count, const Number*) {
    constexpr int64_t kPiece = 64;
    for (int64_t start = 0; start < count; start += kPiece) {
        const int64_t length = (count - start < kPiece ? count - start : kPiece) & -kPadding;
        T in[kPiece];  // kept: `out` may be the input
        int large = 0;
        for (int64_t i = 0; i < length; ++i) {
            in[i] = inputs[0][start + i];
            large |= !(math::magnitude(in[i]) <= T(math::kLargestAngle));
        }
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i) out[start + i] = Op::apply(in[i]);
        if (large == 0) continue;
        for (int64_t i = 0; i < length; ++i)
            if (!(math::magnitude(in[i]) <= T(math::kLargestAngle))) out[start + i] = Op::of_large(in[i]);
    }
}
template <class Op, class T>
void angle_loop(char* const* data, const int64_t* strides, int64_t count) {
    in_blocks<T, 1>(angle_block<Op, T>, data, strides, count, nullptr);
}

#define CLEW_OPERATION(Name, function)                                        \
    struct Name {                                                             \
        template <class T>                                                    \
        static CLEW_INLINE T apply(T x) {                                     \
            return math::function(x);                                         \
        }                                                                     \
        static float of_large(float x) { return __builtin_##function##f(x); } \
        static double of_large(double x) { return __builtin_##function(x); }  \
    }
CLEW_OPERATION(Sin, sin);
CLEW_OPERATION(Cos, cos);
CLEW_OPERATION(Tan, tan);
#undef CLEW_OPERATION

#define CLEW_OPERATION(Name, function)    \
    struct Name {                         \
        template <class T>                \
        static CLEW_INLINE T apply(T x) { \
            return math::function(x);     \
        }                                 \
    }
CLEW_OPERATION(Asin, asin);
CLEW_OPERATION(Acos, acos);
CLEW_OPERATION(Atan, atan);
#undef CLEW_OPERATION

}  // namespace

CLEW_EXPORT_TABLE(TrigonometryTable, trigonometry,
                  {
                      .sin = CLEW_HOLOMORPHIC(angle_loop, Sin, Sin),
                      .cos = CLEW_HOLOMORPHIC(angle_loop, Cos, Cos),
                      .tan = CLEW_HOLOMORPHIC(angle_loop, Tan, Tan),
                      .asin = CLEW_HOLOMORPHIC(math_loop, Asin, Asin),
                      .acos = CLEW_HOLOMORPHIC(math_loop, Acos, Acos),
                      .atan = CLEW_HOLOMORPHIC(math_loop, Atan, Atan),
                  });

}  // namespace clew::kernels
