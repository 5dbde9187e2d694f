// The error function and the gamma family.
#include <cmath>
#include <numbers>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/elementwise/gamma_family.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

// The derivative of erf: a bell curve.
Tensor bell(const Tensor& g, const Tensor& x) {
    constexpr double height = 2 * std::numbers::inv_sqrtpi;
    return mul(mul(exp(neg(mul(x, x))), height), g);
}

struct Erf {
    static constexpr OpText text{
        .schema = "erf(Tensor self)",
        .node = "ErfBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
        .derivative = "elementwise",
        .domain = "real",
        .doc = "The error function 2 / sqrt(pi) times the integral of exp(-t²) from 0 to self.",
        .example = ">>> torch.erf(torch.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8427])"};
    static void forward(const Tensor& x, Tensor& out) { unary("erf", kernels::special().erf, x, out, Result::Float); }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x) { return bell(g, x); }};
};

struct Erfc {
    static constexpr OpText text{
        .schema = "erfc(Tensor self)",
        .node = "ErfcBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
        .derivative = "elementwise",
        .domain = "real",
        .doc = "The complementary error function 1 - erf(self), without cancellation where it is small.",
        .example = ">>> torch.erfc(torch.tensor([0.0, 5.0]))\ntensor([1.0000e+00, 1.5375e-12])"};
    static void forward(const Tensor& x, Tensor& out) { unary("erfc", kernels::special().erfc, x, out, Result::Float); }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x) { return neg(bell(g, x)); }};
};

Tensor erfinv(const Tensor& x);

struct Erfinv {
    static constexpr OpText text{
        .schema = "erfinv(Tensor self)",
        .node = "ErfinvBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
        .derivative = "elementwise",
        .domain = "unit",
        .doc = "The inverse error function: erf(erfinv(x)) = x; infinite at -1 and 1, NaN beyond.",
        .example =
            ">>> torch.erfinv(torch.tensor([0.0, 0.5, 1.0]))\n"
            "tensor([0.0000, 0.4769,    inf])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("erfinv", kernels::special().erfinv, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x) {
        const Tensor y = erfinv(x);
        constexpr double half_root = 0.5 / std::numbers::inv_sqrtpi;
        return mul(mul(exp(mul(y, y)), half_root), g);
    }};
};

