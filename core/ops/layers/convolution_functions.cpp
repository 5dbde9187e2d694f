// conv1d ... conv3d and conv_transpose1d ... conv_transpose3d: arguments in many spellings, then one convolution.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/layers/convolution.h"

namespace clew {
namespace {

template <int N>
constexpr const char* kConvDoc =
    N == 1   ? "1D convolution (cross-correlation: the kernel is not flipped) of input (N, C_in, L) or (C_in, L) with "
               "weight (C_out, C_in / groups, K), plus bias (C_out,): out[n, c, i] = bias[c] + sum over k, j of "
               "weight[c, k, j] * input[n, k, i * stride + j * dilation - padding]. padding may be 'valid' (none) or "
               "'same'. RuntimeError for shapes that do not fit."
    : N == 2 ? "2D convolution (cross-correlation: the kernel is not flipped) of input (N, C_in, H, W) or (C_in, H, W) "
               "with weight (C_out, C_in / groups, KH, KW), plus bias (C_out,). A result has floor((H + 2 padding - "
               "dilation (KH - 1) - 1) / stride) + 1 rows. padding may be 'valid' (none) or 'same'. RuntimeError for "
               "shapes that do not fit."
             : "3D convolution (cross-correlation: the kernel is not flipped) of input (N, C_in, D, H, W) or (C_in, D, "
               "H, W) with weight (C_out, C_in / groups, KD, KH, KW), plus bias (C_out,). Sizes of the result as for "
               "conv2d. padding may be 'valid' (none) or 'same'. RuntimeError for shapes that do not fit.";
template <int N>
constexpr const char* kTransposedDoc =
    N == 1   ? "1D transposed convolution (\"deconvolution\"), the gradient of conv1d by its input: input (N, C_in, L) "
               "or (C_in, L), weight (C_in, C_out / groups, K), bias (C_out,). The length is (L - 1) * stride - 2 * "
               "padding + dilation * (K - 1) + output_padding + 1."
    : N == 2 ? "2D transposed convolution (\"deconvolution\"), the gradient of conv2d by its input: input (N, C_in, H, "
               "W) or (C_in, H, W), weight (C_in, C_out / groups, KH, KW), bias (C_out,). Sizes of the result as for "
               "conv_transpose1d."
             : "3D transposed convolution (\"deconvolution\"), the gradient of conv3d by its input: input (N, C_in, D, "
               "H, W) or (C_in, D, H, W), weight (C_in, C_out / groups, KD, KH, KW), bias (C_out,). Sizes of the "
               "result as for conv_transpose1d.";

// Runs body on a batch of one where the batch is missing.
template <class Body>
Tensor with_batch(const char* op, int axes, const Tensor& input, const Tensor& weight, const Body& body) {
    if (weight.ndim() != axes + 2)
        fail(ErrorKind::Runtime, "%s: Expected %d-dimensional weight, but got weight of size %s", op, axes + 2,
             shape_text(weight.sizes()).c_str());
    if (input.ndim() == axes + 2) return body(input);
    if (input.ndim() != axes + 1)
        fail(ErrorKind::Runtime, "Expected %dD (unbatched) or %dD (batched) input to %s, but got input of size: %s",
             axes + 1, axes + 2, op, shape_text(input.sizes()).c_str());
    return squeeze(body(unsqueeze(input, 0)), 0);
}

Dims zeros_for(int axes) {
    Dims zeros;
    for (int i = 0; i < axes; ++i) zeros.push_back(0);
    return zeros;
}

// Padding that keeps the size. Where it is odd, the larger half goes behind: the input is padded by what it has more.
Tensor same_convolution(const char* op, const Tensor& x, const Tensor& weight, const Tensor& bias,
                        ConvolutionAttrs attrs) {
    Dims before, excess;
    bool is_odd = false;
    for (int i = 0; i < attrs.stride.size(); ++i) {
        if (attrs.stride[i] != 1)
            fail(ErrorKind::Runtime, "%s: padding='same' is not supported for strided convolutions, got stride %s", op,
                 shape_text(attrs.stride).c_str());
        const std::int64_t total = attrs.dilation[i] * (weight.size(i + 2) - 1);
        attrs.padding[i] = total / 2;
        before.push_back(0);
        excess.insert(0, total % 2);  // the last axis first
        is_odd = is_odd || total % 2 != 0;
    }
    const Tensor padded = is_odd ? constant_pad(x, before, excess, 0) : x;
    check_convolution(op, padded, weight, bias, attrs);
    return convolution(padded, weight, bias, attrs);
}

template <int N>
constexpr const char* kNames[2] = {N == 1   ? "conv1d"
                                   : N == 2 ? "conv2d"
                                            : "conv3d",
                                   N == 1   ? "conv_transpose1d"
                                   : N == 2 ? "conv_transpose2d"
                                            : "conv_transpose3d"};

#define CLEW_CONV_SCHEMA(rest) N == 1 ? "conv1d" rest : N == 2 ? "conv2d" rest : "conv3d" rest

template <int N>
struct Conv {
    struct Attrs {
        Dims stride, padding, dilation;
        std::int64_t groups;
    };
    static constexpr auto fields = std::tuple{&Attrs::stride, &Attrs::padding, &Attrs::dilation, &Attrs::groups};
    static constexpr OpText text{
        .schema = CLEW_CONV_SCHEMA("(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, "
                                   "int[] dilation=1, int groups=1)"),
        .flags = kFunction | kComposite,
        .domain = N == 1 ? "input=real(a, 4, 5), weight=real(2, 4, 3), bias=real(2); input=real(4, 5), weight=real(4, "
                           "2, 2), stride=2, padding=1, dilation=2, groups=2"
                  : N == 2 ? "input=real(1, 2, 4, 3), weight=real(2, 2, 2, 2), bias=real(2); input=real(2, 4, 3), "
                             "weight=real(2, 1, 2, 2), stride=(2, 1), padding=(1, 0), groups=2"
                           : "input=real(1, 1, 3, 3, 2), weight=real(2, 1, 2, 2, 2), bias=real(2)",
        .doc = kConvDoc<N>,
        .example = N == 1 ? ">>> torch.conv1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), torch.tensor([[[1.0, -1.0]]]))\n"
                            "tensor([[[-1., -1., -1.]]])"
                   : N == 2
                       ? ">>> torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2), bias=torch.tensor([1.0]))\n"
                         "tensor([[[[5., 5.],\n"
                         "          [5., 5.]]]])"
                       : ">>> torch.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2))\n"
                         "tensor([[[[[8.]]]]])"};
    static void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Attrs& given,
                        Tensor& out) {
        const char* op = kNames<N>[0];
        const ConvolutionAttrs attrs{for_each_axis(op, "stride", given.stride, N),
                                     for_each_axis(op, "padding", given.padding, N),
                                     for_each_axis(op, "dilation", given.dilation, N),
                                     false,
                                     zeros_for(N),
                                     given.groups};
        out = with_batch(op, N, input, weight, [&](const Tensor& x) {
            check_convolution(op, x, weight, bias, attrs);
            return convolution(x, weight, bias, attrs);
        });
    }
};

template <int N>
struct ConvWithNamedPadding {
    struct Attrs {
        Dims stride;
        Text padding;
        Dims dilation;
        std::int64_t groups;
    };
    static constexpr auto fields = std::tuple{&Attrs::stride, &Attrs::padding, &Attrs::dilation, &Attrs::groups};
    static constexpr OpText text{
        .schema = CLEW_CONV_SCHEMA(".padding(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str "
                                   "padding='valid', int[] dilation=1, int groups=1)"),
        .flags = kFunction | kComposite,
        .domain = N == 1   ? "input=real(a, 2, 5), weight=real(2, 2, 2), padding='same'"
                  : N == 2 ? "input=real(1, 2, 4, 3), weight=real(2, 2, 2, 2), padding='same'"
                           : "input=real(1, 1, 3, 3, 2), weight=real(1, 1, 2, 2, 2), padding='valid'",
        .doc = kConvDoc<N>};
    static void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Attrs& given,
                        Tensor& out) {
        const char* op = kNames<N>[0];
        if (given.padding != "same" && given.padding != "valid")
            fail(ErrorKind::Runtime, "%s: Invalid padding string: '%s'; expected 'same', 'valid' or numbers", op,
                 given.padding.data);
        const ConvolutionAttrs attrs{for_each_axis(op, "stride", given.stride, N),
                                     zeros_for(N),
                                     for_each_axis(op, "dilation", given.dilation, N),
                                     false,
                                     zeros_for(N),
                                     given.groups};
        out = with_batch(op, N, input, weight, [&](const Tensor& x) {
            if (given.padding == "same") return same_convolution(op, x, weight, bias, attrs);
            check_convolution(op, x, weight, bias, attrs);
            return convolution(x, weight, bias, attrs);
        });
    }
};

