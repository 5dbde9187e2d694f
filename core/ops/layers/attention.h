// Scaled dot-product attention: softmax(query @ key.T * scale + mask) @ value.
#pragma once
#include "core/tensor/tensor.h"

namespace clew {

struct AttentionParams {
    bool is_causal;
    double scale;
};
// In operations that record themselves: all the weights, (..., queries, keys). A query that sees no key has none.
Tensor attention_weights(const Tensor& query, const Tensor& key, const Tensor& mask, const AttentionParams& how);
// In tiles, without ever holding all the weights. One dtype, the same leading axes.
Tensor flash_attention(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& mask,
                       const AttentionParams& how);

}  // namespace clew
