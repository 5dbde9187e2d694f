// Group normalisation (Wu and He, https://arxiv.org/abs/1803.08494).
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/layers/batch_norm.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/layers/channel_numbers.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

// The loops of batch normalisation do it, with the groups, or the single channels, of all samples as channels.
struct Groups {
    std::int64_t samples, channels, groups, inner;
    DType dtype;
    Groups(const Tensor& x, std::int64_t groups)
        : samples(x.size(0)), channels(x.size(1)), groups(groups), inner(1), dtype(x.dtype()) {
        for (int i = 2; i < x.ndim(); ++i) inner *= x.size(i);
    }
    std::int64_t per_group() const { return channels / groups; }
    std::int64_t count() const { return per_group() * inner; }
    kernels::BatchNorm by_group() const { return {dtype, 1, samples * groups, count()}; }
    kernels::BatchNorm by_channel() const { return {dtype, 1, samples * channels, inner}; }
    // Calls each(i, group, channel) for every channel i of all samples; `group` counts those of all samples too.
    template <class F>
    void for_each_channel(F each) const {
        for (std::int64_t i = 0; i < samples * channels; ++i)
            each(static_cast<std::size_t>(i), static_cast<std::size_t>(i / per_group()),
                 static_cast<std::size_t>(i % channels));
    }
    Numbers per_channel() const { return Numbers(static_cast<std::size_t>(samples * channels)); }
};

