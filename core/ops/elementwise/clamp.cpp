// Limits.
#include <cmath>
#include <limits>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Where x keeps its value, the limits included; nowhere if the lower limit is above the upper one.
Tensor between(const Tensor& x, const Tensor& low, const Tensor& high) {
    if (!low) return compare(kLe, x, high);
    if (!high) return compare(kGe, x, low);
    return logical_and(compare(kGe, x, low), compare(kLe, x, high));
}

void need_a_limit(bool given) {
    if (!given) fail(ErrorKind::Runtime, "clamp: At least one of 'min' or 'max' must not be None");
}

struct Clamp {
    static constexpr OpText text{.schema = "clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None)",
                                 .node = "ClampBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain =
                                     "self=distinct(a, b), min=distinct(a, b) - 1.05, max=distinct(a, b) + 0.95; "
                                     "self=distinct(a, b), min=distinct(a, b) - 0.05",
                                 .doc =
                                     "min(max(self, min), max) with bounds for each element; None is no bound. The "
                                     "gradient passes where self is within the bounds, to a bound elsewhere.",
                                 .example =
                                     ">>> torch.clamp(torch.tensor([-2.0, 5.0]), min=torch.tensor([-1.0, 6.0]))\n"
                                     "tensor([-1.,  6.])"};
    static void forward(const Tensor& x, const Tensor& low, const Tensor& high, Tensor& out) {
        need_a_limit(low || high);
        if (!high) return binary("clamp", kernels::arithmetic().maximum, x, low, out);
        if (!low) return binary("clamp", kernels::arithmetic().minimum, x, high, out);
        if (x.dtype() == DType::Bool)
            fail(ErrorKind::NotImplemented, "clamp: not implemented for dtype bool; cast the input first");
        ternary("clamp", kernels::ternary().clamp, std::array{x, low, high}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> x, In<1> low, In<2> high) { return where(between(x, low, high), g, zero()); },
        [](const Tensor& g, In<0> x, In<1> low, In<2> high) {
            const Tensor below = compare(kLt, x, low);
            return where(*high ? logical_and(below, compare(kLt, low, high)) : below, g, zero());
        },
        [](const Tensor& g, In<0> x, In<1> low, In<2> high) {
            const Tensor above = compare(kGt, x, high);
            return where(*low ? logical_or(above, compare(kLt, high, low)) : above, g, zero());
        },
    };
};

struct ClampNumbers {
    struct Attrs {
        std::optional<Scalar> min, max;
    };
    static constexpr auto fields = std::tuple{&Attrs::min, &Attrs::max};
    static constexpr OpText text{.schema = "clamp(Tensor self, Scalar? min=None, Scalar? max=None)",
                                 .node = "ClampBackward1",
                                 .flags = kBoth | kInPlace | kOutArgument | kOutAlike,
                                 .derivative = "elementwise",
                                 .domain = "distinct, min=-0.75, max=0.75; distinct, max=0.75",
                                 .doc =
                                     "min(max(self, min), max); None is no bound. Where min > max the result is max. "
                                     "The gradient passes where self is within the bounds.",
                                 .example =
                                     ">>> torch.clamp(torch.tensor([-2.0, 0.5, 3.0]), min=-1, max=1)\n"
                                     "tensor([-1.0000,  0.5000,  1.0000])"};
    static void clamp(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const bool floating = is_floating(x.dtype());
        const Scalar low = floating ? Scalar::of(-kInfinity) : lowest(x.dtype());
        const Scalar high = floating ? Scalar::of(kInfinity) : highest(x.dtype());
        parametric("clamp", kernels::parametric().clamp, {attrs.min.value_or(low), attrs.max.value_or(high)},
                   Tensors(&x, 1), out);
    }
    // Then nothing is between the limits.
    static bool is_nan(const Attrs& attrs) {
        return (attrs.min && std::isnan(attrs.min->real)) || (attrs.max && std::isnan(attrs.max->real));
    }
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        need_a_limit(attrs.min || attrs.max);
        const Scalar& some = attrs.min ? *attrs.min : *attrs.max;
        const Tensor wide = converted_beside(x, {some, attrs.max ? *attrs.max : some});
        clamp(wide, attrs, out);
        if (is_nan(attrs)) kernels::fill(out.view(), std::numeric_limits<double>::quiet_NaN());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, const Attrs& attrs) {
        if (!attrs.max) return where(compare(kGe, x, attrs.min->real), g, zero());
        if (!attrs.min) return where(compare(kLe, x, attrs.max->real), g, zero());
        if (attrs.min->real > attrs.max->real || is_nan(attrs)) return zeros_like(g);
        // What the limits leave as it is lies between them: one comparison in place of two.
        return where(compare(kEq, x, run<ClampNumbers>(attrs, *x)), g, zero());
    }};
};

