// The error function and the gamma family.
#include <numbers>

#include "core/base/error.h"
#include "core/ops/apply.h"
#include "core/ops/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

// The derivative of erf: a bell curve.
Tensor bell(const Tensor& g, const Tensor& x) {
    constexpr double height = 2 * std::numbers::inv_sqrtpi;
    return mul(mul(exp(neg(mul(x, x))), height), g);
}

struct Erf {
    static constexpr OpText text{.schema = "erf(Tensor self)",
                                 .node = "ErfBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "real",
                                 .doc = "The error function."};
    static void forward(const Tensor& x, Tensor& out) { unary("erf", kernels::special().erf, x, out, Result::Float); }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x) { return bell(g, x); }};
};

struct Erfc {
    static constexpr OpText text{.schema = "erfc(Tensor self)",
                                 .node = "ErfcBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "real",
                                 .doc = "1 - erf(self), exact where that is small."};
    static void forward(const Tensor& x, Tensor& out) { unary("erfc", kernels::special().erfc, x, out, Result::Float); }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x) { return neg(bell(g, x)); }};
};

struct Lgamma {
    static constexpr OpText text{.schema = "lgamma(Tensor self)",
                                 .node = "LgammaBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "positive",
                                 .doc = "The logarithm of the absolute value of the gamma function."};
    static void forward(const Tensor& x, Tensor& out) {
        unary("lgamma", kernels::special().lgamma, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), digamma(x)); }};
};

struct Digamma {
    static constexpr OpText text{.schema = "digamma(Tensor self)",
                                 .node = "DigammaBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "positive",
                                 .doc = "The derivative of lgamma."};
    static void forward(const Tensor& x, Tensor& out) {
        unary("digamma", kernels::special().digamma, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](const Tensor&, In<0>) -> Tensor {
        fail(ErrorKind::NotImplemented, "digamma: its derivative (trigamma) is not implemented; detach() the input");
    }};
};

}  // namespace

Tensor digamma(const Tensor& x) { return run<Digamma>(x); }

static const Register<Erf, Erfc, Lgamma, Digamma> special_operations;

}  // namespace clew
