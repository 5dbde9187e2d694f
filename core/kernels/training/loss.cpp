#include "core/kernels/training/loss.h"

#include <atomic>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/kernels/layers/softmax_loops.h"
#include "core/kernels/memory/iterate.h"

namespace clew::kernels {
namespace {

// Where the elements of a view (n, d1 ...) are, counted in row-major order. `view` may have one more axis, `skipped`.
class Positions {
public:
    Positions(const View& target, const View& view, int skipped) : ndim_(target.ndim), sizes_(target.sizes) {
        for (int axis = 0; axis < ndim_; ++axis)
            strides_[axis] = view.strides[skipped >= 0 && axis >= skipped ? axis + 1 : axis];
    }
    std::int64_t operator()(std::int64_t index) const {
        if (ndim_ == 1) return index * strides_[0];
        std::int64_t offset = 0;
        for (int axis = ndim_ - 1; axis >= 0; --axis) {
            offset += index % sizes_[axis] * strides_[axis];
            index /= sizes_[axis];
        }
        return offset;
    }

private:
    int ndim_;
    const std::int64_t* sizes_;
    std::int64_t strides_[kMaxDims];
};

// (n, classes, ...) has the classes at axis 1, (classes) at axis 0.
int class_axis(const View& view) { return view.ndim == 1 ? 0 : 1; }

template <class T>
double weight_of(const View& weight, std::int64_t target) {
    return weight.data == nullptr ? 1.0 : static_cast<double>(static_cast<const T*>(weight.data)[target]);
}

template <class T>
void forward(const NllLoss& loss, const View& out, const View& total_weight, const View& input, const View& target,
             const View& weights) {
    const int axis = class_axis(input);
    const std::int64_t classes = input.sizes[axis], stride = input.strides[axis], count = element_count(target);
    const Positions target_at(target, target, -1), input_at(target, input, axis);
    const T* values = static_cast<const T*>(input.data);
    const std::int64_t* targets = static_cast<const std::int64_t*>(target.data);
    const bool each = loss.reduction == LossReduction::None;
    const Positions out_at(target, each ? out : target, -1);

    constexpr std::int64_t kMostPieces = 64;
    std::int64_t piece = kChunk / 4;
    if (piece * kMostPieces < count) piece = (count + kMostPieces - 1) / kMostPieces;
    double sums[kMostPieces] = {}, counted[kMostPieces] = {};
    std::int64_t bad[kMostPieces];
    for (std::int64_t& position : bad) position = -1;
    parallel_for(count, piece, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t k = begin / piece;
        double sum = 0.0, weight_sum = 0.0;
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t label = targets[target_at(i)];
            double value = 0.0;
            if (label != loss.ignore_index) {
                if (label < 0 || label >= classes) {
                    bad[k] = i;
                    return;
                }
                const double weight = weight_of<T>(weights, label);
                value = -weight * static_cast<double>(values[input_at(i) + label * stride]);
                weight_sum += weight;
            }
            sum += value;
            if (each) static_cast<T*>(out.data)[out_at(i)] = static_cast<T>(value);
        }
        sums[k] = sum;
        counted[k] = weight_sum;
    });
    double sum = 0.0, weight_sum = 0.0;
    for (std::int64_t k = 0; k * piece < count; ++k) {
        if (bad[k] >= 0)
            fail(ErrorKind::Index, "nll_loss: Target %lld is out of bounds.",
                 static_cast<long long>(targets[target_at(bad[k])]));
        sum += sums[k];
        weight_sum += counted[k];
    }
    *static_cast<T*>(total_weight.data) = static_cast<T>(weight_sum);
    if (loss.reduction == LossReduction::Sum) *static_cast<T*>(out.data) = static_cast<T>(sum);
    if (loss.reduction == LossReduction::Mean) *static_cast<T*>(out.data) = static_cast<T>(sum / weight_sum);
}

// What the loss of target i is multiplied with on the way back.
template <class T>
class Scales {
public:
    Scales(const NllLoss& loss, const View& grad, const View& target, const View& weight, const View& total_weight)
        : loss_(loss),
          weight_(weight),
          grads_(static_cast<const T*>(grad.data)),
          grad_at_(target, loss.reduction == LossReduction::None ? grad : target, -1) {
        if (loss.reduction == LossReduction::Mean)
            divisor_ = static_cast<double>(*static_cast<const T*>(total_weight.data));
    }
    double operator()(std::int64_t i, std::int64_t label) const {
        const T grad = grads_[loss_.reduction == LossReduction::None ? grad_at_(i) : 0];
        return static_cast<double>(grad) * weight_of<T>(weight_, label) / divisor_;
    }

private:
    const NllLoss& loss_;
    const View& weight_;
    const T* grads_;
    Positions grad_at_;
    double divisor_ = 1.0;
};

