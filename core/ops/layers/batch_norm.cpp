// Batch normalisation (Ioffe and Szegedy, https://arxiv.org/abs/1502.03167).
#include <algorithm>
#include <cmath>
#include <vector>

#include "core/autograd/mode.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/kernels/layers/batch_norm.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/forward/dual_level.h"
#include "core/ops/functions.h"
#include "core/ops/layers/channel_numbers.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

kernels::BatchNorm shape_of(const Tensor& x) {
    kernels::BatchNorm shape{x.dtype(), x.size(0), x.size(1), 1};
    for (int i = 2; i < x.ndim(); ++i) shape.inner *= x.size(i);
    return shape;
}

// running = (1 - momentum) * running + momentum * value
void move_towards(const Tensor& running, const Numbers& values, double momentum) {
    Numbers moved = numbers_of(running, running.numel(), 0);
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = (1 - momentum) * moved[i] + momentum * values[i];
    overwrite(running, tensor_of(moved, running.sizes(), running.dtype()), "batch_norm");
}

Dims all_but_channels(int ndim) {
    Dims axes;
    for (int i = 0; i < ndim; ++i)
        if (i != 1) axes.push_back(i);
    return axes;
}
// (C) as (1, C, 1 ...)
Tensor along_channels(const Tensor& x, int ndim) {
    Dims sizes;
    for (int i = 0; i < ndim; ++i) sizes.push_back(i == 1 ? x.numel() : 1);
    return reshape(x, sizes);
}

// Outputs 1 and 2, the means and reciprocal deviations of the batch, are there for the gradient; in evaluation they are
// empty, and the running statistics are kept instead.
struct NativeBatchNorm {
    enum Input { kX, kWeight, kBias, kRunningMean, kRunningVar };
    struct Attrs {
        bool training;
        double momentum, eps;
    };
    static constexpr auto fields = std::tuple{&Attrs::training, &Attrs::momentum, &Attrs::eps};
    static constexpr OpText text{
        .schema =
            "native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor!? running_mean, Tensor!? "
            "running_var, "
            "bool training, float momentum, float eps)",
        .node = "NativeBatchNormBackward0",
        .flags = kHidden,
        .outputs = "result0 result1 result2",
        .batching = BatchBy::BatchNorm,
        .domain = "unsampled, 'its later results are for its backward alone; batch_norm runs it'"};
    static void forward(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                        const Tensor& running_var, const Attrs& attrs, Tensor& out, Tensor& mean_of_x, Tensor& rstd) {
        need_fit("batch_norm", input.ndim() >= 2 && is_floating(input.dtype()));
        for (const Tensor* one : {&weight, &bias, &running_mean, &running_var})
            need_fit("batch_norm", !*one || (one->numel() == input.size(1) && is_floating(one->dtype())));
        const Tensor x = as_contiguous(input);
        const kernels::BatchNorm shape = shape_of(x);
        const std::int64_t channels = shape.channels, count = shape.batch * shape.inner;
        Numbers center = numbers_of(running_mean, channels, 0), variance = numbers_of(running_var, channels, 1);
        out = empty(x.layout_ref(), x.dtype());
        if (attrs.training && count > 0) {
            const WithoutGil released(x.numel() / 4);
            kernels::batch_moments(shape, center.data(), variance.data(), x.data());
        }
        if (attrs.training) update(running_mean, running_var, center, variance, count, attrs.momentum);
        Numbers scale = numbers_of(weight, channels, 1), shift = numbers_of(bias, channels, 0), reciprocal = variance;
        for (std::size_t c = 0; c < scale.size(); ++c) {
            reciprocal[c] = 1 / std::sqrt(variance[c] + attrs.eps);
            scale[c] *= reciprocal[c];
        }
        const Dims saved{attrs.training ? channels : 0};
        mean_of_x = tensor_of(attrs.training ? center : Numbers{}, saved, x.dtype());
        rstd = tensor_of(attrs.training ? reciprocal : Numbers{}, saved, x.dtype());
        const WithoutGil released(x.numel() / 4);
        kernels::batch_affine(shape, out.data(), x.data(), center.data(), scale.data(), shift.data());
    }
    // From sums of squares to variances; the running one is that without bias.
    static void update(const Tensor& running_mean, const Tensor& running_var, const Numbers& center, Numbers& variance,
                       std::int64_t count, double momentum) {
        if (count == 0) return;
        if (running_mean) move_towards(running_mean, center, momentum);
        Numbers unbiased = variance;
        for (double& value : unbiased) value /= static_cast<double>(count - 1);
        if (running_var) move_towards(running_var, unbiased, momentum);
        for (double& value : variance) value /= static_cast<double>(count);
    }

