// Division that rounds, and what it leaves over.
#include "core/base/error.h"
#include "core/kernels/memory/index.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

// Integers have no infinity to give, so dividing them by zero is an error, with PyTorch's type and word.
void check_divisor(const char* op, const Tensor& a, const Tensor& b) {
    if (kernels_skipped()) return;
    const Tensor inputs[] = {a, b};
    const DType dtype = result_dtype(inputs);
    if (is_floating(dtype) || dtype == DType::Bool || a.numel() == 0) return;  // of bools no loop knows it
    const Tensor divisor = converted(b, dtype);                                // 256 is 0 as a uint8
    if (kernels::count_nonzero(divisor.view()) != divisor.numel())
        fail(ErrorKind::Runtime,
             "ZeroDivisionError: %s: expected a divisor without zeros, as both are integers; mask the zeros, or cast "
             "to a floating dtype",
             op);
}

void divide(const char* op, Table loops, const Tensor& a, const Tensor& b, Tensor& out) {
    check_divisor(op, a, b);
    binary(op, loops, a, b, out);
}

struct FloorDivide {
    static constexpr OpText text{.schema = "floor_divide(Operand self, Operand other)",
                                 .node = "torch::autograd::NotImplemented",
                                 .operators = "__floordiv__",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "nonzero",
                                 .doc =
                                     "floor(self / other), Python's //; integers stay integers, and raise RuntimeError "
                                     "for 0. It has no derivative: backward raises.",
                                 .example = ">>> torch.floor_divide(torch.tensor([-7, 7]), 2)\ntensor([-4,  3])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        divide("floor_divide", kernels::division().floor_divide, a, b, out);
    }
    static Tensor refuse(const Tensor&) {
        fail(ErrorKind::Runtime,
             "derivative for aten::floor_divide is not implemented; use div(rounding_mode=\"floor\"), whose gradient "
             "is 0, "
             "or detach() the result");
    }
    static constexpr auto rules = std::tuple{&refuse, &refuse};
    static constexpr std::uint64_t constants = 0b11;  // edges that lead nowhere are not shown
};

// self = quotient * other + rest, and the quotient is constant between jumps.
struct Remainder {
    static constexpr OpText text{
        .schema = "remainder.Tensor(Operand self, Tensor other)",
        .node = "RemainderBackward1",
        .operators = "__mod__",
        .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero",
        .doc =
            "The remainder of division rounded down (Python's %): self - floor(self / other) * other, with the sign of "
            "other. Integers stay integers, and raise RuntimeError for 0.",
        .example =
            ">>> torch.remainder(torch.tensor([-7, 7]), torch.tensor([3, -3]))\n"
            "tensor([ 2, -2])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        divide("remainder", kernels::division().remainder, a, b, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        [](const Tensor& g, In<0> a, In<1> b) { return neg(mul(g, div(*a, *b, Text("floor")))); },
    };
};

struct Fmod {
    static constexpr OpText text{
        .schema = "fmod.Tensor(Tensor self, Tensor other)",
        .node = "FmodBackward1",
        .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
        .derivative = "elementwise",
        .domain = "nonzero",
        .doc =
            "The remainder of division truncated toward 0 (C's fmod): self - trunc(self / other) * other, with the "
            "sign of self. Integers stay integers, and raise RuntimeError for 0.",
        .example =
            ">>> torch.fmod(torch.tensor([-7, 7]), torch.tensor([3, -3]))\n"
            "tensor([-1,  1])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        divide("fmod", kernels::division().fmod, a, b, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        [](const Tensor& g, In<0> a, In<1> b) { return neg(mul(g, div(*a, *b, Text("trunc")))); },
    };
};

// By one number: nothing is saved.
#define CLEW_BY_NUMBER(Name, name, Node, symbols, what)                                    \
    struct Name {                                                                          \
        struct Attrs {                                                                     \
            Scalar other;                                                                  \
        };                                                                                 \
        static constexpr auto fields = std::tuple{&Attrs::other};                          \
        static constexpr OpText text{.schema = #name ".Scalar(Tensor self, Scalar other)", \
                                     .node = Node,                                         \
                                     .operators = symbols,                                 \
                                     .flags = kBoth | kInPlace | kOutArgument | kAnyDType, \
                                     .derivative = "elementwise",                          \
                                     .domain = "nonzero, other=1.9",                       \
                                     .doc = what};                                         \
        static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {            \
            divide(#name, kernels::division().name, x, number(attrs.other), out);          \
        }                                                                                  \
        static constexpr auto rules = std::tuple{[](const Tensor& g) { return g; }};       \
    }
CLEW_BY_NUMBER(RemainderNumber, remainder, "RemainderBackward0", "__mod__",
               "The remainder of division by a number, rounded down; it has the sign of other.");
CLEW_BY_NUMBER(FmodNumber, fmod, "FmodBackward0", "",
               "The remainder of division by a number, truncated toward 0; it has the sign of self.");
#undef CLEW_BY_NUMBER

}  // namespace

void rounded_quotient(const Tensor& a, const Tensor& b, const Text& mode, Tensor& out) {
    if (mode == "floor")
        divide("div", kernels::division().floor_divide, a, b, out);
    else if (mode == "trunc")
        divide("div", kernels::division().trunc_divide, a, b, out);
    else
        fail(ErrorKind::Runtime, "div: expected rounding_mode to be one of None, 'trunc', or 'floor' but found '%s'",
             mode.data);
}

static const Register<FloorDivide, Remainder, RemainderNumber, Fmod, FmodNumber> division_operations;

}  // namespace clew
