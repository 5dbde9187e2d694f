#include "core/kernels/training/optim.h"

#include <cmath>
#include <limits>

#include "core/base/element.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
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
void sgd(void (*run)(const SgdLoop<T>&), const View& param, const View& momentum_buffer, const View& grad,
         const SgdOptions& options, bool first) {
    SgdLoop<T> whole{};
    whole.param = static_cast<T*>(param.data);
    whole.grad = static_cast<const T*>(grad.data);
    whole.momentum_buffer = static_cast<T*>(momentum_buffer.data);
    whole.kind = momentum_kind(momentum_buffer.data, options.nesterov, first);
    whole.has_decay = options.weight_decay != 0;
    whole.sign = options.maximize ? T{-1} : T{1};
    whole.decay = static_cast<T>(options.weight_decay);
    whole.momentum = static_cast<T>(options.momentum);
    whole.gain = static_cast<T>(1 - options.dampening);
    whole.step = static_cast<T>(-options.lr);
    parallel_for(param.sizes[0], kChunk, [&](std::int64_t begin, std::int64_t end) {
        SgdLoop<T> part = whole;
        part.param += begin;
        part.grad += begin;
        if (part.momentum_buffer != nullptr) part.momentum_buffer += begin;
        part.count = end - begin;
        run(part);
    });
}

// What makes up for averages that began at zero.
struct Correction {
    double beta1, beta2, t, weight, root;  // 1 - beta1**t, sqrt(1 - beta2**t)
};
// Parameters of one optimizer mostly share it.
const Correction& correction(double beta1, double beta2, double t) {
    thread_local constinit Correction last{};
    if (last.t != t || last.beta1 != beta1 || last.beta2 != beta2)
        last = {beta1, beta2, t, 1 - std::pow(beta1, t), std::sqrt(1 - std::pow(beta2, t))};
    return last;
}

// Note [Division by one number]
// A division takes as long as ten products or so. Let r be the rounded reciprocal of c. Then q = x * r is within a unit
// of the last place of x / c, its error x - q * c is a number of the type, which a fused product gives without
// rounding, and q + error * r, rounded once, is x / c rounded: P. Markstein, Computation of elementary functions on the
// IBM RISC System/6000 processor, 1990. He excepts c whose fraction is all ones, and overflow and underflow, which no
// root of a number comes near with the c that are taken here. An infinite x has no error, and is its own quotient.
template <class T>
T reciprocal_to_divide_by(T c) {
    int exponent;
    const bool all_ones = std::frexp(c, &exponent) == 1 - std::numeric_limits<T>::epsilon() / 2;
    return c >= T{1e-6} && c <= 1 && !all_ones ? 1 / c : 0;
}

double number_at(const View& view) {
    return with_any_type(view.dtype, [&]<class T>() { return to_real<double>(*static_cast<const T*>(view.data)); });
}

template <class T>
void adam(void (*run)(const AdamLoop<T>&), const View& param, const View& exp_avg, const View& exp_avg_sq,
          const View& max_exp_avg_sq, const View& grad, const View& step, const AdamOptions& options) {
    const Correction& corrected = correction(options.beta1, options.beta2, std::trunc(number_at(step) + 0.5));
    AdamLoop<T> whole{};
    whole.param = static_cast<T*>(param.data);
    whole.grad = static_cast<const T*>(grad.data);
    whole.exp_avg = static_cast<T*>(exp_avg.data);
    whole.exp_avg_sq = static_cast<T*>(exp_avg_sq.data);
    whole.max_exp_avg_sq = static_cast<T*>(max_exp_avg_sq.data);
    whole.has_decay = options.weight_decay != 0 && !options.decoupled;
    whole.sign = options.maximize ? T{-1} : T{1};
    whole.decay = static_cast<T>(options.weight_decay);
    whole.shrink = static_cast<T>(options.decoupled ? 1 - options.lr * options.weight_decay : 1.0);
    whole.weight = static_cast<T>(1 - options.beta1);
    whole.other_weight = 1 - whole.weight;
    whole.beta2 = static_cast<T>(options.beta2);
    whole.square_weight = static_cast<T>(1 - options.beta2);
    whole.correction = static_cast<T>(corrected.root);
    whole.reciprocal = reciprocal_to_divide_by(whole.correction);
    whole.eps = static_cast<T>(options.eps);
    whole.step = static_cast<T>(-options.lr / corrected.weight);
    parallel_for(param.sizes[0], kChunk, [&](std::int64_t begin, std::int64_t end) {
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

void sgd_step(const View& param, const View& momentum_buffer, const View& grad, const SgdOptions* options, bool first) {
    CLEW_CAPTURED_WRITING(2, sgd_step, param, momentum_buffer, grad, options, first);
    if (param.dtype == DType::Float32)
        sgd(optim_loops().sgd_float32, param, momentum_buffer, grad, *options, first);
    else
        sgd(optim_loops().sgd_float64, param, momentum_buffer, grad, *options, first);
}

void adam_step(const View& param, const View& exp_avg, const View& exp_avg_sq, const View& max_exp_avg_sq,
               const View& grad, const View& step, const AdamOptions* options) {
    CLEW_CAPTURED_WRITING(4, adam_step, param, exp_avg, exp_avg_sq, max_exp_avg_sq, grad, step, options);
    if (param.dtype == DType::Float32)
        adam(optim_loops().adam_float32, param, exp_avg, exp_avg_sq, max_exp_avg_sq, grad, step, *options);
    else
        adam(optim_loops().adam_float64, param, exp_avg, exp_avg_sq, max_exp_avg_sq, grad, step, *options);
}

}  // namespace clew::kernels