// Outputs 1 and 2, the means and reciprocal deviations (N, groups), are there for the gradient.
struct NativeGroupNorm {
    struct Attrs {
        std::int64_t groups;
        double eps;
    };
    static constexpr auto fields = std::tuple{&Attrs::groups, &Attrs::eps};
    static constexpr OpText text{
        .schema = "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, int groups, float eps)",
        .node = "NativeGroupNormBackward0",
        .flags = kHidden,
        .outputs = "result0 result1 result2",
        .domain = "unsampled, 'its later results are for its backward alone; group_norm runs it'"};
    static void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Attrs& attrs, Tensor& out,
                        Tensor& mean_of_x, Tensor& rstd) {
        need_fit("group_norm", input.ndim() >= 2 && is_floating(input.dtype()) && attrs.groups > 0 &&
                                   input.size(1) % attrs.groups == 0 && (!weight || weight.numel() == input.size(1)) &&
                                   (!bias || bias.numel() == input.size(1)));
        const Tensor x = as_contiguous(input);
        const Groups shape(x, attrs.groups);
        Numbers center(static_cast<std::size_t>(shape.samples * shape.groups)), reciprocal = center;
        out = empty(x.layout_ref(), x.dtype());
        if (x.numel()) {
            const WithoutGil released(x.numel() / 4);
            kernels::batch_moments(shape.by_group(), center.data(), reciprocal.data(), x.data());
        }
        for (double& value : reciprocal)
            value = 1 / std::sqrt(value / static_cast<double>(std::max<std::int64_t>(shape.count(), 1)) + attrs.eps);
        const Numbers factor = numbers_of(weight, shape.channels, 1), offset = numbers_of(bias, shape.channels, 0);
        Numbers centers = shape.per_channel(), scale = centers, shift = centers;
        shape.for_each_channel([&](std::size_t i, std::size_t group, std::size_t channel) {
            centers[i] = center[group];
            scale[i] = reciprocal[group] * factor[channel];
            shift[i] = offset[channel];
        });
        mean_of_x = tensor_of(center, Dims{shape.samples, shape.groups}, x.dtype());
        rstd = tensor_of(reciprocal, Dims{shape.samples, shape.groups}, x.dtype());
        if (x.numel() == 0) return;
        const WithoutGil released(x.numel() / 4);
        kernels::batch_affine(shape.by_channel(), out.data(), x.data(), centers.data(), scale.data(), shift.data());
    }

    static Saves saves(std::uint64_t needs, const Attrs&) {
        Saves saves;
        if (needs & 0b11) saves = {.inputs = 0b01, .outputs = 0b110};
        if (needs & 0b01) saves.inputs |= 0b10;
        return saves;
    }
    static void backward(BackwardCall& call) {
        if (!call.incoming[0]) return;
        if (differentiates() || (!call.needs(0) && !call.needs(1)))
            composed_backward(call);
        else
            run_fused<NativeGroupNorm>(call);
    }
    static void fused_backward(BackwardCall& call) {
        const Tensor saved = saved_input(call, 0), weight = saved_input(call, 1);
        const std::int64_t each = attributes_of<Attrs>(call).groups;
        need_fit("group_norm", saved && call.incoming[0] && is_like(call.incoming[0], saved) && saved.ndim() >= 2 &&
                                   is_floating(saved.dtype()) && each > 0 && saved.size(1) % each == 0 &&
                                   (!weight || weight.numel() == saved.size(1)));
        const Tensor g = as_contiguous(call.incoming[0]), x = as_contiguous(saved);
        const Groups shape(x, each);
        const std::int64_t groups = shape.samples * shape.groups;
        need_fit("group_norm", is_packed(saved_output(call, 1), x.dtype(), groups) &&
                                   is_packed(saved_output(call, 2), x.dtype(), groups));
        const Numbers center = numbers_of(saved_output(call, 1), groups, 0),
                      rstd = numbers_of(saved_output(call, 2), groups, 1);
        Numbers centers = shape.per_channel(), total = centers, along = centers;
        shape.for_each_channel([&](std::size_t i, std::size_t group, std::size_t) { centers[i] = center[group]; });
        if (x.numel()) {
            const WithoutGil released(x.numel() / 2);
            kernels::batch_gradient_sums(shape.by_channel(), total.data(), along.data(), g.data(), x.data(),
                                         centers.data());
        }
        if (call.needs(0)) {
            call.results[0] = empty(x.layout_ref(), x.dtype());
            if (x.numel()) gradient_of_input(call, shape, g, x, centers, rstd, total, along);
        }
        Numbers by_weight(static_cast<std::size_t>(shape.channels)), by_bias = by_weight;
        shape.for_each_channel([&](std::size_t i, std::size_t group, std::size_t channel) {
            by_weight[channel] += along[i] * rstd[group];
            by_bias[channel] += total[i];
        });
        if (call.needs(1)) call.results[1] = tensor_of(by_weight, Dims{shape.channels}, x.dtype());
        if (call.needs(2)) call.results[2] = tensor_of(by_bias, Dims{shape.channels}, x.dtype());
    }
    // rstd * (w g - mean(w g) - (x - mean) * rstd^2 * mean(w g (x - mean))), means over the group.
    static void gradient_of_input(BackwardCall& call, const Groups& shape, const Tensor& g, const Tensor& x,
                                  const Numbers& centers, const Numbers& rstd, const Numbers& total,
                                  const Numbers& along) {
        const Numbers factor = numbers_of(saved_input(call, 1), shape.channels, 1);
        const double count = static_cast<double>(shape.count());
        Numbers of_group(rstd.size()), along_group = of_group;
        shape.for_each_channel([&](std::size_t i, std::size_t group, std::size_t channel) {
            of_group[group] += factor[channel] * total[i] / count;
            along_group[group] += factor[channel] * along[i] / count;
        });
        Numbers scale = shape.per_channel(), slope = scale, shift = scale;
        shape.for_each_channel([&](std::size_t i, std::size_t group, std::size_t channel) {
            scale[i] = rstd[group] * factor[channel];
            slope[i] = -rstd[group] * rstd[group] * rstd[group] * along_group[group];
            shift[i] = -rstd[group] * of_group[group];
        });
        const WithoutGil released(x.numel() / 4);
        kernels::batch_gradient(shape.by_channel(), call.results[0].data(), g.data(), x.data(), centers.data(),
                                scale.data(), slope.data(), shift.data());
    }
    // The same in operations, for derivatives of the derivative.
    static void composed_backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        Dims all_but_channels, along_channels;
        for (int i = 0; i < g.ndim(); ++i) {
            if (i != 1) all_but_channels.push_back(i);
            along_channels.push_back(i == 1 ? g.size(1) : 1);
        }
        if (call.needs(2)) call.results[2] = sum(g, all_but_channels, false);
        if (!call.needs(0) && !call.needs(1)) return;
        const Tensor x = saved_input(call, 0), weight = saved_input(call, 1);
        const Attrs& attrs = attributes_of<Attrs>(call);
        const Groups shape(x, attrs.groups);
        const Dims grouped{shape.samples, shape.groups, shape.count()}, last{2};
        const Tensor flat = reshape(x, grouped), centred = sub(flat, mean(flat, last, true));
        const Tensor rstd = rsqrt(add(mean(square(centred), last, true), attrs.eps)), normal = mul(centred, rstd);
        if (call.needs(1)) call.results[1] = sum(mul(g, reshape(normal, x.sizes())), all_but_channels, false);
        if (!call.needs(0)) return;
        const Tensor scaled = reshape(weight ? mul(g, reshape(weight, along_channels)) : g, grouped);
        const Tensor along = mul(normal, mean(mul(scaled, normal), last, true));
        call.results[0] = reshape(mul(rstd, sub(sub(scaled, mean(scaled, last, true)), along)), x.sizes());
    }
};

