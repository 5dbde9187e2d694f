// Negative log likelihood of classes: the pieces of nll_loss and cross_entropy.
#pragma once
#include <cstdint>

#include "core/kernels/capture.h"

namespace clew::kernels {

enum class LossReduction { None, Mean, Sum };

struct NllLoss {
    std::int64_t ignore_index;
    LossReduction reduction;
};

// `log_probabilities` is (n, classes, d1 ...), `target` int64 (n, d1 ...). `out` has the sizes of `target`, or is one
// element if reduced. `weight` has one element for each class, contiguous; without data, all are 1. `total_weight` (one
// element) gets the sum of the weights of what was counted. Error(Index) for a target that is neither a class nor
// ignore_index; `out` is unspecified then.
void nll_loss(const NllLoss& loss, const View& out, const View& total_weight, const View& log_probabilities,
              const View& target, const View& weight);

// `grad` has the sizes of `out` above. Writes all of `grad_log_probabilities`, which is contiguous. Error(Value) where
// the loss has one.
void nll_loss_backward(const NllLoss& loss, const View& grad_log_probabilities, const View& grad, const View& target,
                       const View& weight, const View& total_weight);

// The backward of log_softmax over `result` (n, classes) for what nll_loss_backward writes, in one pass. `out` and
// `result` are contiguous.
void cross_entropy_backward(const NllLoss& loss, const View& out, const View& result, const View& grad,
                            const View& target, const View& weight, const View& total_weight);

// The call that nll_loss_backward is captured as.
struct NllBackwardKernel {
    void operator()(const auto&... given) const { nll_loss_backward(given...); }
};
class NllBackwardCall final : public CheckingCallOf<1, NllBackwardKernel, NllLoss, View, View, View, View, View> {
public:
    using CheckingCallOf::CheckingCallOf;
    // What log_softmax_backward(out, grad, result) gives if that gradient is what this call writes; null: it has to be
    // written.
    std::unique_ptr<KernelCall> through_log_softmax(const View& out, const View& result, int axis) const;
};

}  // namespace clew::kernels
