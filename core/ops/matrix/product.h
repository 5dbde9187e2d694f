// What matrix products share: checks in PyTorch's words, and the products that their derivatives are made of.
#pragma once
#include "core/tensor/tensor.h"

namespace clew {

// Fail unless `x` has as many axes, and the two one dtype that has products.
void need_rank(const char* op, const char* argument, const Tensor& x, int ndim);
void need_same_dtype(const char* op, const char* names, const Tensor& a, const Tensor& b);
void need_inner_sizes(const char* op, const Tensor& mat1, const Tensor& mat2);

// Stored by columns: a gradient for it had better be, too, so that its transpose is contiguous.
bool is_column_major(const Layout& layout);

// A factor that is read as its transpose (of the last two axes) if `transposed`.
struct Factor {
    const Tensor& value;
    bool transposed = false;
};
// a @ b as one operation (differentiable), for two matrices or two batches of matrices; the result is stored by columns
// if asked.
Tensor product(const Factor& a, const Factor& b, bool column_major);

}  // namespace clew
