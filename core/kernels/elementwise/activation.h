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
    Loop mish[kDTypes];             // x * tanh(softplus(x))
    ParamLoop softplus[kDTypes];    // params: beta, threshold (x itself where beta * x is above it)
    ParamLoop elu[kDTypes];         // params: alpha, scale, input_scale
    ParamLoop leaky_relu[kDTypes];  // params: slope; hardtanh is clamp
    Loop hardsigmoid[kDTypes];
    Loop hardswish[kDTypes];
    ParamLoop huber[kDTypes];      // params: delta
    ParamLoop smooth_l1[kDTypes];  // params: beta

    Loop sigmoid_backward[kDTypes];
    Loop tanh_backward[kDTypes];
    Loop silu_backward[kDTypes];
    Loop gelu_backward[kDTypes];
    Loop gelu_tanh_backward[kDTypes];
    Loop logsigmoid_backward[kDTypes];
    Loop mish_backward[kDTypes];
    ParamLoop softplus_backward[kDTypes];
    ParamLoop elu_backward[kDTypes];
    ParamLoop leaky_relu_backward[kDTypes];
    ParamLoop hardtanh_backward[kDTypes];  // params: low, high; zero on the limits and beyond; NaN for NaN
    Loop hardsigmoid_backward[kDTypes];
    Loop hardswish_backward[kDTypes];
    ParamLoop threshold_backward[kDTypes];  // params: threshold; zero where saved <= threshold (relu: 0)

    // The derivative takes the place of x: data[0] is the result, data[1] x; strides are those of contiguous arrays.
    Loop gelu_and_derivative[kDTypes];
    Loop gelu_tanh_and_derivative[kDTypes];
    Loop mish_and_derivative[kDTypes];
};

CLEW_DECLARE_TABLE(ActivationTable, activation)

}  // namespace clew::kernels
