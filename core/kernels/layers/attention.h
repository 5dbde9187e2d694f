// Scaled dot-product attention in tiles: memory linear in the sequence length (Dao et al.,
// https://arxiv.org/abs/2205.14135).
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

// Rows of one head: `heads` of them lie at data + places[i] (in elements), their rows `row` elements apart, elements
// side by side.
struct HeadRows {
    void* data;
    const std::int64_t* places;
    std::int64_t row;
};

// What is added to the scores (floating), or false where they do not count (bool); data is null without a mask.
struct AttentionMask {
    const void* data;
    bool is_bool;
    const std::int64_t* places;
    std::int64_t row, column;  // strides in elements; 0 for a broadcast axis
};

struct Attention {
    DType dtype;
    std::int64_t heads, queries, keys;  // keys may be 0
    std::int64_t width, value_width;    // of a query and a key, and of a value
    double scale;
    bool causal;  // query i sees keys 0 ... i
    HeadRows query, key, value, out;
    AttentionMask mask;
    // (heads, queries), contiguous: log(sum(exp(scores))), or +infinity for a query that sees no key: the weights are
    // exp(score - it).
    void* log_sum;
    // Null, or room for kept_scores(): forward leaves the scores there, and backward makes its weights of them.
    void* scores = nullptr;
};

// A query that sees no key gets 0.
void attention(const Attention& call);
// How many elements its scores take; 0: they are not kept, since there are several blocks of keys.
std::int64_t kept_scores(const Attention& call);

struct AttentionGradients {
    HeadRows grad;  // of out
    HeadRows grad_query, grad_key, grad_value;
};
void attention_backward(const Attention& call, const AttentionGradients& gradients);

}  // namespace clew::kernels
