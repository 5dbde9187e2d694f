// Convolution over one to three axes of space, as in deep learning (no kernel is flipped), and its two gradients.
//
// All arrays are contiguous: images (batch, groups * channels, depth, height, width) and weights (groups *
// out_channels, in_channels, depth, height, width). What is missing of three axes of space has size 1. The results have
// the same bits at any thread count.
#pragma once
#include <cstdint>

#include "core/base/dtype.h"

namespace clew::kernels {

struct Conv {
    DType dtype;  // float32 or float64
    std::int64_t batch;
    std::int64_t groups;
    std::int64_t in_channels, out_channels;                      // of one group
    std::int64_t in[3], out[3];                                  // sizes
    std::int64_t kernel[3], stride[3], padding[3], dilation[3];  // padding: before the first pixel
};

// out = in * weight + bias; bias (groups * out_channels) may be null.
void conv(const Conv& shape, void* out, const void* in, const void* weight, const void* bias);
// The gradient of in: the transposed convolution. bias (groups * in_channels) is added if not null.
void conv_transposed(const Conv& shape, void* in, const void* out, const void* weight, const void* bias);
// The gradient of weight.
void conv_weight_gradient(const Conv& shape, void* weight, const void* grad_out, const void* in);

}  // namespace clew::kernels
