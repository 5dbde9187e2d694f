// Tensors from nothing. These make leaves, so they are plain functions and no operations.
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {

Tensor full(Sizes sizes, double value, DType dtype) {
    Tensor result = empty(sizes, dtype);
    kernels::fill(result.view(), value);
    return result;
}
Tensor full_like(const Tensor& x, double value) {
    Tensor result = empty(like_layout(x), x.dtype());
    kernels::fill(result.view(), value);
    return result;
}
Tensor zeros(Sizes sizes, DType dtype) { return full(sizes, 0, dtype); }
Tensor ones(Sizes sizes, DType dtype) { return full(sizes, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return full_like(x, 0); }
Tensor ones_like(const Tensor& x) { return full_like(x, 1); }

Tensor number(double value, DType dtype) {
    Tensor result = scalar(value, dtype);
    result->set(TensorObject::kWrappedNumber, true);
    return result;
}

}  // namespace clew
