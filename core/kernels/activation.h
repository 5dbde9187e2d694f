// Activations of neural networks and their derivatives, fused; floating only. A backward loop reads (grad, saved):
// `saved` is the result for sigmoid and tanh, the input for the others.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct ActivationTable {
    Loop silu[kDTypes];
    Loop gelu[kDTypes];       // x * (1 + erf(x / sqrt(2))) / 2
    Loop gelu_tanh[kDTypes];  // the approximation by tanh
    Loop logsigmoid[kDTypes];
    ParamLoop softplus[kDTypes];    // params: beta, threshold (x itself where beta * x is above it)
    ParamLoop elu[kDTypes];         // params: alpha, scale
    ParamLoop leaky_relu[kDTypes];  // params: slope; relu6 and hardtanh are clamp

    Loop sigmoid_backward[kDTypes];
    Loop tanh_backward[kDTypes];
    Loop silu_backward[kDTypes];
    Loop gelu_backward[kDTypes];
    Loop gelu_tanh_backward[kDTypes];
    Loop logsigmoid_backward[kDTypes];
    ParamLoop softplus_backward[kDTypes];
    ParamLoop elu_backward[kDTypes];
    ParamLoop leaky_relu_backward[kDTypes];
    ParamLoop threshold_backward[kDTypes];  // params: threshold; zero where saved <= threshold (relu: 0)
};

CLEW_DECLARE_TABLE(ActivationTable, activation)

}  // namespace clew::kernels
