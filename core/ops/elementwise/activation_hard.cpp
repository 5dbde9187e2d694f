// Activation functions made of straight pieces: hardtanh, hardsigmoid, hardswish, prelu. At a corner the derivative is
// the one of the piece beyond it, as in PyTorch.
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

struct Limits {
    Scalar min_val, max_val;
};

struct HardtanhBackward {
    using Attrs = Limits;
    static constexpr auto fields = std::tuple{&Attrs::min_val, &Attrs::max_val};
    static constexpr OpText text{
        .schema = "_hardtanh_backward(Tensor grad_output, Tensor self, Scalar min_val, Scalar max_val)",
        .node = "HardtanhBackwardBackward0",
        .flags = kHidden | kAnyDType,
        .derivative = "elementwise",
        .domain = "real, min_val=-0.5, max_val=0.5"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("hardtanh_backward", kernels::activation().hardtanh_backward,
                   {attrs.min_val.real, attrs.max_val.real}, std::array{g, x}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<HardtanhBackward>(attrs, gg, x); },
    };
};

struct Hardtanh {
    using Attrs = Limits;
    static constexpr auto fields = std::tuple{&Attrs::min_val, &Attrs::max_val};
    static constexpr OpText text{
        .schema = "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1)",
        .node = "HardtanhBackward0",
        .flags = kFunction | kInPlace | kElementwise,
        .domain = "real",
        .doc = "max(min_val, min(max_val, x)), in self's dtype; the gradient is 0 outside and on the bounds.",
        .example =
            ">>> torch.nn.functional.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))\n"
            "tensor([-1.0000,  0.5000,  1.0000])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (x.dtype() == DType::Bool)
            fail(ErrorKind::Runtime, "hardtanh: Bool inputs not supported for hardtanh; cast the input first");
        if (x.dtype() == DType::UInt8 && (attrs.min_val.real <= -1 || attrs.max_val.real <= -1))
            fail(ErrorKind::Runtime,
                 "hardtanh: cannot do hardtanh on an unsigned type with negative limits; cast the input first");
        parametric("hardtanh", kernels::parametric().clamp, {attrs.min_val, attrs.max_val}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<HardtanhBackward>(&attrs, std::move(g), x); }};
};