#undef CLEW_CONV_SCHEMA
#define CLEW_TRANSPOSED_SCHEMA(rest) \
    N == 1 ? "conv_transpose1d" rest : N == 2 ? "conv_transpose2d" rest : "conv_transpose3d" rest

template <int N>
struct ConvTransposed {
    struct Attrs {
        Dims stride, padding, output_padding;
        std::int64_t groups;
        Dims dilation;
    };
    static constexpr auto fields =
        std::tuple{&Attrs::stride, &Attrs::padding, &Attrs::output_padding, &Attrs::groups, &Attrs::dilation};
    static constexpr OpText text{
        .schema = CLEW_TRANSPOSED_SCHEMA("(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] "
                                         "padding=0, int[] output_padding=0, int groups=1, int[] dilation=1)"),
        .flags = kFunction | kComposite,
        .domain = N == 1 ? "input=real(a, 2, 4), weight=real(2, 3, 2), bias=real(3); input=real(2, 4), weight=real(2, "
                           "1, 3), stride=2, padding=1, output_padding=1, groups=2"
                  : N == 2 ? "input=real(1, 2, 2, 3), weight=real(2, 2, 2, 2), bias=real(2)"
                           : "input=real(1, 1, 2, 2, 2), weight=real(1, 2, 2, 2, 2), bias=real(2)",
        .doc = kTransposedDoc<N>,
        .example =
            N == 1
                ? ">>> torch.conv_transpose1d(torch.tensor([[[1.0, 2.0]]]), torch.tensor([[[1.0, 10.0]]]), stride=2)\n"
                  "tensor([[[ 1., 10.,  2., 20.]]])"
            : N == 2
                ? ">>> torch.conv_transpose2d(torch.ones(1, 1, 1, 2), torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))\n"
                  "tensor([[[[1., 3., 2.],\n"
                  "          [3., 7., 4.]]]])"
                : ">>> torch.conv_transpose3d(torch.ones(1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 2))\n"
                  "tensor([[[[[1., 2., 1.]]]]])"};
    static void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Attrs& given,
                        Tensor& out) {
        const char* op = kNames<N>[1];
        const ConvolutionAttrs attrs{for_each_axis(op, "stride", given.stride, N),
                                     for_each_axis(op, "padding", given.padding, N),
                                     for_each_axis(op, "dilation", given.dilation, N),
                                     true,
                                     for_each_axis(op, "output_padding", given.output_padding, N),
                                     given.groups};
        out = with_batch(op, N, input, weight, [&](const Tensor& x) {
            check_convolution(op, x, weight, bias, attrs);
            return convolution(x, weight, bias, attrs);
        });
    }
};
#undef CLEW_TRANSPOSED_SCHEMA

}  // namespace

static const Register<Conv<1>, ConvWithNamedPadding<1>, Conv<2>, ConvWithNamedPadding<2>, Conv<3>,
                      ConvWithNamedPadding<3>, ConvTransposed<1>, ConvTransposed<2>, ConvTransposed<3>>
    convolution_functions;

}  // namespace clew
