// Truth values and bits. Written in place over floating values they are step functions: their rules give zeros.
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr std::uint32_t kLogicalFlags = kBoth | kInPlace | kOutArgument | kNonDifferentiable | kAnyDType;

#define CLEW_LOGICAL(Name, name, what, shown)                                       \
    struct Name {                                                                   \
        static constexpr OpText text{.schema = #name "(Tensor self, Tensor other)", \
                                     .node = #Name "Backward0",                     \
                                     .flags = kLogicalFlags,                        \
                                     .derivative = "elementwise",                   \
                                     .domain = "mask",                              \
                                     .doc = "True where " what " nonzero.",         \
                                     .example = shown};                             \
        static void forward(const Tensor& a, const Tensor& b, Tensor& out) {        \
            binary(#name, kernels::compare().name, a, b, out, Result::Bool);        \
        }                                                                           \
        static constexpr auto rules = std::tuple{&zeros_like, &zeros_like};         \
    }
CLEW_LOGICAL(LogicalAnd, logical_and, "both are",
             ">>> torch.logical_and(torch.tensor([True, True]), torch.tensor([1, 0]))\n"
             "tensor([ True, False])");
CLEW_LOGICAL(LogicalOr, logical_or, "at least one is",
             ">>> torch.logical_or(torch.tensor([True, False]), torch.tensor([0, 0]))\n"
             "tensor([ True, False])");
CLEW_LOGICAL(LogicalXor, logical_xor, "exactly one is",
             ">>> torch.logical_xor(torch.tensor([True, True]), torch.tensor([1, 0]))\n"
             "tensor([False,  True])");
#undef CLEW_LOGICAL

struct LogicalNot : ZeroGradient {
    static constexpr OpText text{.schema = "logical_not(Tensor self)",
                                 .node = "LogicalNotBackward0",
                                 .flags = kLogicalFlags,
                                 .derivative = "elementwise",
                                 .domain = "mask",
                                 .doc = "True where the element is zero.",
                                 .example = ">>> torch.logical_not(torch.tensor([0, 2]))\ntensor([ True, False])"};
    static void forward(const Tensor& x, Tensor& out) {
        unary("logical_not", kernels::compare().logical_not, x, out, Result::Bool);
    }
};

#define CLEW_BITWISE(Name, name, table, symbols, what, shown)                                                   \
    struct Name {                                                                                               \
        static constexpr OpText text{.schema = #name "(Operand self, Operand other)",                           \
                                     .operators = symbols,                                                      \
                                     .flags = kLogicalFlags,                                                    \
                                     .derivative = "elementwise",                                               \
                                     .domain = "self=integer(a, b), other=index(4, a, b)",                      \
                                     .doc = what,                                                               \
                                     .example = shown};                                                         \
        static void forward(const Tensor& a, const Tensor& b, Tensor& out) { binary(#name, table, a, b, out); } \
    }
CLEW_BITWISE(BitwiseAnd, bitwise_and, kernels::arithmetic().bitwise_and, "__and__ __rand__",
             "Bitwise AND of integers; of bools logical and.",
             ">>> torch.bitwise_and(torch.tensor([12, 10]), 6)\ntensor([4, 2])");
CLEW_BITWISE(BitwiseOr, bitwise_or, kernels::arithmetic().bitwise_or, "__or__ __ror__",
             "Bitwise OR of integers; of bools logical or.",
             ">>> torch.bitwise_or(torch.tensor([12, 10]), 6)\ntensor([14, 14])");
CLEW_BITWISE(BitwiseXor, bitwise_xor, kernels::arithmetic().bitwise_xor, "__xor__ __rxor__",
             "Bitwise exclusive OR of integers; of bools inequality.",
             ">>> torch.bitwise_xor(torch.tensor([12, 10]), 6)\ntensor([10, 12])");
CLEW_BITWISE(
    LeftShift, bitwise_left_shift, kernels::division().shift_left, "__lshift__",
    "self * 2 ** other on integers: the bits of self shifted to the left by other; bits that leave the dtype are lost.",
    ">>> torch.bitwise_left_shift(torch.tensor([1, 3]), torch.tensor([4, 1]))\n"
    "tensor([16,  6])");
CLEW_BITWISE(RightShift, bitwise_right_shift, kernels::division().shift_right, "__rshift__",
             "Arithmetic shift: the bits of integers self shifted to the right by other, floor(self / 2 ** other); the "
             "sign is kept.",
             ">>> torch.bitwise_right_shift(torch.tensor([16, -5]), 1)\ntensor([ 8, -3])");
#undef CLEW_BITWISE

struct BitwiseNot {
    static constexpr OpText text{.schema = "bitwise_not(Tensor self)",
                                 .operators = "__invert__",
                                 .flags = kLogicalFlags | kOutAlike,
                                 .derivative = "elementwise",
                                 .domain = "integer",
                                 .doc = "Bitwise NOT of integers, -self - 1 for signed ones; of bools logical not.",
                                 .example = ">>> torch.bitwise_not(torch.tensor([0, 5, -1]))\ntensor([-1, -6,  0])"};
    static void forward(const Tensor& x, Tensor& out) { unary("bitwise_not", kernels::unary().bitwise_not, x, out); }
};

}  // namespace

Tensor logical_and(const Tensor& a, const Tensor& b) { return run<LogicalAnd>(a, b); }
Tensor logical_or(const Tensor& a, const Tensor& b) { return run<LogicalOr>(a, b); }
Tensor logical_not(const Tensor& x) { return run<LogicalNot>(x); }

static const Register<LogicalAnd, LogicalOr, LogicalXor, LogicalNot, BitwiseAnd, BitwiseOr, BitwiseXor, LeftShift,
                      RightShift, BitwiseNot>
    logical_operations;

}  // namespace clew
