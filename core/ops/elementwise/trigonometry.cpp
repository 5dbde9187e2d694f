// Angles: trigonometric functions and their inverses.
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
                                 .doc = "The sine of an angle in radians."};
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
                                 .doc = "The cosine of an angle in radians."};
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
                                 .doc = "The tangent of an angle in radians."};
    static void forward(const Tensor& x, Tensor& out) {
        unary("tan", kernels::trigonometry().tan, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> y) { return mul(std::move(g), conj(add(mul(y, y), 1))); }};
};

struct Asin {
    static constexpr OpText text{.schema = "asin(Tensor self)",
                                 .node = "AsinBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "unit",
                                 .doc = "The angle between -pi/2 and pi/2 with this sine."};
    static void forward(const Tensor& x, Tensor& out) {
        unary("asin", kernels::trigonometry().asin, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), conj(rsqrt(one_minus_square(x)))); }};
};

struct Acos {
    static constexpr OpText text{.schema = "acos(Tensor self)",
                                 .node = "AcosBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "unit",
                                 .doc = "The angle between 0 and pi with this cosine."};
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
                                 .doc = "The angle between -pi/2 and pi/2 with this tangent."};
    static void forward(const Tensor& x, Tensor& out) {
        unary("atan", kernels::trigonometry().atan, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return div(std::move(g), conj(add(mul(x, x), 1))); }};
};

// g * x / (x * x + y * y). At the origin, which has no angle, it is 0 by convention; its own derivative is NaN there,
// because the quotient that `where` leaves out is not made harmless.
Tensor over_square_radius(const Tensor& g, const Tensor& x, const Tensor& y) {
    const Tensor radius = add(mul(x, x), mul(y, y));
    return where(compare(kEq, radius, 0), number(0, DType::Float64), mul(g, div(x, radius)));
}

struct Atan2 {
    static constexpr OpText text{.schema = "atan2(Tensor self, Tensor other)",
                                 .node = "Atan2Backward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .derivative = "elementwise",
                                 .domain = "nonzero",
                                 .doc = "The angle of the point (other, self), between -pi and pi."};
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