#define CLEW_LIMIT(Name, name, limit, Node, loop, keeps, replaced, what, shown, shown_number)                    \
    struct Name {                                                                                                \
        static constexpr OpText text{.schema = #name ".Tensor(Tensor self, Tensor " #limit ")",                  \
                                     .node = Node "1",                                                           \
                                     .flags = kBoth | kInPlace | kOutArgument,                                   \
                                     .derivative = "elementwise",                                                \
                                     .domain = "self=distinct(a, b), " #limit "=distinct(a, b) - 0.05",          \
                                     .doc = what ", element by element.",                                        \
                                     .example = shown};                                                          \
        static void forward(const Tensor& x, const Tensor& limit, Tensor& out) {                                 \
            binary(#name, kernels::arithmetic().loop, x, limit, out);                                            \
        }                                                                                                        \
        static constexpr auto rules = std::tuple{                                                                \
            [](const Tensor& g, In<0> x, In<1> limit) { return where(compare(keeps, x, limit), g, zero()); },    \
            [](const Tensor& g, In<0> x, In<1> limit) { return where(compare(replaced, x, limit), g, zero()); }, \
        };                                                                                                       \
    };                                                                                                           \
    struct Name##Number {                                                                                        \
        struct Attrs {                                                                                           \
            Scalar limit;                                                                                        \
        };                                                                                                       \
        static constexpr auto fields = std::tuple{&Attrs::limit};                                                \
        static constexpr OpText text{.schema = #name "(Tensor self, Scalar " #limit ")",                         \
                                     .node = Node "0",                                                           \
                                     .flags = kBoth | kInPlace | kOutArgument | kOutAlike,                       \
                                     .derivative = "elementwise",                                                \
                                     .domain = "distinct, " #limit "=0.75",                                      \
                                     .doc = what ".",                                                            \
                                     .example = shown_number};                                                   \
        static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {                                  \
            check_fits(#name, attrs.limit, dtype_beside(x, {attrs.limit}));                                      \
            binary(#name, kernels::arithmetic().loop, x, number(attrs.limit), out);                              \
        }                                                                                                        \
        static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, const Attrs& attrs) {              \
            return where(compare(keeps, x, attrs.limit.real), g, zero());                                        \
        }};                                                                                                      \
    }
CLEW_LIMIT(ClampMin, clamp_min, min, "ClampMinBackward", maximum, kGe, kLt, "max(self, min)",
           ">>> torch.clamp_min(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0]))\n"
           "tensor([2., 4.])",
           ">>> torch.clamp_min(torch.tensor([1.0, 4.0]), 2)\ntensor([2., 4.])");
CLEW_LIMIT(ClampMax, clamp_max, max, "ClampMaxBackward", minimum, kLe, kGt, "min(self, max)",
           ">>> torch.clamp_max(torch.tensor([1.0, 4.0]), torch.tensor([2.0, 3.0]))\n"
           "tensor([1., 3.])",
           ">>> torch.clamp_max(torch.tensor([1.0, 4.0]), 2)\ntensor([1., 2.])");
#undef CLEW_LIMIT

}  // namespace

static const Register<Clamp, ClampNumbers, ClampMin, ClampMinNumber, ClampMax, ClampMaxNumber> clamp_operations;

}  // namespace clew
