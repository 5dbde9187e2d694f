// Activation functions with parameters: softplus, elu, leaky_relu.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

struct SoftplusAttrs {
    double beta, threshold;
};

struct SoftplusBackward {
    using Attrs = SoftplusAttrs;
    static constexpr auto fields = std::tuple{&Attrs::beta, &Attrs::threshold};
    static constexpr OpText text{
        .schema = "_softplus_backward(Tensor grad_output, Tensor self, float beta, float threshold)",
        .node = "SoftplusBackwardBackward0",
        .flags = kHidden | kAnyDType,
        .derivative = "elementwise",
        .domain = "real, beta=1.5, threshold=20.0"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("softplus_backward", kernels::activation().softplus_backward, {attrs.beta, attrs.threshold},
                   std::array{g, x}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<SoftplusBackward>(attrs, gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x, const Attrs& attrs) {
            const Tensor scaled = mul(x, attrs.beta), s = sigmoid(scaled);
            const Tensor bend = mul(mul(s, add(neg(s), 1)), attrs.beta);
            return where(compare(kGe, scaled, attrs.threshold), zero(), mul(mul(gg, g), bend));
        },
    };
};

struct Softplus {
    using Attrs = SoftplusAttrs;
    static constexpr auto fields = std::tuple{&Attrs::beta, &Attrs::threshold};
    static constexpr OpText text{
        .schema = "softplus(Tensor self, float beta=1.0, float threshold=20.0)",
        .node = "SoftplusBackward0",
        .flags = kFunction | kElementwise,
        .domain = "real",
        .doc = "ln(1 + exp(beta * x)) / beta, a smooth relu; x itself where beta * x > threshold.",
        .example =
            ">>> torch.nn.functional.softplus(torch.tensor([-1.0, 0.0, 30.0]))\n"
            "tensor([ 0.3133,  0.6931, 30.0000])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("softplus", kernels::activation().softplus, {attrs.beta, attrs.threshold}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<SoftplusBackward>(&attrs, std::move(g), x); }};
};

struct EluAttrs {
    double alpha, scale, input_scale;
};

struct EluBackward {
    using Attrs = EluAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha, &Attrs::scale, &Attrs::input_scale};
    static constexpr OpText text{
        .schema = "_elu_backward(Tensor grad_output, Tensor self, float alpha, float scale, float input_scale)",
        .node = "EluBackwardBackward0",
        .flags = kHidden | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero, alpha=1.5, scale=1.0, input_scale=0.5"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("elu_backward", kernels::activation().elu_backward, {attrs.alpha, attrs.scale, attrs.input_scale},
                   std::array{g, x}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<EluBackward>(attrs, gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x, const Attrs& attrs) {
            const double bend_at_zero = attrs.alpha * attrs.scale * attrs.input_scale * attrs.input_scale;
            const Tensor straight = compare(kGe, x, 0);  // where the exponential may overflow
            const Tensor bend = mul(exp(where(straight, zero(), mul(x, attrs.input_scale))), bend_at_zero);
            return where(straight, zero(), mul(mul(gg, g), bend));
        },
    };
};

struct Elu {
    using Attrs = EluAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha, &Attrs::scale, &Attrs::input_scale};
    static constexpr OpText text{.schema = "elu(Tensor self, float alpha=1.0, float scale=1.0, float input_scale=1.0)",
                                 .node = "EluBackward0",
                                 .in_place_node = "EluBackward1",
                                 .flags = kFunction | kInPlace | kElementwise,
                                 .domain = "nonzero; nonzero, alpha=1.5, scale=2.0, input_scale=0.5",
                                 .doc =
                                     "scale * x for x > 0, else scale * alpha * (exp(input_scale * x) - 1): the "
                                     "exponential linear unit. Source: Clevert et al. 2015, arXiv:1511.07289.",
                                 .example =
                                     ">>> torch.nn.functional.elu(torch.tensor([-1.0, 0.0, 2.0]))\n"
                                     "tensor([-0.6321,  0.0000,  2.0000])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("elu", kernels::activation().elu, {attrs.alpha, attrs.scale, attrs.input_scale}, Tensors(&x, 1),
                   out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<EluBackward>(&attrs, std::move(g), x); }};
};

struct Celu {
    struct Attrs {
        double alpha;
    };
    static constexpr auto fields = std::tuple{&Attrs::alpha};
    static constexpr OpText text{.schema = "celu(Tensor self, float alpha=1.0)",
                                 .node = "CeluBackward0",
                                 .in_place_node = "CeluBackward1",
                                 .flags = kFunction | kInPlace | kElementwise,
                                 .domain = "nonzero; nonzero, alpha=0.5",
                                 .doc =
                                     "max(0, x) + min(0, alpha * (exp(x / alpha) - 1)): the continuously "
                                     "differentiable exponential linear unit. Source: Barron 2017, arXiv:1704.07483.",
                                 .example =
                                     ">>> torch.celu(torch.tensor([-1.0, 0.0, 2.0]), alpha=0.5)\n"
                                     "tensor([-0.4323,  0.0000,  2.0000])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.alpha == 0) fail(ErrorKind::Runtime, "celu: ZeroDivisionError: alpha cannot be 0 for CELU");
        parametric("celu", kernels::activation().elu, {attrs.alpha, 1, 1 / attrs.alpha}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x, const Attrs& attrs) {
        const EluAttrs as_elu{attrs.alpha, 1, 1 / attrs.alpha};
        return run_over<EluBackward>(&as_elu, std::move(g), x);
    }};
};

struct SlopeAttrs {
    double negative_slope;
};

struct LeakyReluBackward {
    using Attrs = SlopeAttrs;
    static constexpr auto fields = std::tuple{&Attrs::negative_slope};
    static constexpr OpText text{
        .schema = "_leaky_relu_backward(Tensor grad_output, Tensor self, float negative_slope)",
        .node = "LeakyReluBackwardBackward0",
        .flags = kHidden | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero, negative_slope=0.1"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("leaky_relu_backward", kernels::activation().leaky_relu_backward, {attrs.negative_slope},
                   std::array{g, x}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<LeakyReluBackward>(attrs, gg, x); },
        [](const Tensor& gg, Shape<1> x) { return zeros(x, gg.dtype()); },
    };
};

struct LeakyRelu {
    using Attrs = SlopeAttrs;
    static constexpr auto fields = std::tuple{&Attrs::negative_slope};
    static constexpr OpText text{.schema = "leaky_relu(Tensor self, float negative_slope=0.01)",
                                 .node = "LeakyReluBackward0",
                                 .in_place_node = "LeakyReluBackward1",
                                 .flags = kFunction | kInPlace | kElementwise,
                                 .domain = "nonzero",
                                 .doc = "x for x > 0, else negative_slope * x.",
                                 .example =
                                     ">>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]))\n"
                                     "tensor([-0.0100,  2.0000])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("leaky_relu", kernels::activation().leaky_relu, {attrs.negative_slope}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<LeakyReluBackward>(&attrs, std::move(g), x); }};
};

}  // namespace

static const Register<SoftplusBackward, Softplus, EluBackward, Elu, Celu, LeakyReluBackward, LeakyRelu>
    parametric_activation_operations;

}  // namespace clew
