// Layer normalisation (Ba et al., https://arxiv.org/abs/1607.06450).
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/layers/normalization.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

struct Split {
    std::int64_t outer, inner;
};
Split split_at(Sizes sizes, std::int64_t axes) {
    Split split{1, 1};
    const auto first = static_cast<std::int64_t>(sizes.size()) - axes;
    for (std::int64_t i = 0; i < first; ++i) split.outer *= sizes[static_cast<std::size_t>(i)];
    for (std::size_t i = static_cast<std::size_t>(first); i < sizes.size(); ++i) split.inner *= sizes[i];
    return split;
}

kernels::View view_or_none(const Tensor& x) { return x ? x.view() : kernels::View{}; }

// The last `axes` axes are normalised. Outputs 1 and 2, the means and reciprocal deviations, are there for the
// gradient.
struct NativeLayerNorm {
    struct Attrs {
        std::int64_t axes;
        double eps;
    };
    static constexpr auto fields = std::tuple{&Attrs::axes, &Attrs::eps};
    static constexpr OpText text{
        .schema = "native_layer_norm(Tensor input, Tensor? weight, Tensor? bias, int axes, float eps)",
        .node = "NativeLayerNormBackward0",
        .flags = kHidden,
        .outputs = "result0 result1 result2",
        .batching = BatchBy::LayerNorm,
        .domain = "unsampled, 'its later results are for its backward alone; layer_norm runs it'"};
    static void forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Attrs& attrs, Tensor& out,
                        Tensor& mean_of_x, Tensor& rstd) {
        need_fit("layer_norm", attrs.axes >= 0 && attrs.axes <= x.ndim() && all_floating(x.dtype(), {&weight, &bias}));
        const Sizes normal = x.sizes().last(static_cast<std::size_t>(attrs.axes));
        need_fit("layer_norm",
                 (!weight || same_sizes(weight.sizes(), normal)) && (!bias || same_sizes(bias.sizes(), normal)));
        const Split split = split_at(x.sizes(), attrs.axes);
        const Tensor in = as_contiguous(x), scale = contiguous_or_null(weight), shift = contiguous_or_null(bias);
        out = empty(in.layout_ref(), x.dtype());
        Dims kept(x.sizes());
        for (std::int64_t i = 0; i < attrs.axes; ++i) kept[kept.size() - 1 - static_cast<int>(i)] = 1;
        mean_of_x = empty(kept, x.dtype());
        rstd = empty(kept, x.dtype());
        kernels::layer_norm(kernels::LayerNorm{x.dtype(), split.outer, split.inner}, out.view(), mean_of_x.view(),
                            rstd.view(), in.view(), view_or_none(scale), view_or_none(shift), attrs.eps);
    }

    static Saves saves(std::uint64_t needs, const Attrs&) {
        Saves saves;
        if (needs & 0b11) saves = {.inputs = 0b01, .outputs = 0b110};
        if (needs & 0b01) saves.inputs |= 0b10;
        return saves;
    }
    static void backward(BackwardCall& call) {
        if (!call.incoming[0]) return;
        if (differentiates())
            composed_backward(call);
        else
            run_fused<NativeLayerNorm>(call);
    }
    static void fused_backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        if (!call.needs(0) && !call.needs(1)) {
            call.results[2] = g;
            return;
        }
        const Tensor x = saved_input(call, 0), weight = saved_input(call, 1), mean_of_x = saved_output(call, 1),
                     rstd = saved_output(call, 2);
        const auto axes = static_cast<std::size_t>(attributes_of<Attrs>(call).axes);
        need_fit("layer_norm",
                 x && g && is_like(g, x) && axes <= x.sizes().size() && all_floating(x.dtype(), {&weight}));
        const Split split = split_at(x.sizes(), attributes_of<Attrs>(call).axes);
        const Sizes parameter = x.sizes().last(axes);
        need_fit("layer_norm", is_packed(mean_of_x, x.dtype(), split.outer) &&
                                   is_packed(rstd, x.dtype(), split.outer) &&
                                   (!weight || same_sizes(weight.sizes(), parameter)));
        const Tensor grad = as_contiguous(g), in = as_contiguous(x), scale = contiguous_or_null(weight);
        kernels::View into[3] = {};
        for (int i = 0; i < 3; ++i) {
            if (!call.needs(i)) continue;
            Tensor& result = call.results[static_cast<std::size_t>(i)];
            result = empty(i == 0 ? x.sizes() : parameter, x.dtype());
            into[i] = result.view();
        }
        kernels::layer_norm_backward(kernels::LayerNorm{x.dtype(), split.outer, split.inner}, into[0], into[1], into[2],
                                     grad.view(), in.view(), mean_of_x.view(), rstd.view(), view_or_none(scale));
    }
    // The same in operations, for derivatives of the derivative.
    static void composed_backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        if (call.needs(2)) call.results[2] = g;
        if (!call.needs(0) && !call.needs(1)) return;
        const Tensor x = saved_input(call, 0), weight = saved_input(call, 1);
        const Attrs& attrs = attributes_of<Attrs>(call);
        Dims axes;
        for (std::int64_t i = x.ndim() - attrs.axes; i < x.ndim(); ++i) axes.push_back(i);
        const Tensor centred = sub(x, mean(x, axes, true));
        const Tensor rstd = rsqrt(add(mean(square(centred), axes, true), attrs.eps)), normal = mul(centred, rstd);
        if (call.needs(1)) call.results[1] = mul(g, normal);
        if (!call.needs(0)) return;
        const Tensor scaled = weight ? mul(g, weight) : g;
        const Tensor along = mul(normal, mean(mul(scaled, normal), axes, true));
        call.results[0] = mul(rstd, sub(sub(scaled, mean(scaled, axes, true)), along));
    }
};

