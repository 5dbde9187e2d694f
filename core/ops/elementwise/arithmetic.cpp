// The four operations, negation.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

struct AlphaAttrs {
    Scalar alpha;
};
bool is_one(const Scalar& alpha) { return alpha.kind == Scalar::Int && alpha.integer == 1; }
void check_alpha(const char* op, const Scalar& alpha, const Tensor& a, const Tensor& b) {
    const DType dtype = result_dtype(std::array{a, b});
    if (alpha.kind == Scalar::Complex && !is_complex(dtype))
        fail(ErrorKind::Runtime, "%s: For non-complex input tensors, argument alpha must not be a complex number.", op);
    if (alpha.kind == Scalar::Float && is_integral(dtype))
        fail(ErrorKind::Runtime,
             "%s: For integral input tensors, argument alpha must not be a floating point number; got %g for a result "
             "of dtype %s",
             op, alpha.real, dtype_name(dtype));
    if (alpha.kind == Scalar::Bool && dtype != DType::Bool)
        fail(ErrorKind::Runtime,
             "%s: Boolean alpha only supported for Boolean results; got one for a result of dtype %s", op,
             dtype_name(dtype));
}

struct Add {
    using Attrs = AlphaAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha};
    static constexpr OpText text{
        .schema = "add(Operand self, Operand other, *, Scalar alpha=1)",
        .node = "AddBackward0",
        .operators = "__add__ __radd__",
        .flags = kBoth | kInPlace | kOutArgument | kElementwise | kTakesNumber,
        .domain = "real; real, alpha=3",
        .doc = "self + alpha * other.",
        .example =
            ">>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([[10.0], [20.0]]), alpha=2)\n"
            "tensor([[21., 22.],\n"
            "        [41., 42.]])"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        if (is_one(attrs.alpha)) return binary("add", kernels::arithmetic().add, a, b, out);
        check_alpha("add", attrs.alpha, a, b);
        if (is_exactly(attrs.alpha, 1)) return binary("add", kernels::arithmetic().add, a, b, out);
        parametric("add", kernels::parametric().add_scaled, {attrs.alpha}, std::array{a, b}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        [](const Tensor& g, const Attrs& attrs) { return scaled(g, attrs.alpha); },
    };
};

struct Sub {
    using Attrs = AlphaAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha};
    static constexpr OpText text{
        .schema = "sub(Operand self, Operand other, *, Scalar alpha=1)",
        .node = "SubBackward0",
        .operators = "__sub__",
        .flags = kBoth | kInPlace | kOutArgument | kElementwise | kTakesNumber,
        .domain = "real; real, alpha=3",
        .doc = "self - alpha * other. Not for bool.",
        .example =
            ">>> torch.sub(torch.tensor([1.0, 2.0]), torch.tensor([[10.0], [20.0]]), alpha=2)\n"
            "tensor([[-19., -18.],\n"
            "        [-39., -38.]])"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        if (a.dtype() == DType::Bool || b.dtype() == DType::Bool)
            fail(
                ErrorKind::Runtime,
                "sub: Subtraction, the `-` operator, with %s is not supported; use `~`, `^` or logical_xor, or cast to "
                "a number first",
                a.dtype() == b.dtype() ? "two bool tensors" : "a bool tensor");
        if (is_one(attrs.alpha)) return binary("sub", kernels::arithmetic().sub, a, b, out);
        check_alpha("sub", attrs.alpha, a, b);
        if (is_exactly(attrs.alpha, 1)) return binary("sub", kernels::arithmetic().sub, a, b, out);
        parametric("sub", kernels::parametric().sub_scaled, {attrs.alpha}, std::array{a, b}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        [](const Tensor& g, const Attrs& attrs) { return scaled(g, negated(attrs.alpha)); },
    };
};

struct Mul {
    static constexpr OpText text{.schema = "mul(Operand self, Operand other)",
                                 .node = "MulBackward0",
                                 .operators = "__mul__ __rmul__",
                                 .flags = kBoth | kInPlace | kOutArgument | kElementwise | kTakesNumber,
                                 .domain = "real",
                                 .doc = "self * other.",
                                 .example =
                                     ">>> torch.mul(torch.tensor([1.0, 2.0]), torch.tensor([[10.0], [20.0]]))\n"
                                     "tensor([[10., 20.],\n"
                                     "        [20., 40.]])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        binary("mul", kernels::arithmetic().mul, a, b, out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<1> b) { return mul(std::move(g), conj(b)); },
        [](Tensor&& g, In<0> a) { return mul(std::move(g), conj(a)); },
    };
};

