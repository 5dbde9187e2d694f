// Convolution over one to three axes of space, and its transpose.
//
// Three bilinear operations are closed under differentiation: the convolution of an input and a weight, its transpose,
// which is the gradient of the input, and the gradient of the weight. The rules of each are made of the other two.
#include "core/ops/layers/convolution.h"

#include "core/base/error.h"
#include "core/kernels/convolution/conv.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

// `in` and `out` as the convolution sees them; of a transposed one, out is the argument and in the result.
kernels::Conv shape_of(DType dtype, Sizes in, Sizes out, Sizes weight, const ConvolutionAttrs& attrs) {
    kernels::Conv shape{dtype,     in[0],     attrs.groups, weight[1], weight[0] / attrs.groups, {1, 1, 1}, {1, 1, 1},
                        {1, 1, 1}, {1, 1, 1}, {},           {1, 1, 1}};
    const int axes = attrs.stride.size();
    for (int i = 0; i < axes; ++i) {
        const int to = 3 - axes + i;
        const auto axis = static_cast<std::size_t>(i) + 2;
        shape.in[to] = in[axis];
        shape.out[to] = out[axis];
        shape.kernel[to] = weight[axis];
        // Between results, or taps, of which there is one only, any step is as good.
        shape.stride[to] = out[axis] > 1 ? attrs.stride[i] : 1;
        shape.padding[to] = attrs.padding[i];
        shape.dilation[to] = weight[axis] > 1 ? attrs.dilation[i] : 1;
    }
    return shape;
}

std::int64_t work_of(const Tensor& result, const Tensor& weight) {
    return result.numel() * (weight.numel() / std::max<std::int64_t>(1, weight.size(0))) / 16;
}

// The convolution that undoes the sizes of this one: from its result's size back to `sizes`.
ConvolutionAttrs opposite(const ConvolutionAttrs& attrs, Sizes sizes, Sizes result, Sizes weight) {
    ConvolutionAttrs other = attrs;
    other.transposed = !attrs.transposed;
    for (int i = 0; i < attrs.stride.size(); ++i) {
        const auto axis = static_cast<std::size_t>(i) + 2;
        const std::int64_t least =
            (result[axis] - 1) * attrs.stride[i] - 2 * attrs.padding[i] + attrs.dilation[i] * (weight[axis] - 1) + 1;
        other.output_padding[i] = other.transposed ? sizes[axis] - least : 0;
    }
    return other;
}

// With an output padding as long as the stride, undoing the sizes gives more than there was.
Tensor cut_to(Tensor x, Sizes sizes) {
    for (int axis = 2; axis < x.ndim(); ++axis) {
        const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
        if (x.size(axis) != size) x = narrow(x, axis, 0, size);
    }
    return x;
}

Tensor weight_gradient(const Tensor& grad_out, const Tensor& in, Sizes weight, const ConvolutionAttrs& attrs);

Dims all_but_channels(const Tensor& x) {
    Dims axes;
    for (int i = 0; i < x.ndim(); ++i)
        if (i != 1) axes.push_back(i);
    return axes;
}

struct Convolution {
    using Attrs = ConvolutionAttrs;
    static constexpr auto fields = std::tuple{&Attrs::stride,     &Attrs::padding,        &Attrs::dilation,
                                              &Attrs::transposed, &Attrs::output_padding, &Attrs::groups};
    static constexpr OpText text{
        .schema =
            "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool "
            "transposed, int[] output_padding, int groups)",
        .node = "ConvolutionBackward0",
        .flags = kFunction,
        .derivative = "input * weight + bias",
        .batching = BatchBy::Convolution,
        .domain =
            "input=real(a, 2, 5), weight=real(2, 2, 3), bias=real(2), stride=(2,), padding=(1,), dilation=(1,), "
            "transposed=False, output_padding=(0,), groups=1; input=real(a, 2, 3), weight=real(2, 2, 3), stride=(2,), "
            "padding=(1,), dilation=(1,), transposed=True, output_padding=(1,), groups=1",
        .doc =
            "The convolution of input (N, C_in, ...) with weight (C_out, C_in / groups, ...) plus bias (C_out,), or "
            "the transposed one: what conv1d to conv3d and conv_transpose1d to conv_transpose3d call. Lists have one "
            "number for each axis of the kernel.",
        .example =
            ">>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)\n"
            "tensor([[[2., 2.]]])"};
    static void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Attrs& attrs,
                        Tensor& out) {
        check_convolution("convolution", input, weight, bias, attrs);
        const Tensor x = as_contiguous(input), w = as_contiguous(weight), shift = contiguous_or_null(bias);
        out = empty(convolution_sizes(x.sizes(), w.sizes(), attrs), x.dtype());
        const WithoutGil released(work_of(attrs.transposed ? x : out, w));
        if (attrs.transposed)
            kernels::conv_transposed(shape_of(x.dtype(), out.sizes(), x.sizes(), w.sizes(), attrs), out.data(),
                                     x.data(), w.data(), data_or_null(shift));
        else
            kernels::conv(shape_of(x.dtype(), x.sizes(), out.sizes(), w.sizes(), attrs), out.data(), x.data(), w.data(),
                          data_or_null(shift));
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> weight, Shape<0> x, const Attrs& attrs) {
            return cut_to(convolution(g, weight, {}, opposite(attrs, x.sizes(), g.sizes(), weight->sizes())),
                          x.sizes());
        },
        [](const Tensor& g, In<0> x, Shape<1> weight, const Attrs& attrs) {
            return attrs.transposed ? weight_gradient(x, g, weight.sizes(), attrs)
                                    : weight_gradient(g, x, weight.sizes(), attrs);
        },
        [](const Tensor& g) { return sum(g, all_but_channels(g), false); },
    };
};

