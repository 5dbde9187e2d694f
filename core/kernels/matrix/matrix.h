// What the loops of matrix products take.
#pragma once
#include <stdint.h>

namespace clew::kernels {

// A matrix of one product; strides in elements, of any sign.
template <class T>
struct Matrix {
    T* data;
    int64_t row_stride;
    int64_t column_stride;
};

}  // namespace clew::kernels