struct HardsigmoidBackward {
    static constexpr OpText text{.schema = "_hardsigmoid_backward(Tensor grad_output, Tensor self)",
                                 .node = "HardsigmoidBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "real"};
    static void forward(const Tensor& g, const Tensor& x, Tensor& out) {
        binary("hardsigmoid_backward", kernels::activation().hardsigmoid_backward, g, x, out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& gg, In<1> x) { return run<HardsigmoidBackward>(gg, x); }};
};

struct Hardsigmoid {
    static constexpr OpText text{.schema = "hardsigmoid(Tensor self)",
                                 .node = "HardsigmoidBackward0",
                                 .flags = kFunction | kInPlace | kElementwise,
                                 .domain = "real",
                                 .doc = "max(0, min(1, x / 6 + 1 / 2)), a piecewise linear sigmoid.",
                                 .example =
                                     ">>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 0.0, 1.0]))\n"
                                     "tensor([0.0000, 0.5000, 0.6667])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("hardsigmoid", kernels::activation().hardsigmoid, x, out);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return run_over<HardsigmoidBackward>(std::move(g), x); }};
};

struct HardswishBackward {
    static constexpr OpText text{.schema = "_hardswish_backward(Tensor grad_output, Tensor self)",
                                 .node = "HardswishBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "real"};
    static void forward(const Tensor& g, const Tensor& x, Tensor& out) {
        binary("hardswish_backward", kernels::activation().hardswish_backward, g, x, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x) { return run<HardswishBackward>(gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x) {
            return run<HardtanhBackward>({Scalar::of(-3.0), Scalar::of(3.0)}, mul(mul(gg, g), 1.0 / 3), x);
        },
    };
};

struct Hardswish {
    static constexpr OpText text{
        .schema = "hardswish(Tensor self)",
        .node = "HardswishBackward0",
        .flags = kFunction | kInPlace | kElementwise,
        .domain = "real",
        .doc = "x * max(0, min(1, x / 6 + 1 / 2)). Source: Howard et al. 2019, arXiv:1905.02244.",
        .example =
            ">>> torch.nn.functional.hardswish(torch.tensor([-4.0, 0.0, 1.0]))\n"
            "tensor([-0.0000, 0.0000, 0.6667])"};
    static void forward(const Tensor& x, Tensor& out) { unary("hardswish", kernels::activation().hardswish, x, out); }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return run_over<HardswishBackward>(std::move(g), x); }};
};

// The gradients of prelu, both where x is not positive: g * weight, and g * x. That of x is g where x is positive.
struct PreluBackward {
    static constexpr OpText text{.schema = "_prelu_kernel_backward(Tensor grad_output, Tensor self, Tensor weight)",
                                 .node = "PreluKernelBackwardBackward0",
                                 .flags = kHidden,
                                 .outputs = "result0 result1",
                                 .domain = "nonzero"};
    static void forward(const Tensor& g, const Tensor& x, const Tensor& weight, Tensor& by_x, Tensor& by_weight) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        const Tensor positive = compare(kGt, x, 0);
        by_x = where(positive, g, mul(g, weight));
        by_weight = where(positive, zero(), mul(g, x));
    }
    static Saves saves(std::uint64_t, const NoAttrs&) { return {.inputs = 7}; }
    // At 0, a corner, nothing depends on the weight or on x.
    static void backward(BackwardCall& call) {
        const Tensor g = saved_input(call, 0), x = saved_input(call, 1), weight = saved_input(call, 2);
        const Tensor not_below = compare(kGe, x, 0);
        const auto product = [&](int incoming, const Tensor& factor) {  // 0 where nothing comes in, also times NaN
            return call.incoming[incoming] ? mul(Tensor(call.incoming[incoming]), factor) : zeros_like(x);
        };
        const auto below = [&](const Tensor& value) { return where(not_below, zero(), value); };
        if (call.needs(0)) {
            const Tensor above = call.incoming[0] ? Tensor(call.incoming[0]) : zeros_like(x);
            call.results[0] = where(not_below, above, add(product(1, x), product(0, weight)));
        }
        if (call.needs(1)) call.results[1] = below(product(1, g));
        if (call.needs(2)) call.results[2] = below(product(0, g));
    }
};

struct PreluKernel {
    static constexpr OpText text{.schema = "_prelu_kernel(Tensor self, Tensor weight)",
                                 .node = "PreluKernelBackward0",
                                 .flags = kHidden,
                                 .derivative = "elementwise",
                                 .domain = "nonzero"};
    static void forward(const Tensor& x, const Tensor& weight, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        out = where(compare(kGt, x, 0), x, mul(x, weight));
    }
    static Saves saves(std::uint64_t, const NoAttrs&) { return {.inputs = 3}; }
    static void backward(BackwardCall& call) {
        const auto [by_x, by_weight] =
            run_many<PreluBackward, 2>(NoAttrs{}, call.incoming[0], saved_input(call, 0), saved_input(call, 1));
        if (call.needs(0)) call.results[0] = by_x;
        if (call.needs(1)) call.results[1] = by_weight;
    }
};

struct Prelu {
    static constexpr OpText text{.schema = "prelu(Tensor self, Tensor weight)",
                                 .flags = kBoth | kComposite,
                                 .domain = "self=nonzero(a, b), weight=real(b)",
                                 .doc =
                                     "x for x > 0, else weight * x, with one learnable weight or one for each channel "
                                     "(axis 1). Source: He et al. 2015, arXiv:1502.01852.",
                                 .example =
                                     ">>> torch.prelu(torch.tensor([-2.0, 3.0]), torch.tensor([0.25]))\n"
                                     "tensor([-0.5000,  3.0000])"};
    static void forward(const Tensor& x, const Tensor& weight, Tensor& out) {
        if (x.dtype() != weight.dtype())
            fail(ErrorKind::Runtime, "prelu: Type promoting not supported. Got %s and %s; cast one of them",
                 dtype_name(x.dtype()), dtype_name(weight.dtype()));
        if (!is_floating(x.dtype()))
            fail(ErrorKind::NotImplemented, "prelu: not implemented for dtype %s; cast the input first",
                 dtype_name(x.dtype()));
        if (weight.ndim() > 1)
            fail(ErrorKind::Runtime, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = %d",
                 weight.ndim());
        const std::int64_t channels = x.ndim() > 1 ? x.size(1) : 1;
        if (weight.numel() != 1 && x.ndim() == 0)
            fail(ErrorKind::Runtime, "prelu: Not allow zero-dim input tensor with %lld weights; give one",
                 static_cast<long long>(weight.numel()));
        if (weight.numel() != 1 && weight.numel() != channels)
            fail(ErrorKind::Runtime,
                 "prelu: Mismatch of parameter numbers and input channel size. Found parameter numbers = %lld and "
                 "channel size = %lld.",
                 static_cast<long long>(weight.numel()), static_cast<long long>(channels));
        Dims sizes;
        for (int i = 0; i < x.ndim(); ++i) sizes.push_back(i == 1 ? weight.numel() : 1);
        out = run<PreluKernel>(x, weight.ndim() == x.ndim() ? weight : reshape(weight, sizes));
    }
};

}  // namespace

Tensor hardtanh(const Tensor& x, double low, double high) {
    return run<Hardtanh>({Scalar::of(low), Scalar::of(high)}, x);
}

static const Register<HardtanhBackward, Hardtanh, HardsigmoidBackward, Hardsigmoid, HardswishBackward, Hardswish,
                      PreluBackward, PreluKernel, Prelu>
    hard_activation_operations;

}  // namespace clew
