// Inner loops of the optimiser steps.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"

namespace clew::kernels {

enum class SgdMomentum : std::uint8_t { None, First, Classic, NesterovFirst, Nesterov };

template <class T>
struct SgdLoop {
    T* param;
    const T* grad;
    T* momentum_buffer;
    std::int64_t count;
    SgdMomentum kind;
    bool has_decay;
    T sign;  // -1 to maximise
    T decay, momentum, gain /* 1 - dampening */, step /* -lr */;
};

template <class T>
struct AdamLoop {
    T* param;
    const T* grad;
    T* exp_avg;
    T* exp_avg_sq;
    T* max_exp_avg_sq;  // null without amsgrad
    std::int64_t count;
    bool has_decay;  // added to the gradient; AdamW's is `shrink`
    T sign, decay, shrink;
    T weight, other_weight;   // 1 - beta1, and 1 - weight
    T beta2, square_weight;   // and 1 - beta2
    T correction, eps, step;  // sqrt(1 - beta2**t), eps, -lr / (1 - beta1**t)
    T reciprocal;             // of the correction; 0: divide by it. Note [Division by one number]
};

struct OptimLoopsTable {
    void (*sgd_float32)(const SgdLoop<float>&);
    void (*sgd_float64)(const SgdLoop<double>&);
    void (*adam_float32)(const AdamLoop<float>&);
    void (*adam_float64)(const AdamLoop<double>&);
};
CLEW_DECLARE_TABLE(OptimLoopsTable, optim_loops)

}  // namespace clew::kernels
