// Comparisons and tests of single values: the results are bool and have no history. Written in place over floating
// values they are step functions: their rules give zeros.

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr std::uint32_t kComparisonFlags = kBoth | kInPlace | kOutArgument | kNonDifferentiable | kAnyDType;

// A whole number that the tensor's dtype cannot hold is no less a number: it is compared in 64 bits, not wrapped.
Tensor wide_beside(const Tensor& x, const Tensor& other) {
    const bool beyond = other->has(TensorObject::kWrappedNumber) && other.dtype() == DType::Int64 &&
                        is_integral(x.dtype()) && !fits(number_in(other), x.dtype());
    return beyond ? converted(x, DType::Int64) : x;
}

#define CLEW_COMPARISON(Name, name, symbol, shown)                                                           \
    struct Name {                                                                                            \
        static constexpr OpText text{.schema = #name "(Operand self, Operand other)",                        \
                                     .node = #Name "Backward1",                                              \
                                     .number_node = #Name "Backward0",                                       \
                                     .operators = "__" #name "__",                                           \
                                     .flags = kComparisonFlags,                                              \
                                     .derivative = "elementwise",                                            \
                                     .domain = "real",                                                       \
                                     .doc = "self " symbol " other, element by element, as bool.",           \
                                     .example = shown};                                                      \
        static void forward(const Tensor& a, const Tensor& b, Tensor& out) {                                 \
            binary(#name, kernels::compare().name, wide_beside(a, b), wide_beside(b, a), out, Result::Bool); \
        }                                                                                                    \
        static constexpr auto rules = std::tuple{&zeros_like, &zeros_like};                                  \
    }
CLEW_COMPARISON(Eq, eq, "==",
                ">>> torch.eq(torch.tensor([1, 2]), torch.tensor([1, 3]))\n"
                "tensor([ True, False])");
CLEW_COMPARISON(Ne, ne, "!=",
                ">>> torch.ne(torch.tensor([1, 2]), torch.tensor([1, 3]))\n"
                "tensor([False,  True])");
CLEW_COMPARISON(Lt, lt, "<", ">>> torch.lt(torch.tensor([1, 2]), 2)\ntensor([ True, False])");
CLEW_COMPARISON(Le, le, "<=", ">>> torch.le(torch.tensor([1, 2, 3]), 2)\ntensor([ True,  True, False])");
CLEW_COMPARISON(Gt, gt, ">", ">>> torch.gt(torch.tensor([1, 2, 3]), 2)\ntensor([False, False,  True])");
CLEW_COMPARISON(Ge, ge, ">=", ">>> torch.ge(torch.tensor([1, 2, 3]), 2)\ntensor([False,  True,  True])");
#undef CLEW_COMPARISON

#define CLEW_TEST(Name, name, what, shown)                                            \
    struct Name {                                                                     \
        static constexpr OpText text{.schema = #name "(Tensor self)",                 \
                                     .flags = kBoth | kNonDifferentiable | kAnyDType, \
                                     .derivative = "elementwise",                     \
                                     .domain = "real",                                \
                                     .doc = "True where the element is " what ".",    \
                                     .example = shown};                               \
        static void forward(const Tensor& x, Tensor& out) {                           \
            unary(#name, kernels::compare().name, x, out, Result::Bool);              \
        }                                                                             \
    }
CLEW_TEST(IsNan, isnan, "NaN",
          ">>> torch.isnan(torch.tensor([1.0, float(\"inf\"), float(\"nan\")]))\n"
          "tensor([False, False,  True])");
CLEW_TEST(IsInf, isinf, "inf or -inf",
          ">>> torch.isinf(torch.tensor([1.0, float(\"-inf\"), float(\"nan\")]))\n"
          "tensor([False,  True, False])");
CLEW_TEST(IsFinite, isfinite, "neither infinite nor NaN",
          ">>> torch.isfinite(torch.tensor([1.0, float(\"inf\"), float(\"nan\")]))\n"
          "tensor([ True, False, False])");
#undef CLEW_TEST

}  // namespace

Tensor compare(Comparison which, const Tensor& a, const Tensor& b) {
    switch (which) {
        case kEq:
            return run<Eq>(a, b);
        case kNe:
            return run<Ne>(a, b);
        case kLt:
            return run<Lt>(a, b);
        case kLe:
            return run<Le>(a, b);
        case kGt:
            return run<Gt>(a, b);
        case kGe:
            break;
    }
    return run<Ge>(a, b);
}
Tensor compare(Comparison which, const Tensor& a, double b) { return compare(which, a, number(b, DType::Float64)); }
Tensor is_finite(const Tensor& x) { return run<IsFinite>(x); }

static const Register<Eq, Ne, Lt, Le, Gt, Ge, IsNan, IsInf, IsFinite> compare_operations;

}  // namespace clew
