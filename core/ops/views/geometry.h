// Sizes and strides of views, worked out and checked.
#pragma once
#include "core/tensor/tensor.h"

namespace clew {

// Attributes of operations on axes, in place or not.
struct Axis {
    std::int64_t dim;
};
struct AxisPair {
    std::int64_t dim0, dim1;
};

// The axes that a list names, where an empty one names none. Fails on an axis out of range or given twice.
std::uint32_t named_axes(const Axes& axes, int ndim, const char* op);

// A part of a tensor: its sizes and strides, and where it starts, in elements from the tensor's own start.
struct Part {
    Dims sizes;
    Dims strides;
    std::int64_t offset = 0;
};

Dims infer_sizes(const Tensor& x, const Dims& wanted, const char* op);  // resolves one -1, checks the count
LayoutRef view_layout(const Layout& from, Sizes sizes);                 // null where only a copy would do
LayoutRef expanded_layout(const Tensor& x, const Dims& wanted);
LayoutRef swapped_layout(const Tensor& x, int a, int b);
Dims contiguous_strides(Sizes sizes);
std::int64_t stepped_stride(std::int64_t stride, std::int64_t step);  // of every step-th element

// A diagonal of two axes, which becomes the last axis (views.cpp).
Part diagonal_part(Sizes sizes, Sizes strides, std::int64_t offset, std::int64_t dim1, std::int64_t dim2);

// A tensor and something that looks at its memory, `offset` elements from its start, as parts of one block: from the
// first element that either of them has to the last. First axes along which both repeat the rest lie apart there: these
// are the samples of vmap, of which a value that they share has no copies.
struct InOneBlock {
    Part whole, part;
    std::int64_t length;
};
InOneBlock in_one_block(const Layout& whole, const Layout& part, std::int64_t offset);

Tensor view_part(const Tensor& x, const Part& part);
// Zeros of `sizes` with x at `part` of them (differentiable); the inverse of view_part on contiguous memory. Where the
// part overlaps itself, values add up.
Tensor embed(const Tensor& x, Sizes sizes, const Part& part);

}  // namespace clew
