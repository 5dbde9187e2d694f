// Products of small matrices, where packing costs more than multiplying.
#pragma once
#include <stdint.h>

#include "core/kernels/isa.h"

namespace clew::kernels {

struct SmallGemmShape {
    struct Strides {  // in elements
        int64_t row, column;
    };
    int64_t m, n, k;
    Strides a, b, out;
};
// The sum of one row with more terms is made in parts.
inline constexpr int64_t kShortSum = 64;

// out = alpha * a @ b + beta * out
template <class T>
using SmallGemm = void (*)(const SmallGemmShape& shape, T* out, const T* a, const T* b, T alpha, T beta);

struct SmallGemmTable {
    SmallGemm<float> float32;
    SmallGemm<double> float64;
    template <class T>
    SmallGemm<T> of() const {
        if constexpr (sizeof(T) == sizeof(float))
            return float32;
        else
            return float64;
    }
};
CLEW_DECLARE_TABLE(SmallGemmTable, small_gemm)

}  // namespace clew::kernels