struct Lgamma {
    static constexpr OpText text{.schema = "lgamma(Tensor self)",
                                 .node = "LgammaBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "positive",
                                 .doc = "The log-gamma function ln |Gamma(self)|; inf at 0 and negative integers.",
                                 .example =
                                     ">>> torch.lgamma(torch.tensor([1.0, 5.0, 0.5]))\n"
                                     "tensor([0.0000, 3.1781, 0.5724])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("lgamma", kernels::special().lgamma, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), digamma(x)); }};
};

struct Digamma {
    static constexpr OpText text{.schema = "digamma(Tensor self)",
                                 .node = "DigammaBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "positive",
                                 .doc =
                                     "The digamma function, the derivative of lgamma: Gamma'(x) / Gamma(x). NaN at "
                                     "negative integers, -inf at 0.",
                                 .example = ">>> torch.digamma(torch.tensor([1.0, 0.5]))\ntensor([-0.5772, -1.9635])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("digamma", kernels::special().digamma, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), polygamma(1, x)); }};
};

struct Polygamma {
    struct Attrs {
        std::int64_t n;
    };
    static constexpr auto fields = std::tuple{&Attrs::n};
    static constexpr OpText text{
        .schema = "polygamma(int n, Tensor self)",
        .node = "PolygammaBackward0",
        .flags = kFunction | kOutArgument,
        .derivative = "elementwise",
        .domain = "n=1, self=positive(a, b); n=0, self=positive(a, b); n=3, self=positive(a, b)",
        .doc = "The polygamma function of order n >= 0, the n-th derivative of digamma at self.",
        .example = ">>> torch.polygamma(1, torch.tensor([1.0, 0.5]))\ntensor([1.6449, 4.9348])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.n < 0)
            fail(ErrorKind::Runtime, "polygamma(n, x) does not support negative n, got n=%lld",
                 static_cast<long long>(attrs.n));
        if (attrs.n == 0) return unary("digamma", kernels::special().digamma, x, out, Result::Float);
        const ModeGuard guard(kNoGrad | kInBackward, true);
        const double n = static_cast<double>(attrs.n);
        binary("polygamma", kernels::gamma_family().zeta, number(n + 1, DType::Float64), x, out, Result::Float);
        mul_in_place(out, number((attrs.n % 2 != 0 ? 1 : -1) * std::tgamma(n + 1), DType::Float64));
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, In<0> x, const Attrs& attrs) { return mul(g, polygamma(attrs.n + 1, x)); }};
};

// d/dx of P(a, x): the gamma distribution's density.
Tensor gamma_density(const Tensor& g, const Tensor& a, const Tensor& x) {
    return mul(g, exp(sub(sub(mul(sub(a, one()), log(x)), x), lgamma(a))));
}
Tensor no_derivative(const char* op) {
    fail(ErrorKind::NotImplemented, "%s: the derivative with respect to its first argument is not implemented", op);
}

struct Igamma {
    static constexpr OpText text{
        .schema = "igamma(Tensor self, Tensor other)",
        .node = "IgammaBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
        .derivative = "elementwise",
        .domain = "self=constant(positive(a, b)), other=positive(a, b)",
        .doc =
            "The regularized lower incomplete gamma function P(a, x) for a = self and x = other: the integral of "
            "t^(a-1) exp(-t) from 0 to x, over Gamma(a). It has a derivative by x only.",
        .example =
            ">>> torch.igamma(torch.tensor([1.0]), torch.tensor([2.0]))\n"
            "tensor([0.8647])"};
    static void forward(const Tensor& a, const Tensor& x, Tensor& out) {
        binary("igamma", kernels::gamma_family().lower, a, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor&) { return no_derivative("igamma"); },
        [](const Tensor& g, In<0> a, In<1> x) { return gamma_density(g, a, x); },
    };
};
struct Igammac {
    static constexpr OpText text{.schema = "igammac(Tensor self, Tensor other)",
                                 .node = "IgammacBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "self=constant(positive(a, b)), other=positive(a, b)",
                                 .doc =
                                     "The regularized upper incomplete gamma function Q(a, x) = 1 - igamma(a, x), "
                                     "without cancellation. It has a derivative by x only.",
                                 .example =
                                     ">>> torch.igammac(torch.tensor([1.0]), torch.tensor([2.0]))\n"
                                     "tensor([0.1353])"};
    static void forward(const Tensor& a, const Tensor& x, Tensor& out) {
        binary("igammac", kernels::gamma_family().upper, a, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor&) { return no_derivative("igammac"); },
        [](const Tensor& g, In<0> a, In<1> x) { return neg(gamma_density(g, a, x)); },
    };
};

// self * log(other) with 0 * log(0) = 0: what entropies and divergences are made of.
struct Xlogy {
    static constexpr OpText text{.schema = "xlogy(Operand self, Operand other)",
                                 .node = "XlogyBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .derivative = "elementwise",
                                 .domain = "positive",
                                 .doc = "self * ln(other), and 0 where self is 0 (unless other is NaN).",
                                 .example =
                                     ">>> torch.xlogy(torch.tensor([0.0, 2.0]), torch.tensor([0.0, 1.0]))\n"
                                     "tensor([0., 0.])"};
    static void forward(const Tensor& x, const Tensor& y, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        const Tensor nothing = logical_and(compare(kEq, x, 0), compare(kEq, y, y));
        const Tensor both[] = {x, y};
        // A number that Python gave would count as one again, whose logarithm has the default dtype.
        const Tensor other = alias(y, y->layout, y->offset);
        const DType dtype = result_dtype(both);
        const Tensor product = mul(x, log(is_floating(dtype) ? converted(other, dtype) : other));
        ternary("xlogy", kernels::ternary().where, std::array{nothing, zero(), product}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> x, In<1> y) {
            const Tensor& other = y;
            const Tensor beyond = logical_and(compare(kEq, x, 0), compare(kLe, other, 0));
            return where(beyond, zero(), xlogy(g, conj(other)));
        },
        [](const Tensor& g, In<0> x, In<1> y) { return mul(g, conj(div(x, y))); },
    };
};

Tensor erfinv(const Tensor& x) { return run<Erfinv>(x); }

}  // namespace

Tensor xlogy(const Tensor& x, const Tensor& y) { return run<Xlogy>(x, y); }
Tensor lgamma(const Tensor& x) { return run<Lgamma>(x); }
Tensor digamma(const Tensor& x) { return run<Digamma>(x); }
Tensor polygamma(std::int64_t n, const Tensor& x) { return run<Polygamma>(Polygamma::Attrs{n}, x); }

static const Register<Erf, Erfc, Erfinv, Lgamma, Digamma, Polygamma, Igamma, Igammac, Xlogy> special_operations;

}  // namespace clew
