// Truth values and bits. Written in place over floating values they are step functions: their rules give zeros.
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr std::uint32_t kLogicalFlags = kBoth | kInPlace | kOutArgument | kNonDifferentiable | kAnyDType;

#define CLEW_LOGICAL(Name, name, what)                                              \
    struct Name {                                                                   \
        static constexpr OpText text{.schema = #name "(Tensor self, Tensor other)", \
                                     .node = #Name "Backward0",                     \
                                     .flags = kLogicalFlags,                        \
                                     .domain = "mask",                              \
                                     .doc = "Whether " what " nonzero, as bool."};  \
        static void forward(const Tensor& a, const Tensor& b, Tensor& out) {        \
            binary(#name, kernels::compare().name, a, b, out, Result::Bool);        \
        }                                                                           \
        static constexpr auto rules = std::tuple{&zeros_like, &zeros_like};         \
    }
CLEW_LOGICAL(LogicalAnd, logical_and, "both are");
CLEW_LOGICAL(LogicalOr, logical_or, "at least one is");
CLEW_LOGICAL(LogicalXor, logical_xor, "exactly one is");
#undef CLEW_LOGICAL

struct LogicalNot {
    static constexpr OpText text{.schema = "logical_not(Tensor self)",
                                 .node = "LogicalNotBackward0",
                                 .flags = kLogicalFlags,
                                 .domain = "mask",
                                 .doc = "Whether each element is zero, as bool."};
    static void forward(const Tensor& x, Tensor& out) {
        unary("logical_not", kernels::compare().logical_not, x, out, Result::Bool);
    }
    static constexpr auto rules = std::tuple{&zeros_like};
};

#define CLEW_BITWISE(Name, name, table, symbols, what)                                                          \
    struct Name {                                                                                               \
        static constexpr OpText text{.schema = #name "(Operand self, Operand other)",                           \
                                     .operators = symbols,                                                      \
                                     .flags = kLogicalFlags,                                                    \
                                     .domain = "self=integer(a, b), other=index(4, a, b)",                      \
                                     .doc = what};                                                              \
        static void forward(const Tensor& a, const Tensor& b, Tensor& out) { binary(#name, table, a, b, out); } \
    }
CLEW_BITWISE(BitwiseAnd, bitwise_and, kernels::arithmetic().bitwise_and, "__and__ __rand__",
             "The bits that both have; on bool, logical and.");
CLEW_BITWISE(BitwiseOr, bitwise_or, kernels::arithmetic().bitwise_or, "__or__ __ror__",
             "The bits that at least one has; on bool, logical or.");
CLEW_BITWISE(BitwiseXor, bitwise_xor, kernels::arithmetic().bitwise_xor, "__xor__ __rxor__",
             "The bits that exactly one has; on bool, inequality.");
CLEW_BITWISE(LeftShift, bitwise_left_shift, kernels::division().shift_left, "__lshift__",
             "The bits of self moved up by other places.");
CLEW_BITWISE(RightShift, bitwise_right_shift, kernels::division().shift_right, "__rshift__",
             "The bits of self moved down by other places; the sign stays.");
#undef CLEW_BITWISE

struct BitwiseNot {
    static constexpr OpText text{.schema = "bitwise_not(Tensor self)",
                                 .operators = "__invert__",
                                 .flags = kLogicalFlags | kOutAlike,
                                 .domain = "integer",
                                 .doc = "All bits flipped; on bool, logical not."};
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
