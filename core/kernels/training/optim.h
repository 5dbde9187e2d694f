// A whole optimiser step over one parameter in one pass. Views are contiguous, of one axis and one dtype (Float32 or
// Float64); those without data are absent. The order of operations is that of torch.optim with foreach=False.
//
// Options are read anew each time that a captured call runs: a schedule may have changed them.
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
// There is no momentum_buffer without momentum. On the first step it is only written: it becomes the gradient.
void sgd_step(const View& param, const View& momentum_buffer, const View& grad, const SgdOptions* options, bool first);

struct AdamOptions {
    double lr = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double eps = 1e-8;
    double weight_decay = 0.0;
    bool decoupled = false;  // AdamW
    bool maximize = false;
};
// There is no max_exp_avg_sq without amsgrad. `step` is one number of any real dtype, and counts from 1.
void adam_step(const View& param, const View& exp_avg, const View& exp_avg_sq, const View& max_exp_avg_sq,
               const View& grad, const View& step, const AdamOptions* options);

}  // namespace clew::kernels
