// Angles: trigonometric functions and their inverses.
#include <limits>

#include "core/autograd/mode.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

Tensor one_minus_square(const Tensor& x) { return add(neg(mul(x, x)), 1); }

struct Sin {
    static constexpr OpText text{.schema = "sin(Tensor self)",
                                 .node = "SinBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The sine of an angle in radians.",
                                 .example = ">>> torch.sin(torch.tensor([0.0, 1.0]))\ntensor([0.0000, 0.8415])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("sin", kernels::trigonometry().sin, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), conj(cos(x))); }};
};

struct Cos {
    static constexpr OpText text{.schema = "cos(Tensor self)",
                                 .node = "CosBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The cosine of an angle in radians.",
                                 .example = ">>> torch.cos(torch.tensor([0.0, 1.0]))\ntensor([1.0000, 0.5403])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("cos", kernels::trigonometry().cos, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return neg(mul(std::move(g), conj(sin(x)))); }};
};

struct Tan {
    static constexpr OpText text{.schema = "tan(Tensor self)",
                                 .node = "TanBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "unit",
                                 .doc = "The tangent of an angle in radians.",
                                 .example = ">>> torch.tan(torch.tensor([0.0, 1.0]))\ntensor([0.0000, 1.5574])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("tan", kernels::trigonometry().tan, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> y) { return mul(std::move(g), conj(add(mul(y, y), 1))); }};
};

struct Asin {
    static constexpr OpText text{
        .schema = "asin(Tensor self)",
        .node = "AsinBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kElementwise,
        .domain = "unit",
        .doc = "The inverse sine (arcsin) in radians, between -pi/2 and pi/2; NaN outside [-1, 1].",
        .example =
            ">>> torch.asin(torch.tensor([-1.0, 0.0, 1.0]))\n"
            "tensor([-1.5708,  0.0000,  1.5708])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("asin", kernels::trigonometry().asin, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), conj(rsqrt(one_minus_square(x)))); }};
};

struct Acos {
    static constexpr OpText text{
        .schema = "acos(Tensor self)",
        .node = "AcosBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kElementwise,
        .domain = "unit",
        .doc = "The inverse cosine (arccos) in radians, between 0 and pi; NaN outside [-1, 1].",
        .example =
            ">>> torch.acos(torch.tensor([1.0, 0.0, -1.0]))\n"
            "tensor([0.0000, 1.5708, 3.1416])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("acos", kernels::trigonometry().acos, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return neg(mul(std::move(g), conj(rsqrt(one_minus_square(x))))); }};
};

struct Atan {
    static constexpr OpText text{.schema = "atan(Tensor self)",
                                 .node = "AtanBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "The inverse tangent (arctan) in radians, between -pi/2 and pi/2.",
                                 .example =
                                     ">>> torch.atan(torch.tensor([-1.0, 0.0, float(\"inf\")]))\n"
                                     "tensor([-0.7854,  0.0000,  1.5708])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("atan", kernels::trigonometry().atan, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return div(std::move(g), conj(add(mul(x, x), 1))); }};
};

// The larger of |x| and |y|, as a number to divide by; 1 where it is infinite.
Tensor scale_of(const Tensor& x, const Tensor& y) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    const Tensor larger = maximum(abs(x), abs(y));
    return masked_fill(larger, compare(kEq, larger, std::numeric_limits<double>::infinity()), 1.0);
}

// g * x / (x * x + y * y), of x and y over the larger one, whose squares do not leave their range. The quotient is the
// same for any such scale, so that need not be differentiated. At the origin, which has no angle, it is 0 by
// convention; its own derivative is NaN there, because the quotient that `where` leaves out is not made harmless.
Tensor over_square_radius(const Tensor& g, const Tensor& x, const Tensor& y) {
    const Tensor scale = scale_of(x, y), a = div(x, scale), b = div(y, scale);
    return where(compare(kEq, scale, 0), zero(), div(mul(g, div(a, add(mul(a, a), mul(b, b)))), scale));
}

struct Atan2 {
    static constexpr OpText text{.schema = "atan2(Tensor self, Tensor other)",
                                 .node = "Atan2Backward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "nonzero",
                                 .doc =
                                     "The angle of the point (x, y) = (other, self) in radians, between -pi and pi: "
                                     "arctan(self / other) in the right quadrant.",
                                 .example =
                                     ">>> torch.atan2(torch.tensor([1.0, -1.0]), torch.tensor([-1.0, 0.0]))\n"
                                     "tensor([ 2.3562, -1.5708])"};
    static void forward(const Tensor& y, const Tensor& x, Tensor& out) {
        binary("atan2", kernels::division().atan2, y, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> y, In<1> x) { return over_square_radius(g, x, y); },
        [](const Tensor& g, In<0> y, In<1> x) { return neg(over_square_radius(g, y, x)); },
    };
};

}  // namespace

Tensor sin(const Tensor& x) { return run<Sin>(x); }
Tensor cos(const Tensor& x) { return run<Cos>(x); }

static const Register<Sin, Cos, Tan, Asin, Acos, Atan, Atan2> trigonometry_operations;

}  // namespace clew
