// A whole optimiser step over one parameter in one pass. Buffers are contiguous, of `dtype` (Float32 or Float64),
// `count` long; the order of operations is that of torch.optim with foreach=False.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

struct SgdOptions {
    double lr = 1e-3;
    double momentum = 0.0;
    double dampening = 0.0;
    double weight_decay = 0.0;
    bool nesterov = false;
    bool maximize = false;
};
// momentum_buffer is null without momentum. On the first step it is only written: it becomes the gradient.
void sgd_step(DType dtype, void* param, const void* grad, void* momentum_buffer, std::int64_t count,
              const SgdOptions& options, bool first);

struct AdamOptions {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    bool decoupled = false;  // AdamW
    bool maximize = false;
};
// max_exp_avg_sq is null without amsgrad. `step` counts from 1.
void adam_step(DType dtype, void* param, const void* grad, void* exp_avg, void* exp_avg_sq, void* max_exp_avg_sq,
               std::int64_t count, const AdamOptions& options, std::int64_t step);

}  // namespace clew::kernels
