// Exponentials, logarithms and what is made of them.
#include <numbers>

#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

struct Exp {
    static constexpr OpText text{.schema = "exp(Tensor self)",
                                 .node = "ExpBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The exponential function e ** self.",
                                 .example = ">>> torch.exp(torch.tensor([0.0, 1.0]))\ntensor([1.0000, 2.7183])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("exp", kernels::exponential().exp, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, Out<> y) { return mul(std::move(g), conj(y)); }};
};

struct Exp2 {
    static constexpr OpText text{.schema = "exp2(Tensor self)",
                                 .node = "Exp2Backward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "2 ** self.",
                                 .example =
                                     ">>> torch.exp2(torch.tensor([0.0, 3.0, 0.5]))\n"
                                     "tensor([1.0000, 8.0000, 1.4142])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("exp2", kernels::exponential().exp2, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> y) { return mul(mul(std::move(g), conj(y)), std::numbers::ln2); }};
};

struct Expm1 {
    static constexpr OpText text{.schema = "expm1(Tensor self)",
                                 .node = "Expm1Backward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "exp(self) - 1, without cancellation near 0.",
                                 .example =
                                     ">>> torch.expm1(torch.tensor([0.0, 1e-10]))\n"
                                     "tensor([0.0000e+00, 1.0000e-10])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("expm1", kernels::exponential().expm1, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, Out<> y) { return mul(std::move(g), conj(add(y, 1))); }};
};

struct Log {
    static constexpr OpText text{.schema = "log(Tensor self)",
                                 .node = "LogBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "positive",
                                 .doc = "The natural logarithm; -inf at 0, NaN below.",
                                 .example =
                                     ">>> torch.log(torch.tensor([1.0, 2.0, 0.0]))\n"
                                     "tensor([0.0000, 0.6931,   -inf])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("log", kernels::exponential().log, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return div(std::move(g), conj(x)); }};
};

struct Log2 {
    static constexpr OpText text{.schema = "log2(Tensor self)",
                                 .node = "Log2Backward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "positive",
                                 .doc = "The logarithm to base 2.",
                                 .example = ">>> torch.log2(torch.tensor([1.0, 8.0]))\ntensor([0., 3.])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("log2", kernels::exponential().log2, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return div(std::move(g), conj(mul(x, std::numbers::ln2))); }};
};

struct Log10 {
    static constexpr OpText text{.schema = "log10(Tensor self)",
                                 .node = "Log10Backward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "positive",
                                 .doc = "The logarithm to base 10.",
                                 .example = ">>> torch.log10(torch.tensor([1.0, 100.0]))\ntensor([0., 2.])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("log10", kernels::exponential().log10, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return div(std::move(g), conj(mul(x, std::numbers::ln10))); }};
};

struct Log1p {
    static constexpr OpText text{.schema = "log1p(Tensor self)",
                                 .node = "Log1PBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "positive",
                                 .doc = "ln(1 + self), without cancellation near 0.",
                                 .example =
                                     ">>> torch.log1p(torch.tensor([0.0, 1e-10]))\n"
                                     "tensor([0.0000e+00, 1.0000e-10])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("log1p", kernels::exponential().log1p, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return div(std::move(g), conj(add(x, 1))); }};
};

struct Sinh {
    static constexpr OpText text{.schema = "sinh(Tensor self)",
                                 .node = "SinhBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The hyperbolic sine (exp(self) - exp(-self)) / 2.",
                                 .example = ">>> torch.sinh(torch.tensor([0.0, 1.0]))\ntensor([0.0000, 1.1752])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("sinh", kernels::exponential().sinh, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), conj(cosh(x))); }};
};

struct Cosh {
    static constexpr OpText text{.schema = "cosh(Tensor self)",
                                 .node = "CoshBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The hyperbolic cosine (exp(self) + exp(-self)) / 2.",
                                 .example = ">>> torch.cosh(torch.tensor([0.0, 1.0]))\ntensor([1.0000, 1.5431])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("cosh", kernels::exponential().cosh, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), conj(sinh(x))); }};
};

// g * (1 - y * y), in one pass.
struct TanhBackward {
    static constexpr OpText text{.schema = "_tanh_backward(Tensor grad_output, Tensor output)",
                                 .node = "TanhBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "unit"};
    static void forward(const Tensor& g, const Tensor& y, Tensor& out) {
        binary("tanh_backward", kernels::activation().tanh_backward, g, y, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> y) { return run<TanhBackward>(gg, y); },
        [](const Tensor& gg, In<0> g, In<1> y) { return mul(mul(gg, g), mul(y, -2)); },
    };
};

// g * y * (1 - y), in one pass.
struct SigmoidBackward {
    static constexpr OpText text{.schema = "_sigmoid_backward(Tensor grad_output, Tensor output)",
                                 .node = "SigmoidBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "unit"};
    static void forward(const Tensor& g, const Tensor& y, Tensor& out) {
        binary("sigmoid_backward", kernels::activation().sigmoid_backward, g, y, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> y) { return run<SigmoidBackward>(gg, y); },
        [](const Tensor& gg, In<0> g, In<1> y) { return mul(mul(gg, g), add(mul(y, -2), 1)); },
    };
};

struct Tanh {
    static constexpr OpText text{.schema = "tanh(Tensor self)",
                                 .node = "TanhBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The hyperbolic tangent.",
                                 .example = ">>> torch.tanh(torch.tensor([0.0, 1.0]))\ntensor([0.0000, 0.7616])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("tanh", kernels::exponential().tanh, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, Out<> y) {
        if (is_complex(y->dtype())) return mul(g, conj(add(neg(mul(y, y)), 1)));
        return run_over<TanhBackward>(std::move(g), y);
    }};
};

struct Sigmoid {
    static constexpr OpText text{.schema = "sigmoid(Tensor self)",
                                 .node = "SigmoidBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The logistic function 1 / (1 + exp(-self)).",
                                 .example = ">>> torch.sigmoid(torch.tensor([0.0, 1.0]))\ntensor([0.5000, 0.7311])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("sigmoid", kernels::exponential().sigmoid, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, Out<> y) {
        if (is_complex(y->dtype())) return mul(g, conj(mul(y, add(neg(y), 1))));
        return run_over<SigmoidBackward>(std::move(g), y);
    }};
};

}  // namespace

Tensor exp(const Tensor& x) { return run<Exp>(x); }
Tensor log(const Tensor& x) { return run<Log>(x); }
Tensor log1p(const Tensor& x) { return run<Log1p>(x); }
Tensor sinh(const Tensor& x) { return run<Sinh>(x); }
Tensor cosh(const Tensor& x) { return run<Cosh>(x); }
Tensor tanh(const Tensor& x) { return run<Tanh>(x); }
Tensor sigmoid(const Tensor& x) { return run<Sigmoid>(x); }

static const Register<Exp, Exp2, Expm1, Log, Log2, Log10, Log1p, Sinh, Cosh, TanhBackward, SigmoidBackward, Tanh,
                      Sigmoid>
    exponential_operations;

}  // namespace clew
