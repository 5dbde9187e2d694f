// Comparisons and tests of single values: the results are bool and have no history. Written in place over floating
// values they are step functions: their rules give zeros.

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr std::uint32_t kComparisonFlags = kBoth | kInPlace | kOutArgument | kNonDifferentiable;

// A whole number that the tensor's dtype cannot hold is no less a number: it is compared in 64 bits, not wrapped.
Tensor wide_beside(const Tensor& x, const Tensor& other) {
    const bool beyond = other->has(TensorObject::kWrappedNumber) && other.dtype() == DType::Int64 &&
                        is_integral(x.dtype()) && !fits(number_in(other), x.dtype());
    return beyond ? converted(x, DType::Int64) : x;
}

#define CLEW_COMPARISON(Name, name, symbol)                                                                  \
    struct Name {                                                                                            \
        static constexpr OpText text{.schema = #name "(Operand self, Operand other)",                        \
                                     .node = #Name "Backward1",                                              \
                                     .number_node = #Name "Backward0",                                       \
                                     .operators = "__" #name "__",                                           \
                                     .flags = kComparisonFlags,                                              \
                                     .domain = "real",                                                       \
                                     .doc = "self " symbol " other, element by element, as bool."};          \
        static void forward(const Tensor& a, const Tensor& b, Tensor& out) {                                 \
            binary(#name, kernels::compare().name, wide_beside(a, b), wide_beside(b, a), out, Result::Bool); \
        }                                                                                                    \
        static constexpr auto rules = std::tuple{&zeros_like, &zeros_like};                                  \
    }
CLEW_COMPARISON(Eq, eq, "==");
CLEW_COMPARISON(Ne, ne, "!=");
CLEW_COMPARISON(Lt, lt, "<");
CLEW_COMPARISON(Le, le, "<=");
CLEW_COMPARISON(Gt, gt, ">");
CLEW_COMPARISON(Ge, ge, ">=");
#undef CLEW_COMPARISON

#define CLEW_TEST(Name, name, what)                                               \
    struct Name {                                                                 \
        static constexpr OpText text{.schema = #name "(Tensor self)",             \
                                     .flags = kBoth | kNonDifferentiable,         \
                                     .domain = "real",                            \
                                     .doc = "Whether each element is " what "."}; \
        static void forward(const Tensor& x, Tensor& out) {                       \
            unary(#name, kernels::compare().name, x, out, Result::Bool);          \
        }                                                                         \
    }
CLEW_TEST(IsNan, isnan, "not a number");
CLEW_TEST(IsInf, isinf, "infinite");
CLEW_TEST(IsFinite, isfinite, "neither infinite nor NaN");
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
