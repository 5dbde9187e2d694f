// Absolute value, sign and rounding: piecewise linear, so their derivatives are constants.
#include <cmath>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

// Rounding leaves integers as they are.
void round_with(const char* op, Table loops, const Tensor& x, Tensor& out) {
    if (is_floating(x.dtype())) return unary(op, loops, x, out);
    if (x.dtype() == DType::Bool || is_complex(x.dtype()))
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; cast the input first", op,
             dtype_name(x.dtype()));
    if (!out) out = empty(result_layout(x.sizes(), {&x, 1}), x.dtype());
    kernels::copy(out.view(), x.view());
}

struct Abs {
    static constexpr OpText text{
        .schema = "abs(Tensor self)",
        .node = "AbsBackward0",
        .operators = "__abs__",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kElementwise,
        .domain = "nonzero",
        .doc = "The absolute value |self|; of complex numbers the modulus, which is real. The gradient at 0 is 0.",
        .example = ">>> torch.abs(torch.tensor([-2.0, 0.0, 3.0]))\ntensor([2., 0., 3.])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (is_complex(x.dtype()) && out && out.same(x))
            fail(ErrorKind::Runtime, "abs_: In-place abs is not supported for complex tensors; use abs()");
        unary("abs", kernels::unary().abs, x, out, Result::Real);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<0> x) { return is_complex(x->dtype()) ? mul(g, sgn(x)) : mul(std::move(g), sign(x)); }};
};

constexpr OpText sign_text(const char* schema, const char* node, const char* doc, const char* example) {
    return {.schema = schema,
            .node = node,
            .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
            .derivative = "elementwise",
            .domain = "nonzero",
            .doc = doc,
            .example = example};
}

struct Sign : ZeroGradient {
    static constexpr OpText text = sign_text("sign(Tensor self)", "SignBackward0",
                                             "-1, 0 or 1, as self is negative, zero or positive. The gradient is 0.",
                                             ">>> torch.sign(torch.tensor([-2.0, 0.0, 3.0]))\ntensor([-1.,  0.,  1.])");
    static void forward(const Tensor& x, Tensor& out) { unary("sign", kernels::unary().sign, x, out); }
};

struct Sgn {
    static constexpr OpText text =
        sign_text("sgn(Tensor self)", "SgnBackward0",
                  "x / |x|, and 0 at 0: -1, 0 or 1 for real tensors. The gradient of real ones is 0.",
                  ">>> torch.sgn(torch.tensor([-2.0, 0.0, 3.0]))\ntensor([-1.,  0.,  1.])");
    static void forward(const Tensor& x, Tensor& out) { unary("sgn", kernels::unary().sgn, x, out); }
    // Along the circle only: what points outward changes nothing.
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> z) {
        if (!is_complex(z->dtype())) return zeros_like(g);
        const Tensor size = abs(z), direction = sgn(z);
        const Tensor along = sub(g, mul(direction, real(mul(conj(direction), g))));
        return where(compare(kEq, size, 0), zero(), div(along, size));
    }};
};

struct Floor : ZeroGradient {
    static constexpr OpText text{
        .schema = "floor(Tensor self)",
        .node = "FloorBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero",
        .doc = "Rounds down: the largest integer that is at most self, in self's dtype. The gradient is 0.",
        .example = ">>> torch.floor(torch.tensor([-1.5, 0.2, 2.0]))\ntensor([-2.,  0.,  2.])"};
    static void forward(const Tensor& x, Tensor& out) { round_with("floor", kernels::unary().floor, x, out); }
};

struct Ceil : ZeroGradient {
    static constexpr OpText text{
        .schema = "ceil(Tensor self)",
        .node = "CeilBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero",
        .doc = "Rounds up: the smallest integer that is at least self, in self's dtype. The gradient is 0.",
        .example = ">>> torch.ceil(torch.tensor([-1.5, 0.2, 2.0]))\ntensor([-1.,  1.,  2.])"};
    static void forward(const Tensor& x, Tensor& out) { round_with("ceil", kernels::unary().ceil, x, out); }
};

struct Round : ZeroGradient {
    static constexpr OpText text{
        .schema = "round(Tensor self)",
        .node = "RoundBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero",
        .doc = "Rounds to the nearest integer, halves to the even one, in self's dtype. The gradient is 0.",
        .example = ">>> torch.round(torch.tensor([0.5, 1.5, -2.7]))\ntensor([ 0.,  2., -3.])"};
    static void forward(const Tensor& x, Tensor& out) { round_with("round", kernels::unary().round, x, out); }
};

struct RoundDecimals : ZeroGradient {
    struct Attrs {
        std::int64_t decimals;
    };
    static constexpr auto fields = std::tuple{&Attrs::decimals};
    static constexpr OpText text{
        .schema = "round.decimals(Tensor self, *, int decimals)",
        .node = "RoundBackward1",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike,
        .derivative = "elementwise",
        .domain = "nonzero, decimals=1; nonzero, decimals=-1",
        .doc = "Rounds to so many decimals; negative numbers of them round to tens, hundreds, ...",
        .example =
            ">>> torch.round(torch.tensor([3.14159, 2.71828]), decimals=2)\n"
            "tensor([3.1400, 2.7200])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        const auto &times = kernels::arithmetic().mul, &over = kernels::arithmetic().div;
        const bool behind = attrs.decimals >= 0;
        const Tensor power = number(std::pow(10.0, std::abs(static_cast<double>(attrs.decimals))), DType::Float64);
        Tensor scaled, rounded;
        binary("round", behind ? times : over, x, power, scaled);
        unary("round", kernels::unary().round, scaled, rounded);
        binary("round", behind ? over : times, rounded, power, out);
    }
};

struct Trunc : ZeroGradient {
    static constexpr OpText text{.schema = "trunc(Tensor self)",
                                 .node = "TruncBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "nonzero",
                                 .doc = "Rounds toward 0, in self's dtype. The gradient is 0.",
                                 .example = ">>> torch.trunc(torch.tensor([-1.7, 1.7]))\ntensor([-1.,  1.])"};
    static void forward(const Tensor& x, Tensor& out) { round_with("trunc", kernels::unary().trunc, x, out); }
};

}  // namespace

Tensor abs(const Tensor& x) { return run<Abs>(x); }
Tensor sign(const Tensor& x) { return run<Sign>(x); }
Tensor sgn(const Tensor& x) { return run<Sgn>(x); }

static const Register<Abs, Sign, Sgn, Floor, Ceil, Round, RoundDecimals, Trunc> rounding_operations;

}  // namespace clew