void check_parameter(const char* name, const Tensor& parameter, const Dims& shape, const Tensor& x) {
    if (!parameter) return;
    if (!same_sizes(parameter.sizes(), shape))
        fail(ErrorKind::Runtime,
             "layer_norm: Expected %s to be of same shape as normalized_shape, but got %s of shape %s and "
             "normalized_shape = %s",
             name, name, shape_text(parameter.sizes()).c_str(), shape_text(shape).c_str());
    if (parameter.dtype() != x.dtype())
        fail(ErrorKind::Runtime,
             "layer_norm: mixed dtype: expected %s to have dtype %s like the input, got %s; cast it", name,
             dtype_name(x.dtype()), dtype_name(parameter.dtype()));
}

struct LayerNorm {
    struct Attrs {
        Dims normalized_shape;
        double eps;
        bool cudnn_enable;
    };
    static constexpr auto fields = std::tuple{&Attrs::normalized_shape, &Attrs::eps, &Attrs::cudnn_enable};
    static constexpr OpText text{
        .schema =
            "layer_norm(Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float "
            "eps=1e-05, bool cudnn_enable=True)",
        .flags = kFunction | kComposite,
        .domain =
            "input=real(a, c), normalized_shape=(c,), weight=real(c), bias=real(c); input=real(a, b, c), "
            "normalized_shape=(b, c)",
        .doc =
            "(x - mean) / sqrt(var + eps) * weight + bias, with mean and (biased) var over the last axes of input, "
            "whose sizes are normalized_shape; weight and bias have that shape. Source: Ba et al. 2016, "
            "arXiv:1607.06450.",
        .example =
            ">>> torch.layer_norm(torch.tensor([[1.0, 3.0], [10.0, 30.0]]), (2,))\n"
            "tensor([[-1.0000,  1.0000],\n"
            "        [-1.0000,  1.0000]])"};
    static void forward(const Tensor& x, const Attrs& attrs, const Tensor& weight, const Tensor& bias, Tensor& out) {
        const Dims& shape = attrs.normalized_shape;
        if (shape.empty())
            fail(ErrorKind::Runtime,
                 "layer_norm: Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one "
                 "element, but got "
                 "normalized_shape = []");
        if (!is_floating(x.dtype()))
            fail(ErrorKind::NotImplemented, "layer_norm: not implemented for dtype %s; cast the input first",
                 dtype_name(x.dtype()));
        bool fits = x.ndim() >= shape.size();
        for (int i = 1; fits && i <= shape.size(); ++i) fits = x.size(x.ndim() - i) == shape[shape.size() - i];
        if (!fits)
            fail(ErrorKind::Runtime,
                 "layer_norm: Given normalized_shape=%s, expected input with the last sizes to be these, but got input "
                 "of size %s",
                 shape_text(shape).c_str(), shape_text(x.sizes()).c_str());
        check_parameter("weight", weight, shape, x);
        check_parameter("bias", bias, shape, x);
        out = run_many<NativeLayerNorm, 3>({shape.size(), attrs.eps}, x, weight, bias)[0];
    }
};

}  // namespace

static const Register<NativeLayerNorm, LayerNorm> layer_norm_operations;

}  // namespace clew