// take(i, label, value) for each target, where value is the gradient at its class; label is negative if it is ignored.
template <class T, class Take>
void for_each_target(const NllLoss& loss, std::int64_t classes, const View& grad, const View& target,
                     const View& weight, const View& total_weight, std::int64_t grain, const Take& take) {
    const Scales<T> scale(loss, grad, target, weight, total_weight);
    const Positions target_at(target, target, -1);
    const std::int64_t* targets = static_cast<const std::int64_t*>(target.data);
    std::atomic<bool> fits = true;
    parallel_for(element_count(target), grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t label = targets[target_at(i)];
            if (label == loss.ignore_index) {
                take(i, std::int64_t{-1}, T(0));
            } else if (label < 0 || label >= classes) {
                fits.store(false, std::memory_order_relaxed);
                return;
            } else {
                take(i, label, static_cast<T>(-scale(i, label)));
            }
        }
    });
    if (!fits) fail(ErrorKind::Value, "nll_loss: expected operands that fit each other");
}

template <class T>
void backward(const NllLoss& loss, const View& out, const View& grad, const View& target, const View& weight,
              const View& total_weight) {
    const int axis = class_axis(out);
    const std::int64_t all = element_count(out);
    T* data = static_cast<T*>(out.data);
    parallel_for(all, kChunk, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) data[i] = T(0);
    });
    const Positions out_at(target, out, axis);
    for_each_target<T>(loss, out.sizes[axis], grad, target, weight, total_weight, kChunk / 4,
                       [&](std::int64_t i, std::int64_t label, T value) {
                           if (label >= 0) data[out_at(i) + label * out.strides[axis]] = value;
                       });
}

template <class T>
void cross_entropy(const NllLoss& loss, const View& out, const View& result, const View& grad, const View& target,
                   const View& weight, const View& total_weight) {
    const std::int64_t classes = out.sizes[1], row = classes * static_cast<std::int64_t>(sizeof(T));
    const auto line = softmax_loops().backward_of_one[static_cast<int>(out.dtype)];
    for_each_target<T>(loss, classes, grad, target, weight, total_weight, kChunk / classes + 1,
                       [&](std::int64_t i, std::int64_t label, T value) {
                           line(static_cast<char*>(out.data) + i * row, static_cast<const char*>(result.data) + i * row,
                                classes, label, static_cast<double>(value));
                       });
}

bool lies_row_by_row(const View& view) {
    return view.ndim == 2 && view.strides[1] == 1 && view.strides[0] == view.sizes[1];
}

}  // namespace

void nll_loss(const NllLoss& loss, const View& out, const View& total_weight, const View& log_probabilities,
              const View& target, const View& weight) {
    CLEW_CAPTURED_CHECKING(2, nll_loss, loss, out, total_weight, log_probabilities, target, weight);
    if (log_probabilities.dtype == DType::Float32)
        forward<float>(loss, out, total_weight, log_probabilities, target, weight);
    else
        forward<double>(loss, out, total_weight, log_probabilities, target, weight);
}

void nll_loss_backward(const NllLoss& loss, const View& grad_log_probabilities, const View& grad, const View& target,
                       const View& weight, const View& total_weight) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<NllBackwardCall>(NllBackwardKernel{}, loss, grad_log_probabilities, grad, target, weight,
                                       total_weight))
            return;
    if (grad.dtype == DType::Float32)
        backward<float>(loss, grad_log_probabilities, grad, target, weight, total_weight);
    else
        backward<double>(loss, grad_log_probabilities, grad, target, weight, total_weight);
}

void cross_entropy_backward(const NllLoss& loss, const View& out, const View& result, const View& grad,
                            const View& target, const View& weight, const View& total_weight) {
    CLEW_ASSERT_FRAME();
    if (out.dtype == DType::Float32)
        cross_entropy<float>(loss, out, result, grad, target, weight, total_weight);
    else
        cross_entropy<double>(loss, out, result, grad, target, weight, total_weight);
}

std::unique_ptr<KernelCall> NllBackwardCall::through_log_softmax(const View& out, const View& result, int axis) const {
    constexpr auto kernel = [](const auto&... given) { cross_entropy_backward(given...); };
    using Call = CheckingCallOf<1, decltype(kernel), NllLoss, View, View, View, View, View, View>;
    if (axis != 1 || !lies_row_by_row(argument<1>()) || !lies_row_by_row(out) || !lies_row_by_row(result) ||
        out.sizes[1] < 2)
        return nullptr;
    return std::make_unique<Call>(argument<0>(), out, result, argument<2>(), argument<3>(), argument<4>(),
                                  argument<5>());
}

}  // namespace clew::kernels
