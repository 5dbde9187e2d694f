// Activation functions without parameters. Their derivatives are fused kernels, so each is an operation of its own with
// rules of its own: that is what makes second derivatives work.
#include <numbers>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

struct ThresholdBackward {
    struct Attrs {
        double threshold;
    };
    static constexpr auto fields = std::tuple{&Attrs::threshold};
    static constexpr OpText text{.schema = "_threshold_backward(Tensor grad_output, Tensor self, float threshold)",
                                 .node = "ThresholdBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "nonzero, threshold=0.0"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("threshold_backward", kernels::activation().threshold_backward, {attrs.threshold}, std::array{g, x},
                   out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<ThresholdBackward>(attrs, gg, x); },
        [](const Tensor& gg, Shape<1> x) { return zeros(x, gg.dtype()); },
    };
};

Tensor zero_below(Tensor&& g, const Tensor& y) {
    constexpr ThresholdBackward::Attrs at_zero{0.0};
    return run_over<ThresholdBackward>(&at_zero, std::move(g), y);
}

struct Relu {
    static constexpr OpText text{.schema = "relu(Tensor self)",
                                 .node = "ReluBackward0",
                                 .flags = kBoth | kInPlace | kElementwise,
                                 .domain = "nonzero",
                                 .doc = "max(0, self), the rectified linear unit; the gradient at 0 is 0.",
                                 .example = ">>> torch.relu(torch.tensor([-1.0, 0.0, 2.0]))\ntensor([0., 0., 2.])"};
    static void forward(const Tensor& x, Tensor& out) { unary("relu", kernels::unary().relu, x, out); }
    static constexpr auto rules = std::tuple{[](Tensor&& g, Out<> y) { return zero_below(std::move(g), y); }};
};

struct Threshold {
    struct Attrs {
        Scalar threshold, value;
    };
    static constexpr auto fields = std::tuple{&Attrs::threshold, &Attrs::value};
    static constexpr OpText text{
        .schema = "threshold(Tensor self, Scalar threshold, Scalar value)",
        .node = "ThresholdBackward0",
        .in_place_node = "ThresholdBackward1",
        .flags = kFunction | kInPlace | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero, threshold=0.1, value=2.0",
        .doc = "self where it is larger than threshold, else value.",
        .example = ">>> torch.threshold(torch.tensor([0.5, 2.0]), 1.0, 0.0)\ntensor([0., 2.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("threshold", kernels::parametric().threshold, {attrs.threshold, attrs.value}, Tensors(&x, 1), out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, const Attrs& attrs) {
        return run<ThresholdBackward>(ThresholdBackward::Attrs{attrs.threshold.real}, g, x);
    }};
};

// The second derivative of x * s with s = sigmoid(x): s (1 - s) (2 + x (1 - 2 s)).
Tensor silu_curvature(const Tensor& x) {
    const Tensor s = sigmoid(x), rest = add(neg(s), 1);
    return mul(mul(s, rest), add(mul(x, sub(rest, s)), 2));
}

struct SiluBackward {
    static constexpr OpText text{.schema = "_silu_backward(Tensor grad_output, Tensor self)",
                                 .node = "SiluBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "real"};
    static void forward(const Tensor& g, const Tensor& x, Tensor& out) {
        binary("silu_backward", kernels::activation().silu_backward, g, x, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x) { return run<SiluBackward>(gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x) { return mul(mul(gg, g), silu_curvature(x)); },
    };
};

struct Silu {
    static constexpr OpText text{
        .schema = "silu(Tensor self)",
        .node = "SiluBackward0",
        .flags = kFunction | kInPlace | kElementwise,
        .domain = "real",
        .doc = "x * sigmoid(x), also called swish. Source: Elfwing et al. 2017, arXiv:1702.03118.",
        .example =
            ">>> torch.nn.functional.silu(torch.tensor([-1.0, 0.0, 1.0]))\n"
            "tensor([-0.2689,  0.0000,  0.7311])"};
    static void forward(const Tensor& x, Tensor& out) { unary("silu", kernels::activation().silu, x, out); }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return run_over<SiluBackward>(std::move(g), x); }};
};