    static constexpr std::uint64_t constants = 1u << kRunningMean | 1u << kRunningVar;
    static std::uint64_t writes(const Attrs& attrs) { return attrs.training ? constants : 0; }
    static Saves saves(std::uint64_t needs, const Attrs& attrs) {
        Saves saves;
        if ((needs & 0b11) == 0) return saves;
        saves.inputs = 1u << kX;
        if (needs & 1u << kX) saves.inputs |= 1u << kWeight;
        if (attrs.training)
            saves.outputs = 0b110;
        else
            saves.inputs |= 1u << kRunningMean | 1u << kRunningVar;
        return saves;
    }
    static void backward(BackwardCall& call) {
        if (!call.incoming[0]) return;
        if (differentiates() || !attributes_of<Attrs>(call).training)
            composed_backward(call);
        else
            run_fused<NativeBatchNorm>(call);
    }
    static void fused_backward(BackwardCall& call) {
        need_fit("batch_norm", call.incoming[0] && call.incoming[0].ndim() >= 2);
        const Tensor g = as_contiguous(call.incoming[0]);
        if (!call.needs(kX) && !call.needs(kWeight)) {
            call.results[kBias] = sum(g, all_but_channels(g.ndim()), false);
            return;
        }
        const Tensor saved = saved_input(call, kX), weight = saved_input(call, kWeight);
        need_fit("batch_norm", saved && is_like(g, saved) && saved.ndim() >= 2 && is_floating(saved.dtype()) &&
                                   (!weight || weight.numel() == saved.size(1)) &&
                                   is_packed(saved_output(call, 1), saved.dtype(), saved.size(1)) &&
                                   is_packed(saved_output(call, 2), saved.dtype(), saved.size(1)));
        const Tensor x = as_contiguous(saved);
        const kernels::BatchNorm shape = shape_of(x);
        const std::int64_t channels = shape.channels;
        const Numbers center = numbers_of(saved_output(call, 1), channels, 0),
                      rstd = numbers_of(saved_output(call, 2), channels, 1);
        Numbers total(center.size()), along(center.size());
        if (call.needs(kX)) call.results[kX] = empty(x.layout_ref(), x.dtype());
        const double count = static_cast<double>(shape.batch * shape.inner);
        {
            const WithoutGil released(x.numel() / 2);
            kernels::batch_gradient_sums(shape, total.data(), along.data(), g.data(), x.data(), center.data());
        }
        if (call.needs(kX)) {
            // rstd * weight * (g - mean(g) - (x - mean) * rstd^2 * mean(g * (x - mean)))
            Numbers scale = numbers_of(saved_input(call, kWeight), channels, 1), slope = scale, shift = scale;
            for (std::size_t c = 0; c < scale.size(); ++c) {
                scale[c] *= rstd[c];
                slope[c] = -scale[c] * rstd[c] * rstd[c] * along[c] / count;
                shift[c] = -scale[c] * total[c] / count;
            }
            const WithoutGil released(x.numel() / 4);
            kernels::batch_gradient(shape, call.results[kX].data(), g.data(), x.data(), center.data(), scale.data(),
                                    slope.data(), shift.data());
        }
        if (call.needs(kBias)) call.results[kBias] = tensor_of(total, Dims{channels}, x.dtype());
        if (!call.needs(kWeight)) return;
        for (std::size_t c = 0; c < along.size(); ++c) along[c] *= rstd[c];
        call.results[kWeight] = tensor_of(along, Dims{channels}, x.dtype());
    }
    // The same in operations, for derivatives of the derivative, and for evaluation.
    static void composed_backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        need_fit("batch_norm", g.ndim() >= 2);
        const Dims axes = all_but_channels(g.ndim());
        if (call.needs(kBias)) call.results[kBias] = sum(g, axes, false);
        if (!call.needs(kX) && !call.needs(kWeight)) return;
        const Tensor x = saved_input(call, kX), weight = saved_input(call, kWeight);
        const Attrs& attrs = attributes_of<Attrs>(call);
        need_fit("batch_norm",
                 x && is_like(g, x) &&
                     (attrs.training || (saved_input(call, kRunningMean) && saved_input(call, kRunningVar))));
        const int ndim = x.ndim();
        Tensor center, rstd;
        if (attrs.training) {
            center = mean(x, axes, true);
            rstd = rsqrt(add(mean(square(sub(x, center)), axes, true), attrs.eps));
        } else {
            center = along_channels(saved_input(call, kRunningMean), ndim);
            rstd = along_channels(rsqrt(add(saved_input(call, kRunningVar), attrs.eps)), ndim);
        }
        const Tensor normal = mul(sub(x, center), rstd);
        if (call.needs(kWeight)) call.results[kWeight] = sum(mul(g, normal), axes, false);
        if (!call.needs(kX)) return;
        const Tensor scaled = weight ? mul(g, along_channels(weight, ndim)) : g;
        if (!attrs.training) {
            call.results[kX] = mul(scaled, rstd);
            return;
        }
        const Tensor along = mul(normal, mean(mul(scaled, normal), axes, true));
        call.results[kX] = mul(rstd, sub(sub(scaled, mean(scaled, axes, true)), along));
    }
};