struct Div {
    static constexpr OpText text{
        .schema = "div(Operand self, Operand other)",
        .node = "DivBackward0",
        .operators = "__truediv__",
        .flags = kBoth | kInPlace | kOutArgument | kElementwise | kTakesNumber,
        .domain = "nonzero",
        .doc = "self / other, true division. Integers are divided as float32 (the default dtype).",
        .example = ">>> torch.div(torch.tensor([1, 3]), 2)\ntensor([0.5000, 1.5000])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        binary("div", kernels::arithmetic().div, a, b, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<1> b) { return div(std::move(g), conj(b)); },
        [](Tensor&& g, In<0> a, In<1> b) { return neg(mul(std::move(g), conj(div(div(a, b), b)))); },
    };
};

// Rounded, it is a step function, so its derivative is 0.
struct DivRounded {
    struct Attrs {
        std::optional<Text> rounding_mode;
    };
    static constexpr auto fields = std::tuple{&Attrs::rounding_mode};
    static constexpr OpText text{.schema = "div.Tensor_mode(Operand self, Operand other, *, str? rounding_mode)",
                                 .node = "DivBackward2",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "nonzero, rounding_mode='floor'; nonzero, rounding_mode='trunc'; nonzero",
                                 .doc =
                                     "self / other rounded: rounding_mode 'floor' toward -inf (Python's //), 'trunc' "
                                     "toward 0 (C's /), None not at all. Rounded quotients of integers are integers; "
                                     "integers by 0 raise RuntimeError. The gradient of a rounded one is 0.",
                                 .example =
                                     ">>> torch.div(torch.tensor([-7, 7]), 2, rounding_mode=\"floor\")\n"
                                     "tensor([-4,  3])"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        attrs.rounding_mode ? rounded_quotient(a, b, *attrs.rounding_mode, out) : Div::forward(a, b, out);
    }
    static Saves saves(std::uint64_t needs, const Attrs& attrs) {
        return {.inputs = attrs.rounding_mode ? 0u : needs & 2 ? 3u : 2u, .outputs = 0};
    }
    static void backward(BackwardCall& call) {
        const Tensor& g = call.incoming[0];
        const bool rounds = attributes_of<Attrs>(call).rounding_mode.has_value();
        if (call.needs(0))
            call.results[0] = rounds ? zeros_like(g) : std::get<0>(Div::rules)(Tensor(g), {saved_input(call, 1)});
        if (call.needs(1))
            call.results[1] = rounds
                                  ? zeros_like(g)
                                  : std::get<1>(Div::rules)(Tensor(g), {saved_input(call, 0)}, {saved_input(call, 1)});
    }
};

// Of a number, which has no derivative: PyTorch's node has one edge then.
struct RsubNumber {
    using Attrs = AlphaAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha};
    static constexpr OpText text{.schema = "_rsub(Tensor self, Operand other, *, Scalar alpha=1)",
                                 .node = "RsubBackward1",
                                 .operators = "__rsub__",
                                 .flags = kHidden | kTakesNumber,
                                 .derivative = "elementwise",
                                 .domain = "real, other=2.5; real, other=2, alpha=3"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        Sub::forward(b, a, attrs, out);
    }
    static Tensor gradient(const Tensor& g, const Attrs& attrs) { return scaled(g, negated(attrs.alpha)); }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, const Attrs& attrs) { return gradient(g, attrs); }, nullptr};
};