// The second derivative of x * normal_cdf(x): normal_density(x) (2 - x x).
Tensor gelu_curvature(const Tensor& x) {
    constexpr double height = std::numbers::inv_sqrtpi / std::numbers::sqrt2;
    const Tensor square = mul(x, x);
    return mul(mul(exp(mul(square, -0.5)), height), add(neg(square), 2));
}
// The second derivative of x (1 + t) / 2, where t = tanh(u) and u = k (x + c x x x): (1 - t t) (u' + x u'' / 2 - x t u'
// u').
Tensor gelu_tanh_curvature(const Tensor& x) {
    constexpr double k = std::numbers::sqrt2 * std::numbers::inv_sqrtpi, c = 0.044715;
    const Tensor square = mul(x, x);
    const Tensor t = tanh(mul(mul(x, add(mul(square, c), 1)), k));
    const Tensor slope = mul(add(mul(square, 3 * c), 1), k);
    const Tensor bend = mul(square, 3 * c * k);  // x u'' / 2
    return mul(add(neg(mul(t, t)), 1), sub(add(slope, bend), mul(mul(x, t), mul(slope, slope))));
}

struct ApproximateAttrs {
    Text approximate;
};

bool by_tanh(const ApproximateAttrs& attrs) {
    if (attrs.approximate == "tanh") return true;
    if (attrs.approximate == "none") return false;
    fail(ErrorKind::Runtime, "gelu: approximate argument must be either none or tanh, got '%s'",
         attrs.approximate.data);
}

struct GeluBackward {
    using Attrs = ApproximateAttrs;
    static constexpr auto fields = std::tuple{&Attrs::approximate};
    static constexpr OpText text{.schema = "_gelu_backward(Tensor grad_output, Tensor self, *, str approximate='none')",
                                 .node = "GeluBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "real"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        const auto& table = kernels::activation();
        binary("gelu_backward", by_tanh(attrs) ? table.gelu_tanh_backward : table.gelu_backward, g, x, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) { return run<GeluBackward>(attrs, gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x, const Attrs& attrs) {
            return mul(mul(gg, g), by_tanh(attrs) ? gelu_tanh_curvature(x) : gelu_curvature(x));
        },
    };
};

struct Gelu {
    using Attrs = ApproximateAttrs;
    static constexpr auto fields = std::tuple{&Attrs::approximate};
    static constexpr OpText text{.schema = "gelu(Tensor self, *, str approximate='none')",
                                 .node = "GeluBackward0",
                                 .flags = kFunction | kInPlace | kElementwise,
                                 .domain = "real; real, approximate='tanh'",
                                 .doc =
                                     "The Gaussian error linear unit x * Phi(x), Phi being the normal distribution "
                                     "function; approximate='tanh': x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 "
                                     "x³))). Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.",
                                 .example =
                                     ">>> torch.nn.functional.gelu(torch.tensor([-1.0, 0.0, 1.0]))\n"
                                     "tensor([-0.1587,  0.0000,  0.8413])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const auto& table = kernels::activation();
        unary("gelu", by_tanh(attrs) ? table.gelu_tanh : table.gelu, x, out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x, const Attrs& attrs) { return run_over<GeluBackward>(&attrs, std::move(g), x); }};
};

struct LogSigmoidBackward {
    static constexpr OpText text{.schema = "_logsigmoid_backward(Tensor grad_output, Tensor self)",
                                 .node = "LogSigmoidBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "real"};
    static void forward(const Tensor& g, const Tensor& x, Tensor& out) {
        binary("logsigmoid_backward", kernels::activation().logsigmoid_backward, g, x, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x) { return run<LogSigmoidBackward>(gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x) {
            const Tensor s = sigmoid(x);
            return mul(mul(gg, g), mul(s, add(s, -1)));
        },
    };
};

struct LogSigmoid {
    static constexpr OpText text{.schema = "logsigmoid(Tensor self)",
                                 .node = "LogSigmoidBackward0",
                                 .flags = kFunction | kElementwise,
                                 .domain = "real",
                                 .doc = "ln(sigmoid(x)) = -ln(1 + exp(-x)), without overflow.",
                                 .example =
                                     ">>> torch.nn.functional.logsigmoid(torch.tensor([0.0, -100.0]))\n"
                                     "tensor([  -0.6931, -100.0000])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (!out && !x.contiguous()) out = empty(x.sizes(), x.dtype());  // row-major, as in PyTorch
        unary("logsigmoid", kernels::activation().logsigmoid, x, out);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return run_over<LogSigmoidBackward>(std::move(g), x); }};
};

}  // namespace

Tensor relu(const Tensor& x) { return run<Relu>(x); }
Tensor logsigmoid(const Tensor& x) { return run<LogSigmoid>(x); }

static const Register<ThresholdBackward, Relu, Threshold, SiluBackward, Silu, GeluBackward, Gelu, LogSigmoidBackward,
                      LogSigmoid>
    activation_operations;

}  // namespace clew