void check_statistic(const char* name, const Tensor& given, const Tensor& x) {
    if (!given) return;
    if (given.ndim() != 1 || given.size(0) != x.size(1))
        fail(ErrorKind::Runtime, "batch_norm: %s should contain %lld elements not %lld", name,
             static_cast<long long>(x.size(1)), static_cast<long long>(given.numel()));
    if (given.dtype() != x.dtype())
        fail(ErrorKind::Runtime, "batch_norm: expected %s to have dtype %s like the input, got %s; cast it", name,
             dtype_name(x.dtype()), dtype_name(given.dtype()));
}

void check_constant(const char* name, const Tensor& given) {
    if (given && asks_for_derivative(given))
        fail(ErrorKind::Runtime,
             "batch_norm: The function 'native_batch_norm' is not differentiable with respect to argument '%s'. This "
             "input cannot have requires_grad True, nor a tangent; detach() it",
             name);
}

struct BatchNorm {
    struct Attrs {
        bool training;
        double momentum, eps;
        bool cudnn_enabled;
    };
    static constexpr auto fields = std::tuple{&Attrs::training, &Attrs::momentum, &Attrs::eps, &Attrs::cudnn_enabled};
    static constexpr OpText text{
        .schema =
            "batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor!? running_mean, Tensor!? running_var, bool "
            "training, float momentum, float eps, bool cudnn_enabled=True)",
        .flags = kFunction | kComposite,
        .domain =
            "input=real(c, b), weight=real(b), bias=real(b), training=True, momentum=0.1, eps=1e-05; input=real(c, b), "
            "running_mean=constant(real(b)), running_var=constant(positive(b)), training=False, momentum=0.1, "
            "eps=1e-05",
        .doc =
            "Batch normalization of input (N, C, ...): y = (x - mean) / sqrt(var + eps) * weight + bias for each "
            "channel. In training mean and (biased) var are those of the batch, and the running ones are updated in "
            "place: running = (1 - momentum) * running + momentum * batch, with the unbiased variance. Else the "
            "running ones are used.",
        .example =
            ">>> x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])\n"
            ">>> torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, False)\n"
            "tensor([[-1.0000, -1.0000],\n"
            "        [ 1.0000,  1.0000]])"};
    static void forward(const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                        const Tensor& running_var, const Attrs& attrs, Tensor& out) {
        if (!is_floating(x.dtype()))
            fail(ErrorKind::NotImplemented, "batch_norm: not implemented for dtype %s; cast the input first",
                 dtype_name(x.dtype()));
        if (x.ndim() < 2)
            fail(ErrorKind::Runtime, "batch_norm: expected an input of shape (N, C, ...), got %s",
                 shape_text(x.sizes()).c_str());
        if (attrs.training && bool(running_mean) != bool(running_var))
            fail(ErrorKind::Value,
                 "batch_norm: running_mean and running_var must either both be None or neither be None; got %s only",
                 running_mean ? "running_mean" : "running_var");
        if (!attrs.training && (!running_mean || !running_var))
            fail(ErrorKind::Runtime, "batch_norm: %s must be defined in evaluation mode",
                 running_mean ? "running_var" : "running_mean");
        check_statistic("running_mean", running_mean, x);
        check_statistic("running_var", running_var, x);
        check_statistic("weight", weight, x);
        check_statistic("bias", bias, x);
        check_constant("running_mean", running_mean);
        check_constant("running_var", running_var);
        out = run_many<NativeBatchNorm, 3>({attrs.training, attrs.momentum, attrs.eps}, x, weight, bias, running_mean,
                                           running_var)[0];
    }
};

}  // namespace

static const Register<NativeBatchNorm, BatchNorm> batch_norm_operations;

}  // namespace clew