// The attributes are those of the convolution, whether it was transposed or not.
struct ConvolutionWeight {
    struct Attrs {
        Dims weight;
        Dims stride, padding, dilation;
        std::int64_t groups;
    };
    static constexpr auto fields =
        std::tuple{&Attrs::weight, &Attrs::stride, &Attrs::padding, &Attrs::dilation, &Attrs::groups};
    static constexpr OpText text{
        .schema =
            "_convolution_weight(Tensor grad_output, Tensor input, int[] weight, int[] stride, int[] padding, int[] "
            "dilation, int groups)",
        .node = "ConvolutionBackwardBackward0",
        .flags = kHidden,
        .derivative = "grad_output * input",
        .domain =
            "grad_output=real(a, 4, 4, 3), input=real(a, 2, 5, 5), weight=(4, 2, 2, 3), stride=(1, 1), padding=(0, 0), "
            "dilation=(1, 1), groups=1"};
    static ConvolutionAttrs forwards(const Attrs& attrs) {
        Dims none(attrs.stride);
        for (std::int64_t& size : none) size = 0;
        return {attrs.stride, attrs.padding, attrs.dilation, false, none, attrs.groups};
    }
    static void forward(const Tensor& grad_out, const Tensor& in, const Attrs& attrs, Tensor& out) {
        const Tensor g = as_contiguous(grad_out), x = as_contiguous(in);
        need_fit("convolution",
                 are_sizes(attrs.weight) && is_floating(x.dtype()) && g.dtype() == x.dtype() && g.ndim() == x.ndim());
        out = empty(attrs.weight, x.dtype());
        check_convolution("convolution", x, out, {}, forwards(attrs));
        const Dims results = convolution_sizes(x.sizes(), out.sizes(), forwards(attrs));
        for (int i = 0; i < g.ndim(); ++i)  // of a transposed one there may be fewer
            need_fit("convolution", i < 2 ? g.size(i) == results[i] : g.size(i) <= results[i]);
        const WithoutGil released(work_of(g, out));
        kernels::conv_weight_gradient(shape_of(x.dtype(), x.sizes(), g.sizes(), out.sizes(), forwards(attrs)),
                                      out.data(), g.data(), x.data());
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> x, Shape<0> grad_out, const Attrs& attrs) {
            return cut_to(convolution(x, g, {}, forwards(attrs)), grad_out.sizes());
        },
        [](const Tensor& g, In<0> grad_out, Shape<1> x, const Attrs& attrs) {
            return convolution(grad_out, g, {}, opposite(forwards(attrs), x.sizes(), grad_out->sizes(), g.sizes()));
        },
    };
};

Tensor weight_gradient(const Tensor& grad_out, const Tensor& in, Sizes weight, const ConvolutionAttrs& attrs) {
    return run<ConvolutionWeight>({Dims(weight), attrs.stride, attrs.padding, attrs.dilation, attrs.groups}, grad_out,
                                  in);
}

}  // namespace

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, const ConvolutionAttrs& attrs) {
    return run<Convolution>(attrs, input, weight, bias);
}

static const Register<Convolution, ConvolutionWeight> convolution_operations;

}  // namespace clew