struct Rsub {
    using Attrs = AlphaAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha};
    static constexpr OpText text{.schema = "rsub(Tensor self, Tensor other, *, Scalar alpha=1)",
                                 .node = "RsubBackward0",
                                 .flags = kFunction,
                                 .derivative = "elementwise",
                                 .domain = "real; real, alpha=3",
                                 .doc = "other - alpha * self: what `1 - x` calls.",
                                 .example =
                                     ">>> torch.rsub(torch.tensor([1.0, 2.0]), torch.tensor([10.0, 10.0]))\n"
                                     "tensor([9., 8.])"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        Sub::forward(b, a, attrs, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, const Attrs& attrs) { return RsubNumber::gradient(g, attrs); },
        [](const Tensor& g) { return g; },
    };
};
struct RsubScalar {
    using Attrs = AlphaAttrs;
    static constexpr auto fields = std::tuple{&Attrs::alpha};
    static constexpr OpText text{.schema = "rsub.Scalar(Tensor self, Operand other, *, Scalar alpha=1)",
                                 .flags = kFunction | kComposite,
                                 .derivative = "elementwise",
                                 .domain = "real, other=2.5; real, other=2, alpha=3",
                                 .doc = "other - alpha * self, for a number.",
                                 .example = ">>> torch.rsub(torch.tensor([1.0, 2.0]), 1)\ntensor([ 0., -1.])"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        out = run<RsubNumber>(attrs, a, b);
    }
};

struct Rdiv {
    static constexpr OpText text{.schema = "_rdiv(Tensor self, Operand other)",
                                 .operators = "__rtruediv__",
                                 .flags = kHidden | kComposite | kTakesNumber,
                                 .domain = "nonzero"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) { out = mul(reciprocal(a), b); }
};

struct Neg {
    static constexpr OpText text{.schema = "neg(Tensor self)",
                                 .node = "NegBackward0",
                                 .operators = "__neg__",
                                 .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kElementwise,
                                 .domain = "real",
                                 .doc = "-self. Not for bool.",
                                 .example = ">>> torch.neg(torch.tensor([1.0, -2.0]))\ntensor([-1.,  2.])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (x.dtype() == DType::Bool)
            fail(ErrorKind::Runtime,
                 "neg: Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a "
                 "mask, use the `~` or `logical_not()` operator instead.");
        unary("neg", kernels::unary().neg, x, out);
    }
    static constexpr auto rules = std::tuple{[](Tensor&& g) { return neg(std::move(g)); }};
};

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) { return run<Add>(AlphaAttrs{Scalar::of(std::int64_t{1})}, a, b); }
Tensor sub(const Tensor& a, const Tensor& b) { return run<Sub>(AlphaAttrs{Scalar::of(std::int64_t{1})}, a, b); }
Tensor mul(const Tensor& a, const Tensor& b) { return run<Mul>(a, b); }
Tensor div(const Tensor& a, const Tensor& b) { return run<Div>(a, b); }
Tensor mul(const Tensor& a, double b) { return mul(a, number(b, DType::Float64)); }
Tensor add(const Tensor& a, double b) { return add(a, number(b, DType::Float64)); }
Tensor div(const Tensor& a, const Tensor& b, const Text& rounding_mode) {
    return run<DivRounded>({rounding_mode}, a, b);
}
Tensor div(const Tensor& a, double b) { return div(a, number(b, DType::Float64)); }
Tensor neg(const Tensor& x) { return run<Neg>(x); }
Tensor scaled(const Tensor& g, const Scalar& factor) {
    if (factor.kind == Scalar::Complex) return mul(g, number(Scalar::of(factor.real, -factor.imag)));
    return factor.real == 1 ? g : factor.real == -1 ? neg(g) : mul(g, factor.real);
}
Tensor mul(Tensor&& donated, const Tensor& b) { return run_over<Mul>(std::move(donated), b); }
Tensor div(Tensor&& donated, const Tensor& b) { return run_over<Div>(std::move(donated), b); }
Tensor mul(Tensor&& donated, double b) { return mul(std::move(donated), number(b, DType::Float64)); }
Tensor div(Tensor&& donated, double b) { return div(std::move(donated), number(b, DType::Float64)); }
Tensor neg(Tensor&& donated) { return run_over<Neg>(std::move(donated)); }

void mul_in_place(const Tensor& self, const Tensor& other) {
    const Tensor inputs[] = {self, other};
    apply_in_place(definition<Mul>(), inputs, nullptr);
}

static const Register<Add, Sub, RsubNumber, Rsub, RsubScalar, Mul, Div, DivRounded, Rdiv, Neg> arithmetic_operations;

}  // namespace clew
