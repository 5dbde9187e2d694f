// Powers and roots.
#include <cmath>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

// The two derivatives of x ** y, and theirs. At a base of 0 the formulas multiply 0 by infinity: each derivative has
// its own limit there, and those that have none are infinite or NaN. Of the first ones, PyTorch's convention: the
// exponent's is 0 at 0 ** 0, too.
// x^(y - 1) (1 + y log(x)), which goes to 0 with x for an exponent above 1
Tensor mixed_slope(const Tensor& x, const Tensor& y) {
    const Tensor vanishes = logical_and(compare(kEq, x, 0), compare(kGt, real(y), 1));
    const Tensor base = where(vanishes, one(), x);
    return where(vanishes, zero(), conj(mul(pow(base, add(y, -1)), add(mul(y, log(base)), 1))));
}

struct PowByBase {
    static constexpr OpText text{.schema = "_pow_by_base(Tensor grad_output, Tensor self, Tensor exponent)",
                                 .node = "PowByBaseBackward0",
                                 .flags = kHidden,
                                 .domain = "positive"};
    // y x^(y - 1), where an exponent of 0 makes a constant of the power.
    static void forward(const Tensor& g, const Tensor& x, const Tensor& y, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        out = where(compare(kEq, y, 0), zero(), mul(g, conj(mul(y, pow(x, add(y, -1))))));
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, In<2> y) { return conj(run<PowByBase>(conj(gg), x, y)); },
        [](const Tensor& gg, In<0> g, In<1> x, In<2> y) {
            const Tensor factor = mul(y, add(y, -1)), straight = compare(kEq, factor, 0);
            const Tensor bend = mul(factor, pow(where(straight, one(), x), add(y, -2)));
            return where(straight, zero(), mul(mul(conj(gg), g), conj(bend)));
        },
        [](const Tensor& gg, In<0> g, In<1> x, In<2> y) { return mul(mul(conj(gg), g), mixed_slope(x, y)); },
    };
};

struct PowByExponent {
    static constexpr OpText text{
        .schema = "_pow_by_exponent(Tensor grad_output, Tensor self, Tensor exponent, Tensor result)",
        .node = "PowByExponentBackward0",
        .flags = kHidden,
        .domain = "unsampled, 'result must be the power of the two before it'"};
    // x^y log(x), and 0 at a base of 0 where the power stays finite.
    static void forward(const Tensor& g, const Tensor& x, const Tensor& y, const Tensor& power, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        const Tensor flat = logical_and(compare(kEq, x, 0), compare(kGe, real(y), 0));
        const Tensor base = cast(x, power.dtype());  // the logarithm of an integer would be float32
        out = where(flat, zero(), mul(g, conj(mul(power, log(where(flat, one(), base))))));
    }
    // The derivatives by base and exponent are whole: the power is no variable of its own.
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, In<2> y, In<3> power) { return conj(run<PowByExponent>(conj(gg), x, y, power)); },
        [](const Tensor& gg, In<0> g, In<1> x, In<2> y) { return mul(mul(conj(gg), g), mixed_slope(x, y)); },
        [](const Tensor& gg, In<0> g, In<1> x, In<2> y, In<3> power) {
            const Tensor vanishes = logical_and(compare(kEq, x, 0), compare(kGt, real(y), 0));
            const Tensor logarithm = log(where(vanishes, one(), cast(x, power->dtype())));
            return mul(mul(conj(gg), g), conj(mul(power, mul(logarithm, logarithm))));
        },
        nullptr,
    };
};

struct Pow {
    static constexpr OpText text{.schema = "pow.Tensor(Tensor self, Tensor exponent)",
                                 .node = "PowBackward1",
                                 .operators = "__pow__",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "positive",
                                 .doc = "self ** exponent, element by element.",
                                 .example =
                                     ">>> torch.pow(torch.tensor([2.0, 3.0]), torch.tensor([3.0, 2.0]))\n"
                                     "tensor([8., 9.])"};
    static void forward(const Tensor& x, const Tensor& y, Tensor& out) {
        binary("pow", kernels::division().pow, x, y, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> x, In<1> y) { return run<PowByBase>(g, x, y); },
        [](const Tensor& g, In<0> x, In<1> y, Out<> power) { return run<PowByExponent>(g, x, y, power); },
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
        .flags = kHidden | kNonDifferentiable | kAnyDType,
        .domain = "grad_output=real(a, b), self=positive(a, b), exponent=3",
        .doc = "grad_output * exponent * self ** (exponent - 1) for an exponent of 2, 3 or 4."};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        parametric("pow", kernels::parametric().power_slope, {attrs.exponent.real}, std::array{g, x}, out);
    }
};

