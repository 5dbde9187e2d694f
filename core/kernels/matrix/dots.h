// Products whose sums run along memory: few rows by few columns of long lines, and lines by a vector.
#pragma once
#include <stdint.h>

#include "core/kernels/isa.h"
#include "core/kernels/matrix/matrix.h"

namespace clew::kernels {

// out[i][j] = alpha * (sum over p of a[i * a_line + p] * b[j * b_line + p]) + beta * out[i][j]
template <class T>
using Dots = void (*)(int64_t m, int64_t n, int64_t k, const T* a, int64_t a_line, const T* b, int64_t b_line,
                      Matrix<T> out, T alpha, T beta);

struct DotsTable {
    Dots<float> float32;
    Dots<double> float64;
    template <class T>
    Dots<T> of() const {
        if constexpr (sizeof(T) == sizeof(float))
            return float32;
        else
            return float64;
    }
};
CLEW_DECLARE_TABLE(DotsTable, dots)

}  // namespace clew::kernels
