#include "core/base/error.h"
#include "core/ops/layers/convolution.h"

namespace clew {
namespace {

constexpr std::int64_t kFarthest = std::int64_t{1} << 60;  // of what is added up to a size

// From the first tap of a kernel to its last.
std::int64_t reach_of(std::int64_t dilation, std::int64_t kernel) {
    return clipped_sum(clipped_product(dilation, kernel - 1), 1);
}

void at_least(const char* op, const char* what, const Dims& values, std::int64_t least) {
    for (const std::int64_t value : values)
        if (value < least)
            fail(ErrorKind::Runtime, "%s: %s is not supported, got %s; expected at least %lld", op, what,
                 shape_text(values).c_str(), static_cast<long long>(least));
}

void check_channels(const char* op, const Tensor& input, const Tensor& weight, const ConvolutionAttrs& attrs) {
    const std::int64_t groups = attrs.groups;
    const std::string of_weight = shape_text(weight.sizes());
    if (weight.size(0) < groups)
        fail(ErrorKind::Runtime,
             "%s: Given groups=%lld, expected weight to be at least %lld at dimension 0, but got weight of size %s "
             "instead",
             op, static_cast<long long>(groups), static_cast<long long>(groups), of_weight.c_str());
    if (weight.size(0) % groups != 0)
        fail(ErrorKind::Runtime,
             "%s: Given groups=%lld, expected weight to be divisible by %lld at dimension 0, but got weight of size %s "
             "instead",
             op, static_cast<long long>(groups), static_cast<long long>(groups), of_weight.c_str());
    const std::int64_t expected = attrs.transposed ? weight.size(0) : clipped_product(weight.size(1), groups);
    if (input.size(1) != expected)
        fail(ErrorKind::Runtime,
             "%s: Given %s=%lld, weight of size %s, expected input%s to have %lld channels, but got %lld channels "
             "instead",
             op, attrs.transposed ? "transposed=1, groups" : "groups", static_cast<long long>(groups),
             of_weight.c_str(), shape_text(input.sizes()).c_str(), static_cast<long long>(expected),
             static_cast<long long>(input.size(1)));
}

void check_bias(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                const ConvolutionAttrs& attrs) {
    if (!bias) return;
    const std::int64_t channels = attrs.transposed ? clipped_product(weight.size(1), attrs.groups) : weight.size(0);
    if (bias.ndim() != 1 || bias.size(0) != channels)
        fail(ErrorKind::Runtime,
             "%s: Given weight of size %s, expected bias to be 1-dimensional with %lld elements, but got bias of size "
             "%s instead",
             op, shape_text(weight.sizes()).c_str(), static_cast<long long>(channels),
             shape_text(bias.sizes()).c_str());
    if (bias.dtype() != input.dtype())
        fail(ErrorKind::Runtime, "%s: Input type (%s) and bias type (%s) should be the same; cast one", op,
             dtype_name(input.dtype()), dtype_name(bias.dtype()));
}

void check_space(const char* op, const Tensor& input, const Tensor& weight, const ConvolutionAttrs& attrs) {
    for (int i = 0; i < attrs.stride.size(); ++i) {
        const std::int64_t reach = reach_of(attrs.dilation[i], weight.size(i + 2));
        const std::int64_t result = clipped_product(input.size(i + 2) - 1, attrs.transposed ? attrs.stride[i] : 1);
        if (attrs.padding[i] > kFarthest || (attrs.transposed && (reach > kFarthest || result > kFarthest)))
            fail(ErrorKind::Runtime,
                 "%s: the result of stride %s, padding %s and dilation %s cannot be counted; make them smaller", op,
                 shape_text(attrs.stride).c_str(), shape_text(attrs.padding).c_str(),
                 shape_text(attrs.dilation).c_str());
    }
    if (attrs.transposed) {
        for (int i = 0; i < attrs.stride.size(); ++i)
            if (attrs.output_padding[i] >= attrs.stride[i] && attrs.output_padding[i] >= attrs.dilation[i])
                fail(ErrorKind::Runtime,
                     "%s: output padding must be smaller than either stride or dilation, but got output_padding %s, "
                     "stride %s and dilation %s",
                     op, shape_text(attrs.output_padding).c_str(), shape_text(attrs.stride).c_str(),
                     shape_text(attrs.dilation).c_str());
    } else {
        Dims padded, kernel;
        bool fits = true;
        for (int i = 0; i < attrs.stride.size(); ++i) {
            padded.push_back(clipped_sum(input.size(i + 2), clipped_product(2, attrs.padding[i])));
            kernel.push_back(reach_of(attrs.dilation[i], weight.size(i + 2)));
            fits = fits && kernel[i] <= padded[i];
        }
        if (!fits)
            fail(ErrorKind::Runtime,
                 "%s: Calculated padded input size per channel: %s. Kernel size: %s. Kernel size can't be greater than "
                 "actual input size",
                 op, shape_text(padded).c_str(), shape_text(kernel).c_str());
    }
    const Dims sizes = convolution_sizes(input.sizes(), weight.sizes(), attrs);
    for (int i = 2; i < sizes.size(); ++i)
        if (sizes[i] <= 0)
            fail(ErrorKind::Runtime,
                 "%s: Given input size per channel: %s. Calculated output size: %s. Output size is too small", op,
                 shape_text(input.sizes().subspan(2)).c_str(), shape_text(sizes).c_str());
}

}  // namespace

Dims for_each_axis(const char* op, const char* argument, const Dims& given, int axes) {
    if (given.size() == axes) return given;
    if (given.size() != 1)
        fail(ErrorKind::Runtime, "%s: expected %s to be a single integer value or a list of %d values, but got %s=%s",
             op, argument, axes, argument, shape_text(given).c_str());
    Dims all;
    for (int i = 0; i < axes; ++i) all.push_back(given[0]);
    return all;
}

Dims convolution_sizes(Sizes input, Sizes weight, const ConvolutionAttrs& attrs) {
    Dims sizes{input[0], attrs.transposed ? clipped_product(weight[1], attrs.groups) : weight[0]};
    for (int i = 0; i < attrs.stride.size(); ++i) {
        const auto axis = static_cast<std::size_t>(i) + 2;
        const std::int64_t reach = reach_of(attrs.dilation[i], weight[axis]), room = input[axis];
        const std::int64_t padding = clipped_product(2, attrs.padding[i]);
        if (attrs.transposed) {
            const std::int64_t full = clipped_sum(clipped_product(room - 1, attrs.stride[i]), reach);
            sizes.push_back(clipped_sum(clipped_difference(full, padding), attrs.output_padding[i]));
        } else {
            sizes.push_back(clipped_difference(clipped_sum(room, padding), reach) / attrs.stride[i] + 1);
        }
    }
    return sizes;
}

void check_convolution(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                       const ConvolutionAttrs& attrs) {
    const int axes = attrs.stride.size();
    if (!is_floating(input.dtype()))
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; cast the input to a floating one", op,
             dtype_name(input.dtype()));
    if (weight.dtype() != input.dtype())
        fail(ErrorKind::Runtime, "%s: Input type (%s) and weight type (%s) should be the same; cast one", op,
             dtype_name(input.dtype()), dtype_name(weight.dtype()));
    if (input.ndim() != axes + 2 || weight.ndim() != axes + 2)
        fail(ErrorKind::Runtime, "%s: Expected %d-dimensional input and weight, but got input of size %s, weight %s",
             op, axes + 2, shape_text(input.sizes()).c_str(), shape_text(weight.sizes()).c_str());
    if (attrs.groups <= 0)
        fail(ErrorKind::Runtime, "%s: non-positive groups is not supported, got %lld", op,
             static_cast<long long>(attrs.groups));
    at_least(op, "negative padding", attrs.padding, 0);
    at_least(op, "negative output_padding", attrs.output_padding, 0);
    at_least(op, "non-positive stride", attrs.stride, 1);
    at_least(op, "dilation below one", attrs.dilation, 1);
    for (int i = 2; i < axes + 2; ++i)
        if (weight.size(i) == 0)
            fail(ErrorKind::Runtime, "%s: expected a kernel that is not empty, got weight of size %s", op,
                 shape_text(weight.sizes()).c_str());
    check_channels(op, input, weight, attrs);
    check_bias(op, input, weight, bias, attrs);
    check_space(op, input, weight, attrs);
}

}  // namespace clew
