// What reductions share: which axes, and putting them back.
#pragma once
#include <optional>

#include "core/kernels/reduction/reduce.h"
#include "core/tensor/tensor.h"

namespace clew {

inline std::uint32_t all_axes(const Tensor& x) { return (1u << x.ndim()) - 1; }
// Fails where the history of x would be lost because its sum or product is asked for as an integer.
void check_history_fits(const Tensor& x, const std::optional<DType>& dtype, const char* op);
// None and [] mean all axes. Fails on an axis out of range or given twice.
std::uint32_t axes_mask(const std::optional<Axes>& axes, int ndim, const char* op);
// Fails on complex numbers, which have no order. Kernels would refuse them, too, but inference runs none.
void check_ordered(const char* op, DType dtype);
Dims axes_of(std::uint32_t mask);
std::int64_t reduced_count(Sizes sizes, std::uint32_t mask);
Dims reduced_sizes(Sizes sizes, std::uint32_t mask, bool keepdim);

// A fresh tensor of kernels::reduced_dtype.
Tensor reduce_axes(kernels::ReduceKind kind, const Tensor& x, std::uint32_t mask, bool keepdim);
// x with axes of size 1 where the reduced ones were (differentiable).
Tensor restore_axes(const Tensor& x, std::uint32_t mask, int ndim, bool keepdim);
// Halves in the dtype that they are computed in (differentiable). What a rule counts or sums may be no half: 65,504 is
// the largest float16.
Tensor widened(const Tensor& x);
// The gradient of an element that was chosen among all: those that equal it (NaN equals NaN) share it, others get zero.
Tensor share_among_equals(const Tensor& g, const Tensor& x, const Tensor& chosen);
Tensor not_zero(const Tensor& x);     // bool, without history
bool has_zero(const Tensor& x);       // read now, outside the graph
Tensor all_nonzero(const Tensor& x);  // one truth
// x /= divisor, on a fresh tensor.
void scale_in_place(const Tensor& x, double divisor);

}  // namespace clew