void check_parameter(const char* name, const Tensor& given, const Tensor& x) {
    if (!given) return;
    if (given.ndim() != 1 || given.size(0) != x.size(1))
        fail(ErrorKind::Runtime,
             "group_norm: Expected %s to be a vector of size equal to the number of channels in input, but got %s of "
             "shape %s and input of shape %s",
             name, name, shape_text(given.sizes()).c_str(), shape_text(x.sizes()).c_str());
    if (given.dtype() != x.dtype())
        fail(ErrorKind::Runtime,
             "group_norm: mixed dtype: expected %s to have dtype %s like the input, got %s; cast it", name,
             dtype_name(x.dtype()), dtype_name(given.dtype()));
}

struct GroupNorm {
    struct Attrs {
        std::int64_t num_groups;
        double eps;
        bool cudnn_enabled;
    };
    static constexpr auto fields = std::tuple{&Attrs::num_groups, &Attrs::eps, &Attrs::cudnn_enabled};
    static constexpr OpText text{
        .schema =
            "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool "
            "cudnn_enabled=True)",
        .flags = kFunction | kComposite,
        .domain =
            "input=real(a, c, b), num_groups=2, weight=real(c), bias=real(c); input=real(b, c), num_groups=1; "
            "input=real(a, c, b), num_groups=2, weight=real(c)",
        .doc =
            "(x - mean) / sqrt(var + eps) * weight + bias for input (N, C, ...), with mean and (biased) var over each "
            "of num_groups groups of C / num_groups channels of a sample; weight and bias (C,). Source: Wu and He "
            "2018, arXiv:1803.08494.",
        .example =
            ">>> torch.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), 2)\n"
            "tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])"};
    static void forward(const Tensor& x, const Attrs& attrs, const Tensor& weight, const Tensor& bias, Tensor& out) {
        if (x.ndim() < 2)
            fail(ErrorKind::Runtime,
                 "group_norm: Expected at least 2 dimensions for input tensor but received %d; it is (N, C, ...)",
                 x.ndim());
        if (attrs.num_groups <= 0 || x.size(1) % attrs.num_groups)
            fail(ErrorKind::Runtime,
                 "group_norm: Expected number of channels in input to be divisible by num_groups, but got input of "
                 "shape %s and num_groups=%lld",
                 shape_text(x.sizes()).c_str(), static_cast<long long>(attrs.num_groups));
        if (!is_floating(x.dtype()))
            fail(ErrorKind::NotImplemented, "group_norm: not implemented for dtype %s; cast the input first",
                 dtype_name(x.dtype()));
        check_parameter("weight", weight, x);
        check_parameter("bias", bias, x);
        const auto dense = [](const Tensor& given) { return given ? contiguous(given) : given; };
        out = run_many<NativeGroupNorm, 3>({attrs.num_groups, attrs.eps}, dense(x), dense(weight), dense(bias))[0];
    }
};

}  // namespace

static const Register<NativeGroupNorm, GroupNorm> group_norm_operations;

}  // namespace clew
