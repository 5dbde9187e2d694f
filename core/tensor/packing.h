// Where results lie in memory: without gaps, in the order of their inputs.
//
// Note [The layout of results]
// As in PyTorch, what an elementwise operation gives takes a block of memory without gaps, along which its axes follow
// in the order of the inputs' axes: x.t().neg() is the transposed of x.neg(). So all of them are gone through as they
// lie. The first input decides; where it is broadcast, or two of its axes have one stride, the next one does. Inputs
// that lie alike without gaps give a result that lies as they do, whatever their axes of size 1 look like.
//
// Most tensors give results with their very layout; these layouts are called packed, which is worked out once for each.
#pragma once
#include <span>

#include "core/tensor/layout.h"
#include "core/tensor/tensor.h"

namespace clew {

// The axes from the innermost in memory to the outermost, which the operands decide in turn: `strides` are theirs, 0
// along broadcast axes. Axes that none tells apart stay in order, the last innermost.
Dims memory_order(Sizes sizes, std::span<const Dims> strides);

// No gaps, the axes in that order.
LayoutRef dense_layout(Sizes sizes, std::span<const Dims> strides);

// The layout of what an elementwise operation gives for these operands, which fit `sizes`.
LayoutRef result_layout(Sizes sizes, std::span<const Tensor> operands);
// That of a copy, and of what is made in the image of a tensor: its own if it is dense, else its axes in the same order
// without gaps.
LayoutRef like_layout(const Tensor& x);

Packing find_packing(const Layout& layout);

// The layout is that of the results on tensors that lie so.
inline bool is_packed(const Layout& layout) {
    return layout.packing == Packing::Packed ||
           (layout.packing == Packing::Unknown && find_packing(layout) == Packing::Packed);
}
// No element shares its place with another one, and no place between them is left out.
inline bool is_dense(const Layout& layout) {
    return layout.packing == Packing::Packed ||
           (layout.packing == Packing::Unknown ? find_packing(layout) : layout.packing) != Packing::Loose;
}

// Their elements have one order in memory, if one of them is dense.
inline bool lie_alike(const Layout& a, const Layout& b) {
    return same_sizes(a.shape(), b.shape()) && ((a.contiguous && b.contiguous) || same_sizes(a.strides(), b.strides()));
}
inline bool lie_alike(const Tensor& a, const Tensor& b) {
    return a->layout == b->layout || lie_alike(a.layout(), b.layout());
}

}  // namespace clew
