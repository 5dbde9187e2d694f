// Tensors made of what is no tensor: Python's numbers, arrays, files. They pass dispatch() like results of operations.
#pragma once
#include "core/tensor/tensor.h"

namespace clew {

namespace constant_detail {
Tensor make(const LayoutRef& layout, DType dtype, void (*fill)(const void* body, const Tensor& out), const void* body);
}

// A new tensor; fill(tensor) writes its elements.
template <class Fill>
Tensor constant(const LayoutRef& layout, DType dtype, const Fill& fill) {
    return constant_detail::make(
        layout, dtype, [](const void* body, const Tensor& out) { (*static_cast<const Fill*>(body))(out); }, &fill);
}
// For a tensor over memory that somebody else filled.
void announce_constant(Tensor& tensor);

}  // namespace clew
