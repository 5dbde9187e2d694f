// The larger and the smaller of two.
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

// The gradient of the one that is `mine`: all where it won, half where both are equal, none where it `lost` (kLt
// or kGt).
Tensor share(const Tensor& g, const Tensor& mine, const Tensor& other, Comparison lost) {
    const Tensor unless_equal = where(compare(lost, mine, other), zero(), g);
    return where(compare(kEq, mine, other), mul(g, 0.5), unless_equal);
}

struct Maximum {
    static constexpr OpText text{
        .schema = "maximum(Tensor self, Tensor other)",
        .node = "MaximumBackward0",
        .flags = kBoth | kOutArgument,
        .derivative = "elementwise",
        .domain = "self=distinct(a, b), other=distinct(a, b) + 0.05",
        .doc = "max(self, other), element by element. NaN propagates; equal elements share the gradient.",
        .example =
            ">>> torch.maximum(torch.tensor([1.0, 7.0]), torch.tensor([2.0, 2.0]))\n"
            "tensor([2., 7.])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        binary("maximum", kernels::arithmetic().maximum, a, b, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> a, In<1> b) { return share(g, a, b, kLt); },
        [](const Tensor& g, In<0> a, In<1> b) { return share(g, b, a, kLt); },
    };
};

struct Minimum {
    static constexpr OpText text{
        .schema = "minimum(Tensor self, Tensor other)",
        .node = "MinimumBackward0",
        .flags = kBoth | kOutArgument,
        .derivative = "elementwise",
        .domain = "self=distinct(a, b), other=distinct(a, b) + 0.05",
        .doc = "min(self, other), element by element. NaN propagates; equal elements share the gradient.",
        .example =
            ">>> torch.minimum(torch.tensor([1.0, 7.0]), torch.tensor([2.0, 2.0]))\n"
            "tensor([1., 2.])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        binary("minimum", kernels::arithmetic().minimum, a, b, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> a, In<1> b) { return share(g, a, b, kGt); },
        [](const Tensor& g, In<0> a, In<1> b) { return share(g, b, a, kGt); },
    };
};

}  // namespace

Tensor maximum(const Tensor& a, const Tensor& b) { return run<Maximum>(a, b); }
Tensor minimum(const Tensor& a, const Tensor& b) { return run<Minimum>(a, b); }

static const Register<Maximum, Minimum> extremum_operations;

}  // namespace clew
