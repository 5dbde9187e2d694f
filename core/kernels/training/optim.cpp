#include "core/kernels/training/optim.h"

#include <cmath>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/training/optim_loops.h"

namespace clew::kernels {
namespace {

SgdMomentum momentum_kind(const void* buffer, bool nesterov, bool first) {
    if (buffer == nullptr) return SgdMomentum::None;
    if (nesterov) return first ? SgdMomentum::NesterovFirst : SgdMomentum::Nesterov;
    return first ? SgdMomentum::First : SgdMomentum::Classic;
}

template <class T>
void sgd(void (*run)(const SgdLoop<T>&), void* param, const void* grad, void* momentum_buffer, std::int64_t count,
         const SgdOptions& options, bool first) {
    SgdLoop<T> whole{};
    whole.param = static_cast<T*>(param);
    whole.grad = static_cast<const T*>(grad);
    whole.momentum_buffer = static_cast<T*>(momentum_buffer);
    whole.kind = momentum_kind(momentum_buffer, options.nesterov, first);
    whole.has_decay = options.weight_decay != 0;
    whole.sign = options.maximize ? T{-1} : T{1};
    whole.decay = static_cast<T>(options.weight_decay);
    whole.momentum = static_cast<T>(options.momentum);
    whole.gain = static_cast<T>(1 - options.dampening);
    whole.step = static_cast<T>(-options.lr);
    parallel_for(count, kChunk, [&](std::int64_t begin, std::int64_t end) {
        SgdLoop<T> part = whole;
        part.param += begin;
        part.grad += begin;
        if (part.momentum_buffer != nullptr) part.momentum_buffer += begin;
        part.count = end - begin;
        run(part);
    });
}

template <class T>
void adam(void (*run)(const AdamLoop<T>&), void* param, const void* grad, void* exp_avg, void* exp_avg_sq,
          void* max_exp_avg_sq, std::int64_t count, const AdamOptions& options, std::int64_t step) {
    const auto t = static_cast<double>(step);
    AdamLoop<T> whole{};
    whole.param = static_cast<T*>(param);
    whole.grad = static_cast<const T*>(grad);
    whole.exp_avg = static_cast<T*>(exp_avg);
    whole.exp_avg_sq = static_cast<T*>(exp_avg_sq);
    whole.max_exp_avg_sq = static_cast<T*>(max_exp_avg_sq);
    whole.has_decay = options.weight_decay != 0 && !options.decoupled;
    whole.sign = options.maximize ? T{-1} : T{1};
    whole.decay = static_cast<T>(options.weight_decay);
    whole.shrink = static_cast<T>(options.decoupled ? 1 - options.lr * options.weight_decay : 1.0);
    whole.weight = static_cast<T>(1 - options.beta1);
    whole.other_weight = 1 - whole.weight;
    whole.beta2 = static_cast<T>(options.beta2);
    whole.square_weight = static_cast<T>(1 - options.beta2);
    whole.correction = static_cast<T>(std::sqrt(1 - std::pow(options.beta2, t)));
    whole.eps = static_cast<T>(options.eps);
    whole.step = static_cast<T>(-options.lr / (1 - std::pow(options.beta1, t)));
    parallel_for(count, kChunk, [&](std::int64_t begin, std::int64_t end) {
        AdamLoop<T> part = whole;
        part.param += begin;
        part.grad += begin;
        part.exp_avg += begin;
        part.exp_avg_sq += begin;
        if (part.max_exp_avg_sq != nullptr) part.max_exp_avg_sq += begin;
        part.count = end - begin;
        run(part);
    });
}

}  // namespace

void sgd_step(DType dtype, void* param, const void* grad, void* momentum_buffer, std::int64_t count,
              const SgdOptions& options, bool first) {
    CLEW_KERNEL();
    if (dtype == DType::Float32)
        sgd(optim_loops().sgd_float32, param, grad, momentum_buffer, count, options, first);
    else
        sgd(optim_loops().sgd_float64, param, grad, momentum_buffer, count, options, first);
}

void adam_step(DType dtype, void* param, const void* grad, void* exp_avg, void* exp_avg_sq, void* max_exp_avg_sq,
               std::int64_t count, const AdamOptions& options, std::int64_t step) {
    CLEW_KERNEL();
    if (dtype == DType::Float32)
        adam(optim_loops().adam_float32, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, count, options, step);
    else
        adam(optim_loops().adam_float64, param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, count, options, step);
}

}  // namespace clew::kernels
