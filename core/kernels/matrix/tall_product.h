// a' @ b of two tall matrices, as the gradient of a weight is made from all steps or samples.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

// A matrix in memory with its columns side by side.
struct TallMatrix {
    const void* data;
    std::int64_t columns, row_stride;  // in elements
};
// out (a.columns x b.columns) = a' @ b, or out += a' @ b if `accumulate`; a and b have `rows` rows. floating only.
void tall_product(DType dtype, std::int64_t rows, const TallMatrix& a, const TallMatrix& b, void* out,
                  std::int64_t out_row, bool accumulate);

}  // namespace clew::kernels
