// Products of small matrices, where packing costs more than multiplying.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"
#include "core/kernels/matrix/matrix.h"

namespace clew::kernels {

// out = alpha * a @ b + beta * out
template <class T>
using SmallGemm = void (*)(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
                           Matrix<T> out, T alpha, T beta);

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
