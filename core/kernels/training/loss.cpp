#include "core/kernels/training/loss.h"

#include "core/base/frame.h"
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
double weight_of(const NllLoss& loss, std::int64_t target) {
    return loss.weight == nullptr ? 1.0 : static_cast<double>(static_cast<const T*>(loss.weight)[target]);
}

template <class T>
BadTarget forward(const NllLoss& loss, const View& out, void* total_weight, const View& input, const View& target) {
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
    double sums[kMostPieces] = {}, weights[kMostPieces] = {};
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
                const double weight = weight_of<T>(loss, label);
                value = -weight * static_cast<double>(values[input_at(i) + label * stride]);
                weight_sum += weight;
            }
            sum += value;
            if (each) static_cast<T*>(out.data)[out_at(i)] = static_cast<T>(value);
        }
        sums[k] = sum;
        weights[k] = weight_sum;
    });
    double sum = 0.0, weight_sum = 0.0;
    for (std::int64_t k = 0; k * piece < count; ++k) {
        if (bad[k] >= 0) return {bad[k], targets[target_at(bad[k])]};
        sum += sums[k];
        weight_sum += weights[k];
    }
    if (total_weight != nullptr) *static_cast<T*>(total_weight) = static_cast<T>(weight_sum);
    if (loss.reduction == LossReduction::Sum) *static_cast<T*>(out.data) = static_cast<T>(sum);
    if (loss.reduction == LossReduction::Mean) *static_cast<T*>(out.data) = static_cast<T>(sum / weight_sum);
    return {-1, 0};
}

// What the loss of target i is multiplied with on the way back; 0 if it is ignored.
template <class T>
class Scales {
public:
    Scales(const NllLoss& loss, const View& grad, const View& target, const void* total_weight)
        : loss_(loss),
          grads_(static_cast<const T*>(grad.data)),
          grad_at_(target, loss.reduction == LossReduction::None ? grad : target, -1) {
        if (loss.reduction == LossReduction::Mean) divisor_ = static_cast<double>(*static_cast<const T*>(total_weight));
    }
    double operator()(std::int64_t i, std::int64_t label) const {
        if (label == loss_.ignore_index) return 0.0;
        const T grad = grads_[loss_.reduction == LossReduction::None ? grad_at_(i) : 0];
        return static_cast<double>(grad) * weight_of<T>(loss_, label) / divisor_;
    }

private:
    const NllLoss& loss_;
    const T* grads_;
    Positions grad_at_;
    double divisor_ = 1.0;
};

template <class T>
void backward(const NllLoss& loss, const View& out, const View& grad, const View& target, const void* total_weight) {
    const int axis = class_axis(out);
    const std::int64_t all = element_count(out);
    T* data = static_cast<T*>(out.data);
    parallel_for(all, kChunk, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) data[i] = T(0);
    });
    const Scales<T> scale(loss, grad, target, total_weight);
    const Positions target_at(target, target, -1), out_at(target, out, axis);
    const std::int64_t* targets = static_cast<const std::int64_t*>(target.data);
    parallel_for(element_count(target), kChunk / 4, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t label = targets[target_at(i)];
            if (label == loss.ignore_index) continue;
            data[out_at(i) + label * out.strides[axis]] = static_cast<T>(-scale(i, label));
        }
    });
}

template <class T>
void cross_entropy(const NllLoss& loss, const View& out, const View& grad, const View& log_probabilities,
                   const View& target, const void* total_weight) {
    const std::int64_t classes = out.sizes[out.ndim - 1];
    if (classes == 0) return;
    const std::int64_t size = static_cast<std::int64_t>(sizeof(T));
    const Scales<T> scale(loss, grad, target, total_weight);
    const Positions target_at(target, target, -1);
    const std::int64_t* targets = static_cast<const std::int64_t*>(target.data);
    const ParamLoop exp_scaled = softmax_loops().exp_scaled[static_cast<int>(out.dtype)];
    const std::int64_t grain = classes < kChunk ? kChunk / classes : 1;
    parallel_for(element_count(target), grain, [&](std::int64_t begin, std::int64_t end) {
        const std::int64_t strides[] = {size, size};
        for (std::int64_t i = begin; i < end; ++i) {
            const std::int64_t label = targets[target_at(i)];
            T* row = static_cast<T*>(out.data) + i * classes;
            const Number factor{scale(i, label), 0};
            if (label == loss.ignore_index) {
                for (std::int64_t j = 0; j < classes; ++j) row[j] = T(0);
                continue;
            }
            char* const data[] = {reinterpret_cast<char*>(row),
                                  static_cast<char*>(log_probabilities.data) + i * classes * size};
            exp_scaled(data, strides, classes, &factor);
            row[label] -= static_cast<T>(factor.real);
        }
    });
}

}  // namespace

BadTarget nll_loss(const NllLoss& loss, const View& out, void* total_weight, const View& log_probabilities,
                   const View& target) {
    CLEW_KERNEL(BadTarget{-1, 0});
    if (log_probabilities.dtype == DType::Float32)
        return forward<float>(loss, out, total_weight, log_probabilities, target);
    return forward<double>(loss, out, total_weight, log_probabilities, target);
}

void nll_loss_backward(const NllLoss& loss, const View& grad_log_probabilities, const View& grad, const View& target,
                       const void* total_weight) {
    CLEW_KERNEL();
    if (grad.dtype == DType::Float32) return backward<float>(loss, grad_log_probabilities, grad, target, total_weight);
    backward<double>(loss, grad_log_probabilities, grad, target, total_weight);
}

void cross_entropy_backward(const NllLoss& loss, const View& out, const View& grad, const View& log_probabilities,
                            const View& target, const void* total_weight) {
    CLEW_KERNEL();
    if (out.dtype == DType::Float32)
        return cross_entropy<float>(loss, out, grad, log_probabilities, target, total_weight);
    cross_entropy<double>(loss, out, grad, log_probabilities, target, total_weight);
}

}  // namespace clew::kernels
