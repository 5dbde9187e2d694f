// Products of matrices that are parts of contiguous tensors.
#pragma once
#include <cstdint>

#include "core/kernels/matrix/gemm.h"
#include "core/tensor/tensor.h"

namespace clew {

// Part of a contiguous tensor as a matrix.
struct MatrixPart {
    const Tensor& tensor;
    std::int64_t first;  // element
    std::int64_t rows, columns, row_stride;
    bool transposed = false;
};
class MatrixPartView {
public:
    explicit MatrixPartView(const MatrixPart& part) {
        const int across = part.transposed ? 0 : 1;
        sizes_[1 - across] = part.rows;
        sizes_[across] = part.columns;
        strides_[1 - across] = part.row_stride;
        strides_[across] = 1;
        const auto size = static_cast<std::int64_t>(item_size(part.tensor.dtype()));
        view_ = {part.tensor.data() + part.first * size, part.tensor.dtype(), 2, sizes_, strides_};
    }
    MatrixPartView(const MatrixPartView&) = delete;
    operator const kernels::View&() const { return view_; }

private:
    std::int64_t sizes_[2], strides_[2];
    kernels::View view_;
};
// out = a b + beta out
inline void multiply(const MatrixPart& out, const MatrixPart& a, const MatrixPart& b, double beta = 0) {
    kernels::gemm(MatrixPartView(out), MatrixPartView(a), MatrixPartView(b), {1.0, 1}, {beta, 0});
}

}  // namespace clew
