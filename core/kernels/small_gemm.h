// Products of small matrices, where calling a BLAS costs more than multiplying.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"

namespace clew::kernels {

// A matrix of one product; strides in elements, of any sign.
template <class T>
struct Matrix {
    T* data;
    std::int64_t row_stride;
    std::int64_t column_stride;
};

// out = alpha * a @ b + beta * out
template <class T>
using SmallGemm = void (*)(std::int64_t m, std::int64_t n, std::int64_t k, Matrix<const T> a, Matrix<const T> b,
                           Matrix<T> out, T alpha, T beta);

struct SmallGemmTable {
    SmallGemm<float> float32;
    SmallGemm<double> float64;
};
CLEW_DECLARE_TABLE(SmallGemmTable, small_gemm)

}  // namespace clew::kernels
