// Gradients that are sparse tensors: of lookups that were asked for them. Note [Sparse tensors] in autograd/leaf.h.
#pragma once
#include "core/base/frame.h"
#include "core/tensor/tensor.h"

namespace clew {

// Set by bind/.
struct SparseGradients {
    // Of a table of `count` rows: the gradients of those that `indices` looked up, but for `padding`.
    Tensor (*rows)(const Tensor& gradient, const Tensor& indices, std::int64_t count, std::int64_t padding);
    // Of a tensor of these sizes, of which `index` picked elements along `axis`.
    Tensor (*picked)(const Tensor& gradient, const Tensor& index, int axis, Sizes sizes);
};
extern SparseGradients sparse_gradients;

// Whether a sparse tensor has been made in this process: who looks for one need not, before that.
inline bool sparse_made = false;

// Whether this gradient can be made sparse: it has values, of one sample.
inline bool can_be_sparse(const Tensor& gradient) { return has_memory(gradient) && !skips_kernels(); }

}  // namespace clew
