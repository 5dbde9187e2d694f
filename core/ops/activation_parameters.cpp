// Activation functions with parameters: softplus, elu, leaky_relu, threshold.
#include "core/base/error.h"
#include "core/ops/apply.h"
#include "core/ops/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

Tensor zero() { return number(0, DType::Float64); }

struct SoftplusAttrs {
    double beta, threshold;
};

struct SoftplusBackward {
    using Attrs = SoftplusAttrs;
    static constexpr auto fields = std::tuple{&Attrs::beta, &Attrs::threshold};
    static constexpr OpText text{
        .schema = "_softplus_backward(Tensor grad_output, Tensor self, float beta, float threshold)",
        .node = "SoftplusBackwardBackward0",
        .flags = kHidden,
        .domain = "real"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("softplus_backward", kernels::activation().softplus_backward, {attrs.beta, attrs.threshold},
                   std::array{g, x}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<SoftplusBackward>(attrs, gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x, const Attrs& attrs) {
            const Tensor scaled = mul(x, attrs.beta), s = sigmoid(scaled);
            const Tensor bend = mul(mul(s, add(neg(s), 1)), attrs.beta);
            return where(compare("gt", scaled, attrs.threshold), zero(), mul(mul(gg, g), bend));
        },
    };
};

struct Softplus {
    using Attrs = SoftplusAttrs;
    static constexpr auto fields = std::tuple{&Attrs::beta, &Attrs::threshold};
    static constexpr OpText text{
        .schema = "softplus(Tensor self, float beta=1.0, float threshold=20.0)",
        .node = "SoftplusBackward0",
        .flags = kFunction,
        .domain = "real",
        .doc = "log(1 + exp(beta * self)) / beta, and self itself where beta * self is above the threshold."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("softplus", kernels::activation().softplus, {attrs.beta, attrs.threshold}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<SoftplusBackward>(&attrs, std::move(g), x); }};
};

struct EluAttrs {
    double alpha, scale;
};

struct EluBackward {
    using Attrs = EluAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha, &Attrs::scale};
    static constexpr OpText text{.schema = "_elu_backward(Tensor grad_output, Tensor self, float alpha, float scale)",
                                 .node = "EluBackwardBackward0",
                                 .flags = kHidden,
                                 .domain = "nonzero"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("elu_backward", kernels::activation().elu_backward, {attrs.alpha, attrs.scale}, std::array{g, x},
                   out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<EluBackward>(attrs, gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x, const Attrs& attrs) {
            const Tensor bend = mul(exp(x), attrs.alpha * attrs.scale);
            return where(compare("gt", x, 0), zero(), mul(mul(gg, g), bend));
        },
    };
};

struct Elu {
    using Attrs = EluAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha, &Attrs::scale};
    static constexpr OpText text{.schema = "elu(Tensor self, float alpha=1.0, float scale=1.0)",
                                 .node = "EluBackward0",
                                 .flags = kFunction | kInPlace,
                                 .domain = "nonzero",
                                 .doc = "scale * self where self is positive, else scale * alpha * (exp(self) - 1)."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("elu", kernels::activation().elu, {attrs.alpha, attrs.scale}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<EluBackward>(&attrs, std::move(g), x); }};
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
        .flags = kHidden,
        .domain = "nonzero"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("leaky_relu_backward", kernels::activation().leaky_relu_backward, {attrs.negative_slope},
                   std::array{g, x}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<LeakyReluBackward>(attrs, gg, x); },
    };
};

struct LeakyRelu {
    using Attrs = SlopeAttrs;
    static constexpr auto fields = std::tuple{&Attrs::negative_slope};
    static constexpr OpText text{.schema = "leaky_relu(Tensor self, float negative_slope=0.01)",
                                 .node = "LeakyReluBackward0",
                                 .flags = kFunction | kInPlace,
                                 .domain = "nonzero",
                                 .doc = "self where it is positive, else negative_slope * self."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("leaky_relu", kernels::activation().leaky_relu, {attrs.negative_slope}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<LeakyReluBackward>(&attrs, std::move(g), x); }};
};

struct Threshold {
    struct Attrs {
        double threshold, value;
    };
    static constexpr auto fields = std::tuple{&Attrs::threshold, &Attrs::value};
    static constexpr OpText text{.schema = "threshold(Tensor self, float threshold, float value)",
                                 .node = "ThresholdBackward0",
                                 .flags = kFunction | kInPlace,
                                 .domain = "nonzero",
                                 .doc = "self where it is above the threshold, else value."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("threshold", kernels::parametric().threshold, {attrs.threshold, attrs.value}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, const Attrs& attrs) {
        return where(compare("le", x, attrs.threshold), zero(), g);
    }};
};

}  // namespace

static const Register<SoftplusBackward, Softplus, EluBackward, Elu, LeakyReluBackward, LeakyRelu, Threshold>
    parametric_activation_operations;

}  // namespace clew
