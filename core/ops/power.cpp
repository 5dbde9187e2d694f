// Powers and roots.
#include <cmath>
#include <limits>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/apply.h"
#include "core/ops/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/scalar.h"

namespace clew {
namespace {

// The derivative of x ** y by x. At 0 ** 0 the power x ** (y - 1) is infinite and its factor y is 0: the exponent is
// moved out of the way there, so that neither this product nor its derivatives give NaN.
Tensor by_base(const Tensor& g, const Tensor& x, const Tensor& y) {
    const Tensor flat = logical_and(compare("eq", y, 0), logical_not(compare("gt", abs(x), 0)));
    return mul(g, conj(mul(y, pow(x, add(where(flat, number(1, DType::Float64), y), -1)))));
}
// The derivative by y: x ** y * log(x), and 0 at a base of 0 where the power stays finite.
Tensor by_exponent(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& power) {
    const Tensor flat = logical_and(compare("eq", x, 0), compare("ge", y, 0));
    const Tensor base = cast(x, power.dtype());  // the logarithm of an integer would be float32
    const Tensor slope = mul(g, conj(mul(power, log(where(flat, number(1, DType::Float64), base)))));
    return where(flat, number(0, DType::Float64), slope);
}

struct Pow {
    static constexpr OpText text{.schema = "pow.Tensor(Tensor self, Tensor exponent)",
                                 .node = "PowBackward1",
                                 .operators = "__pow__",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "positive",
                                 .doc = "self to the power of exponent, element by element."};
    static void forward(const Tensor& x, const Tensor& y, Tensor& out) {
        binary("pow", kernels::division().pow, x, y, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> x, In<1> y) { return by_base(g, x, y); },
        [](const Tensor& g, In<0> x, In<1> y, Out<> power) { return by_exponent(g, x, y, power); },
    };
};

struct ExponentAttrs {
    Scalar exponent;
};

// The derivative of small whole powers in one pass, where it need not be differentiated again.
struct PowerSlope {
    using Attrs = ExponentAttrs;
    static constexpr auto fields = std::tuple{&Attrs::exponent};
    static constexpr OpText text{
        .schema = "power_slope(Tensor grad_output, Tensor self, Scalar exponent)",
        .flags = kHidden | kNonDifferentiable,
        .doc = "grad_output * exponent * self ** (exponent - 1) for an exponent of 2, 3 or 4."};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("pow", kernels::parametric().power_slope, {attrs.exponent.real}, std::array{g, x}, out);
    }
};

struct PowNumber {
    using Attrs = ExponentAttrs;
    static constexpr auto fields = std::tuple{&Attrs::exponent};
    static constexpr OpText text{.schema = "pow.Scalar(Tensor self, Scalar exponent)",
                                 .node = "PowBackward0",
                                 .operators = "__pow__",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "positive",
                                 .doc = "self to the power of one number."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const Tensor base = converted_beside(x, {attrs.exponent});
        if (!is_floating(base.dtype()) && attrs.exponent.real < 0)
            fail(ErrorKind::Runtime,
                 "pow: Integers to negative integer powers are not allowed. Got %s to the power of %lld; cast the base "
                 "to "
                 "a floating dtype",
                 dtype_name(x.dtype()), static_cast<long long>(attrs.exponent.integer));
        parametric("pow", kernels::parametric().pow, {attrs.exponent.real}, Tensors(&base, 1), out);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x, const Attrs& attrs) {
        const double y = attrs.exponent.real;
        if (y == 0) return zeros_like(g);
        // Under create_graph the last powers depend on x, too, though their derivative is 0: so that it can be asked
        // for.
        if (y == 1 && !grad_enabled()) return std::move(g);
        if ((y == 2 || y == 3 || y == 4) && !grad_enabled()) return run_over<PowerSlope>(&attrs, std::move(g), x);
        return mul(std::move(g), conj(mul(pow(x, y - 1), y)));
    }};
};

struct PowOfNumber {
    struct Attrs {
        Scalar self;
    };
    static constexpr auto fields = std::tuple{&Attrs::self};
    static constexpr OpText text{.schema = "pow.Scalar_Tensor(Scalar self, Tensor exponent)",
                                 .node = "PowBackward2",
                                 .flags = kBoth | kOutArgument,
                                 .doc = "One number to the powers of a tensor."};
    static void forward(const Tensor& y, const Attrs& attrs, Tensor& out) {
        binary("pow", kernels::division().pow, number(attrs.self), y, out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Out<> power, const Attrs& attrs) {
        const double base = attrs.self.real;
        if (base != 0) return mul(g, conj(mul(power, std::log(base))));
        // 0 ** y is 0 or 1 with slope 0, and infinite for negative y.
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const Tensor slope =
            where(compare("gt", power, 1), number(-infinity, DType::Float64), number(0, DType::Float64));
        return mul(g, conj(mul(power, slope)));
    }};
};

struct Square {
    static constexpr OpText text{.schema = "square(Tensor self)",
                                 .node = "PowBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "real",
                                 .doc = "self * self."};
    static void forward(const Tensor& x, Tensor& out) {
        const Tensor base = x.dtype() == DType::Bool ? converted(x, DType::Int64) : x;
        unary("square", kernels::unary().square, base, out);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), conj(mul(x, 2))); }};
};

struct Sqrt {
    static constexpr OpText text{.schema = "sqrt(Tensor self)",
                                 .node = "SqrtBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "positive",
                                 .doc = "The square root; NaN below 0."};
    static void forward(const Tensor& x, Tensor& out) { unary("sqrt", kernels::unary().sqrt, x, out, Result::Float); }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> root) { return div(std::move(g), conj(mul(root, 2))); }};
};

struct Rsqrt {
    static constexpr OpText text{.schema = "rsqrt(Tensor self)",
                                 .node = "RsqrtBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "positive",
                                 .doc = "1 / sqrt(self)."};
    static void forward(const Tensor& x, Tensor& out) { unary("rsqrt", kernels::unary().rsqrt, x, out, Result::Float); }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> inverse) { return mul(mul(std::move(g), -0.5), conj(pow(inverse, 3))); }};
};

struct Reciprocal {
    static constexpr OpText text{.schema = "reciprocal(Tensor self)",
                                 .node = "ReciprocalBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument,
                                 .domain = "nonzero",
                                 .doc = "1 / self."};
    static void forward(const Tensor& x, Tensor& out) {
        unary("reciprocal", kernels::unary().reciprocal, x, out, Result::Float);
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> inverse) { return neg(mul(std::move(g), conj(mul(inverse, inverse)))); }};
};

}  // namespace

Tensor pow(const Tensor& base, double exponent) { return run<PowNumber>({Scalar::of(exponent)}, base); }
Tensor pow(const Tensor& base, const Tensor& exponent) { return run<Pow>(base, exponent); }
Tensor sqrt(const Tensor& x) { return run<Sqrt>(x); }
Tensor rsqrt(const Tensor& x) { return run<Rsqrt>(x); }
Tensor reciprocal(const Tensor& x) { return run<Reciprocal>(x); }
Tensor square(const Tensor& x) { return run<Square>(x); }

static const Register<PowerSlope, Pow, PowNumber, PowOfNumber, Square, Sqrt, Rsqrt, Reciprocal> power_operations;

}  // namespace clew
