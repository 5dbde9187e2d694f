// Cross entropy of two classes, from probabilities.
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/losses/loss.h"

namespace clew {
namespace {

template <class T>
bool all_probabilities(const Tensor& x) {
    const T* values = x.data_as<T>();
    bool all = true;
    for (std::int64_t i = 0; i < x.numel(); ++i) all &= values[i] >= T(0) && values[i] <= T(1);
    return all;
}

// The logarithm, cut off at -100: a probability of 0 costs much, but not everything.
Tensor bounded(const Tensor& log) { return maximum(log, number(-100, DType::Float64)); }
Tensor one_minus(const Tensor& x) { return add(neg(x), 1); }

struct BinaryCrossEntropy {
    struct Attrs {
        std::int64_t reduction;
    };
    static constexpr auto fields = std::tuple{&Attrs::reduction};
    static constexpr OpText text{
        .schema = "binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1)",
        .node = "BinaryCrossEntropyBackward0",
        .flags = kFunction,
        .domain =
            "self=fraction(a, b), target=fraction(a, b); self=fraction(a, b), target=fraction(a, b), "
            "weight=constant(positive(b)), reduction=2; fraction, "
            "weight=None, reduction=0",
        .doc =
            "-weight * (target * log(self) + (1 - target) * log(1 - self)) for probabilities self in [0, 1]; "
            "logarithms below -100 count as -100. reduction: 0 none, 1 mean, 2 sum.",
        .example =
            ">>> p, target = torch.tensor([0.9, 0.2]), torch.tensor([1.0, 0.0])\n"
            ">>> torch.nn.functional.binary_cross_entropy(p, target, reduction=\"none\")\n"
            "tensor([0.1054, 0.2231])"};
    static Tensor unweighted(const Tensor& p, const Tensor& target) {
        const Tensor without = mul(bounded(log1p(neg(p))), one_minus(target));
        return neg(add(mul(bounded(log(p)), target), without));
    }
    static void forward(const Tensor& p, const Tensor& target, const Tensor& weight, const Attrs& attrs, Tensor& out) {
        constexpr const char* op = "binary_cross_entropy";
        check_reduction(op, attrs.reduction);
        if (!same_sizes(p.sizes(), target.sizes()))
            fail(ErrorKind::Value,
                 "%s: Using a target size (%s) that is different to the input size (%s) is deprecated. Please ensure "
                 "they have the same size.",
                 op, shape_text(target.sizes()).c_str(), shape_text(p.sizes()).c_str());
        if (!is_floating(p.dtype()))
            fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; cast the input first", op,
                 dtype_name(p.dtype()));
        for (const Tensor* other : {&target, &weight})
            if (*other && other->dtype() != p.dtype())
                fail(ErrorKind::Runtime, "%s: Found dtype %s but expected %s; cast target and weight to the input's",
                     op, dtype_name(other->dtype()), dtype_name(p.dtype()));
        for (const auto& [tensor, what] : {std::pair{&p, "input"}, std::pair{&target, "target"}}) {
            if (kernels_skipped()) break;
            const Tensor dense = as_contiguous(*tensor);
            if (!(p.dtype() == DType::Float32 ? all_probabilities<float>(dense) : all_probabilities<double>(dense)))
                fail(ErrorKind::Runtime,
                     "%s: all elements of %s should be between 0 and 1; for logits use "
                     "binary_cross_entropy_with_logits",
                     op, what);
        }
        const ModeGuard guard(kNoGrad | kInBackward, true);
        Tensor loss = unweighted(p, target);
        if (weight) loss = mul(std::move(loss), weight);
        out = attrs.reduction == kNone ? loss : attrs.reduction == kMean ? mean(loss) : sum(loss);
    }
    static Tensor weighted(const Tensor& g, const Tensor& p, const Tensor& weight, const Attrs& attrs) {
        const Tensor each = gradient_of_each(g, attrs.reduction, {&p, &weight});
        return weight ? mul(each, weight) : each;
    }
    static constexpr auto rules = std::tuple{
        // (p - t) / (p (1 - p)), where the divisor is cut off at 1e-12.
        [](const Tensor& g, In<0> p, In<1> target, In<2> weight, const Attrs& attrs) {
            const Tensor variance = maximum(mul(one_minus(p), p), number(1e-12, DType::Float64));
            return mul(div(sub(p, target), variance), weighted(g, p, weight, attrs));
        },
        [](const Tensor& g, In<0> p, In<2> weight, const Attrs& attrs) {
            return mul(sub(bounded(log1p(neg(p))), bounded(log(p))), weighted(g, p, weight, attrs));
        },
        [](const Tensor& g, In<0> p, In<1> target, In<2> weight, const Attrs& attrs) {
            return mul(unweighted(p, target), gradient_of_each(g, attrs.reduction, {&*p, &*weight}));
        },
    };
};

}  // namespace

static const Register<BinaryCrossEntropy> binary_cross_entropy_operations;

}  // namespace clew
