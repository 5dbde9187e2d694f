// What the functions around a convolution share: sizes and checks.
#pragma once
#include "core/ops/schema.h"
#include "core/tensor/tensor.h"

namespace clew {

struct ConvolutionAttrs {
    Dims stride, padding, dilation;
    bool transposed;
    Dims output_padding;
    std::int64_t groups;
};

// One number for each axis of space; a single one counts for all. Fails unless there are `axes` of them.
Dims for_each_axis(const char* op, const char* argument, const Dims& given, int axes);

// The sizes of the result.
Dims convolution_sizes(Sizes input, Sizes weight, const ConvolutionAttrs& attrs);
// Fails unless these can be convolved; `op` begins the message.
void check_convolution(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                       const ConvolutionAttrs& attrs);

// convolution.cpp
Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvolutionAttrs& attrs);

}  // namespace clew
