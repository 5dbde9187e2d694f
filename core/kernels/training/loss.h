// Negative log likelihood of classes: the pieces of nll_loss and cross_entropy.
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

enum class LossReduction { None, Mean, Sum };

struct NllLoss {
    const void* weight;  // one of the data's dtype for each class, contiguous; null: all 1
    std::int64_t ignore_index;
    LossReduction reduction;
};

// `log_probabilities` is (n, classes, d1 ...), `target` int64 (n, d1 ...). `out` has the sizes of `target`, or is one
// element if reduced. `total_weight` (one element of the data's dtype, may be null) gets the sum of the weights of what
// was counted. Returns the first target that is neither a class nor ignore_index, and leaves `out` unspecified then;
// else -1 as `position`.
struct BadTarget {
    std::int64_t position;  // in row-major order over target; -1: none
    std::int64_t value;
};
BadTarget nll_loss(const NllLoss& loss, const View& out, void* total_weight, const View& log_probabilities,
                   const View& target);

// `grad` has the sizes of `out` above. Writes all of `grad_log_probabilities`, which is contiguous.
void nll_loss_backward(const NllLoss& loss, const View& grad_log_probabilities, const View& grad, const View& target,
                       const void* total_weight);

// The gradient of cross_entropy for its logits (n, classes) in one pass: grad_row * weight * (softmax - one_hot), from
// the saved log_softmax. `out` and `log_probabilities` are contiguous.
void cross_entropy_backward(const NllLoss& loss, const View& out, const View& grad, const View& log_probabilities,
                            const View& target, const void* total_weight);

}  // namespace clew::kernels