struct PowNumber {
    using Attrs = ExponentAttrs;
    static constexpr auto fields = std::tuple{&Attrs::exponent};
    static constexpr OpText text{
        .schema = "pow.Scalar(Tensor self, Scalar exponent)",
        .node = "PowBackward0",
        .operators = "__pow__",
        .flags = kBoth | kInPlace | kOutArgument | kElementwise,
        .domain = "positive, exponent=3; positive, exponent=-0.5",
        .doc = "self ** exponent for one number. Integers to a negative integer: RuntimeError.",
        .example = ">>> torch.pow(torch.tensor([1.0, 2.0, 3.0]), 2)\ntensor([1., 4., 9.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (x.dtype() == DType::Float32 && std::abs(attrs.exponent.real) > 0x1p24 &&
            std::abs(std::fmod(attrs.exponent.real, 2)) == 1) {
            // float32 has no odd numbers of that size, and would lose the sign of powers of negative numbers.
            const Parameter even(attrs.exponent.real - 1);
            Tensor power;
            parametric("pow", kernels::parametric().pow, {even}, Tensors(&x, 1), power);
            return binary("pow", kernels::arithmetic().mul, power, x, out);
        }
        if (is_inexact(x.dtype()) && fits(attrs.exponent, x.dtype())) {
            parametric("pow", kernels::parametric().pow, {rounded_beside(x, attrs.exponent)}, Tensors(&x, 1), out);
            return;
        }
        const Tensor base = converted_beside(x, {attrs.exponent});
        if (is_integral(base.dtype()) && attrs.exponent.real < 0)
            fail(ErrorKind::Runtime,
                 "pow: Integers to negative integer powers are not allowed. Got %s to the power of %lld; cast the base "
                 "to "
                 "a floating dtype",
                 dtype_name(x.dtype()), static_cast<long long>(attrs.exponent.integer));
        Scalar exponent = attrs.exponent;
        // To a floating power that the dtype has not, as to an infinite one.
        if (is_floating(base.dtype()) && !fits(exponent, base.dtype()))
            exponent = Scalar::of(std::copysign(std::numeric_limits<double>::infinity(), exponent.real));
        parametric("pow", kernels::parametric().pow, {exponent}, Tensors(&base, 1), out);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x, const Attrs& attrs) {
        const double y = attrs.exponent.real;
        if (attrs.exponent.kind == Scalar::Complex || is_complex(x->dtype())) {
            const Tensor exponent = number(attrs.exponent);
            return where(compare(kEq, exponent, 0), zero(), mul(g, conj(mul(exponent, pow(x, sub(exponent, one()))))));
        }
        if (y == 0) return zeros_like(g);
        // Under create_graph the last powers depend on x, too, though their derivative is 0: so that it can be asked
        // for.
        if (y == 1 && !grad_enabled()) return std::move(g);
        if ((y == 2 || y == 3 || y == 4) && !differentiates()) return run_over<PowerSlope>(&attrs, std::move(g), x);
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
                                 .flags = kBoth | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "self=1.5, exponent=real(a, b)",
                                 .doc = "One number to the powers of a tensor.",
                                 .example = ">>> torch.pow(2, torch.tensor([0.0, 1.0, 3.0]))\ntensor([1., 2., 8.])"};
    static void forward(const Tensor& y, const Attrs& attrs, Tensor& out) {
        const Tensor base = number(attrs.self);
        if (!out) out = empty(Layout::make(y.sizes()), result_dtype(std::array{base, y}));  // row-major, as PyTorch's
        binary("pow", kernels::division().pow, base, y, out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> y, Out<> power, const Attrs& attrs) {
        const double base = attrs.self.real;
        if (attrs.self.kind == Scalar::Complex || is_complex(y->dtype()) || (base < 0 && is_complex(power->dtype())))
            return mul(g, conj(mul(power, log(cast(number(attrs.self), complex_dtype(power->dtype()))))));
        if (base != 0) return mul(g, conj(mul(power, std::log(base))));
        return run<PowByExponent>(g, number(0, power->dtype()), y, power);
    }};
};

struct Square {
    static constexpr OpText text{.schema = "square(Tensor self)",
                                 .node = "PowBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "real",
                                 .doc = "self².",
                                 .example = ">>> torch.square(torch.tensor([-2.0, 3.0]))\ntensor([4., 9.])"};
    static void forward(const Tensor& x, Tensor& out) {
        const Tensor base = x.dtype() == DType::Bool ? converted(x, DType::Int64) : x;
        unary("square", kernels::unary().square, base, out);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g, In<0> x) { return mul(std::move(g), conj(mul(x, 2))); }};
};

struct Sqrt {
    static constexpr OpText text{.schema = "sqrt(Tensor self)",
                                 .node = "SqrtBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "positive",
                                 .doc = "The square root; NaN below 0. The gradient at 0 is inf.",
                                 .example =
                                     ">>> torch.sqrt(torch.tensor([4.0, 2.0, -1.0]))\n"
                                     "tensor([2.0000, 1.4142,    nan])"};
    static void forward(const Tensor& x, Tensor& out) { unary("sqrt", kernels::unary().sqrt, x, out, Result::Float); }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> root) { return div(std::move(g), conj(mul(root, 2))); }};
};

struct Rsqrt {
    static constexpr OpText text{.schema = "rsqrt(Tensor self)",
                                 .node = "RsqrtBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "positive",
                                 .doc = "1 / sqrt(self); inf at 0, NaN below.",
                                 .example = ">>> torch.rsqrt(torch.tensor([4.0, 0.25]))\ntensor([0.5000, 2.0000])"};
    static void forward(const Tensor& x, Tensor& out) { unary("rsqrt", kernels::unary().rsqrt, x, out, Result::Float); }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Out<> inverse) { return mul(mul(std::move(g), -0.5), conj(pow(inverse, 3))); }};
};

struct Reciprocal {
    static constexpr OpText text{.schema = "reciprocal(Tensor self)",
                                 .node = "ReciprocalBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise,
                                 .domain = "nonzero",
                                 .doc = "1 / self.",
                                 .example = ">>> torch.reciprocal(torch.tensor([2.0, 0.5]))\ntensor([0.5000, 2.0000])"};
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
