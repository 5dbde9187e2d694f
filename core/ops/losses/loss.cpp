// Losses that compare element by element.
#include "core/ops/losses/loss.h"

#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/forward/dual_level.h"
#include "core/ops/functions.h"
#include "core/ops/reduction/reduction.h"

namespace clew {

void check_reduction(const char* op, std::int64_t reduction) {
    if (reduction < kNone || reduction > kSum)
        fail(ErrorKind::Value, "%s: expected reduction to be 0 (none), 1 (mean) or 2 (sum), got %lld", op,
             static_cast<long long>(reduction));
}

void need_no_gradient(const char* op, const char* argument, const Tensor& x) {
    if (x && asks_for_derivative(x))
        fail(ErrorKind::Runtime,
             "%s: The function '%s' is not differentiable with respect to argument '%s'. This input cannot have "
             "requires_grad True, nor a tangent; detach() it",
             op, op, argument);
}

Tensor gradient_of_each(const Tensor& g, std::int64_t reduction, std::initializer_list<const Tensor*> operands) {
    if (reduction == kNone) return g;
    Dims sizes;
    for (const Tensor* operand : operands)
        if (*operand) sizes = broadcast_sizes(sizes, operand->sizes(), "loss");
    const double count = static_cast<double>(std::max<std::int64_t>(count_elements(sizes), 1));
    const Tensor each = reduction == kMean ? div(g, count) : g;
    return same_sizes(sizes, (*operands.begin())->sizes()) ? each : expand(each, sizes);
}

namespace {

struct ReductionAttrs {
    std::int64_t reduction;
};

// The same reduction by operations that record themselves.
Tensor reduced(const Tensor& loss, std::int64_t reduction) {
    return reduction == kNone ? loss : reduction == kMean ? mean(loss) : sum(loss);
}

// What a mean divided by, for its gradient: of a loss without elements that is empty too, and must not become 0 / 0.
double divisor(std::int64_t reduction, std::int64_t count) {
    return reduction == kMean ? static_cast<double>(std::max<std::int64_t>(count, 1)) : 1;
}

// Rules subtract what the forward has converted.
Tensor difference_of(const Tensor& input, const Tensor& target, DType dtype) {
    return sub(cast(input, dtype), cast(target, dtype));
}

Tensor mse_gradient(const Tensor& g, const Tensor& input, const Tensor& target, std::int64_t reduction) {
    const Tensor difference = difference_of(input, target, g.dtype());
    return mul(difference, mul(g, 2 / divisor(reduction, difference.numel())));
}

struct MseLoss {
    using Attrs = ReductionAttrs;
    static constexpr auto fields = std::tuple{&Attrs::reduction};
    static constexpr OpText text{
        .schema = "mse_loss(Tensor self, Tensor target, int reduction=1)",
        .node = "MseLossBackward0",
        .flags = kFunction | kOutArgument,
        .domain = "real; real, reduction=0",
        .doc = "The squared error (self - target)². reduction: 0 none, 1 mean, 2 sum.",
        .example =
            ">>> torch.nn.functional.mse_loss(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0]))\n"
            "tensor(5.)"};
    static void forward(const Tensor& input, const Tensor& target, const Attrs& attrs, Tensor& out) {
        check_reduction("mse_loss", attrs.reduction);
        Tensor difference;
        binary("mse_loss", kernels::arithmetic().sub, input, target, difference);
        if (!is_floating(difference.dtype()))
            fail(ErrorKind::NotImplemented, "mse_loss: not implemented for dtype %s; cast the input first",
                 dtype_name(difference.dtype()));
        if (attrs.reduction == kNone) {
            unary("mse_loss", kernels::unary().square, difference, out);
            return;
        }
        out = reduce_axes(kernels::ReduceKind::SumSquares, difference, all_axes(difference), false);
        if (attrs.reduction == kMean) scale_in_place(out, static_cast<double>(difference.numel()));
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> input, In<1> target, const Attrs& attrs) {
            return mse_gradient(g, input, target, attrs.reduction);
        },
        [](const Tensor& g, In<0> input, In<1> target, const Attrs& attrs) {
            return mse_gradient(g, target, input, attrs.reduction);
        },
    };
};

struct L1Loss {
    using Attrs = ReductionAttrs;
    static constexpr auto fields = std::tuple{&Attrs::reduction};
    static constexpr OpText text{
        .schema = "l1_loss(Tensor self, Tensor target, int reduction=1)",
        .flags = kFunction | kComposite | kOutArgument,
        .domain =
            "self=distinct(a, b), target=distinct(a, b) + 0.05; self=distinct(a, b), "
            "target=distinct(a, b) + 0.05, reduction=0",
        .doc = "The absolute error |self - target|. reduction: 0 none, 1 mean, 2 sum.",
        .example =
            ">>> torch.nn.functional.l1_loss(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 2.0]))\n"
            "tensor(2.)"};
    static void forward(const Tensor& input, const Tensor& target, const Attrs& attrs, Tensor& out) {
        check_reduction("l1_loss", attrs.reduction);
        broadcast_sizes(input.sizes(), target.sizes(), "l1_loss");
        out = reduced(abs(sub(input, target)), attrs.reduction);
    }
};

// What both have in common: a loss of the difference whose derivative by it is limited on both sides. As in PyTorch,
// huber_loss has the input's dtype, smooth_l1_loss the one that both inputs promote to.
struct DifferenceAttrs {
    std::int64_t reduction;
    double corner;
};
void loss_of_difference(const char* op, ParamTable loops, const Tensor& input, const Tensor& target,
                        const DifferenceAttrs& attrs, std::optional<DType> of_loss, Tensor& out) {
    check_reduction(op, attrs.reduction);
    Tensor difference, loss;
    binary(op, kernels::arithmetic().sub, input, target, difference);
    parametric(op, loops, {attrs.corner}, Tensors(&difference, 1), loss);
    const DType dtype = of_loss.value_or(loss.dtype());
    if (!can_cast(loss.dtype(), dtype))
        fail(ErrorKind::Runtime, "%s: result type %s can't be cast to the desired output type %s; cast the input", op,
             dtype_name(loss.dtype()), dtype_name(dtype));
    loss = converted(loss, dtype);
    if (attrs.reduction == kNone) {
        out = loss;
        return;
    }
    out = reduce_axes(kernels::ReduceKind::Sum, loss, all_axes(loss), false);
    if (attrs.reduction == kMean) scale_in_place(out, static_cast<double>(loss.numel()));
}
// The difference, limited: the derivative of Huber's loss, and `corner` times that of smooth_l1.
Tensor limited_gradient(const Tensor& g, const Tensor& input, const Tensor& target, const DifferenceAttrs& attrs,
                        double scale) {
    const Tensor difference = difference_of(input, target, g.dtype());
    return mul(hardtanh(difference, -attrs.corner, attrs.corner),
               mul(g, scale / divisor(attrs.reduction, difference.numel())));
}

struct HuberLoss {
    struct Attrs : DifferenceAttrs {};
    static constexpr auto fields = std::tuple{&Attrs::reduction, &Attrs::corner};
    static constexpr OpText text{
        .schema = "huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.0)",
        .node = "HuberLossBackward0",
        .flags = kFunction | kOutArgument,
        .domain = "real",
        .doc =
            "d² / 2 where |d| < delta, else delta * (|d| - delta / 2), for d = self - target. reduction: 0 none, 1 "
            "mean, 2 sum.",
        .example =
            ">>> torch.nn.functional.huber_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction=\"none\")\n"
            "tensor([0.1250, 2.5000])"};
    static void forward(const Tensor& input, const Tensor& target, const Attrs& attrs, Tensor& out) {
        if (!(attrs.corner > 0))
            fail(ErrorKind::Runtime, "huber_loss: huber_loss does not support non-positive values for delta, got %g",
                 attrs.corner);
        loss_of_difference("huber_loss", kernels::activation().huber, input, target, attrs, input.dtype(), out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> input, In<1> target, const Attrs& attrs) {
            return limited_gradient(g, input, target, attrs, 1);
        },
        [](const Tensor& g, In<0> input, In<1> target, const Attrs& attrs) {
            return limited_gradient(g, target, input, attrs, 1);
        },
    };
};

struct SmoothL1Loss {
    struct Attrs : DifferenceAttrs {};
    static constexpr auto fields = std::tuple{&Attrs::reduction, &Attrs::corner};
    static constexpr OpText text{
        .schema = "smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.0)",
        .node = "SmoothL1LossBackward0",
        .flags = kFunction | kOutArgument,
        .domain = "real",
        .doc =
            "d² / (2 beta) where |d| < beta, else |d| - beta / 2, for d = self - target. reduction: 0 none, 1 mean, 2 "
            "sum.",
        .example =
            ">>> torch.nn.functional.smooth_l1_loss(torch.tensor([0.5, 3.0]), torch.zeros(2), reduction=\"none\")\n"
            "tensor([0.1250, 2.5000])"};
    static void forward(const Tensor& input, const Tensor& target, const Attrs& attrs, Tensor& out) {
        if (!(attrs.corner > 0))
            fail(ErrorKind::Runtime,
                 "smooth_l1_loss: smooth_l1_loss does not support negative values for beta, got %g; for 0 use l1_loss",
                 attrs.corner);
        loss_of_difference("smooth_l1_loss", kernels::activation().smooth_l1, input, target, attrs, std::nullopt, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> input, In<1> target, const Attrs& attrs) {
            return limited_gradient(g, input, target, attrs, 1 / attrs.corner);
        },
        [](const Tensor& g, In<0> input, In<1> target, const Attrs& attrs) {
            return limited_gradient(g, target, input, attrs, 1 / attrs.corner);
        },
    };
};

Tensor binary_without_history(Table loops, const Tensor& a, const Tensor& b) {
    Tensor out;
    binary("binary_cross_entropy_with_logits", loops, a, b, out);
    return out;
}

struct BinaryCrossEntropyWithLogits {
    using Attrs = ReductionAttrs;
    static constexpr auto fields = std::tuple{&Attrs::reduction};
    static constexpr OpText text{
        .schema =
            "binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? "
            "pos_weight=None, int reduction=0)",
        .node = "BinaryCrossEntropyWithLogitsBackward0",
        .flags = kFunction,
        .domain =
            "self=real(a, b), target=fraction(a, b); self=real(a, b), target=fraction(a, b), "
            "weight=constant(positive(b)), pos_weight=constant(positive(b)), reduction=2",
        .doc =
            "-weight * (pos_weight * target * log(p) + (1 - target) * log(1 - p)) with p = sigmoid(self), computed so "
            "that large logits neither overflow nor lose digits. reduction: 0 none, 1 mean, 2 sum.",
        .example =
            ">>> torch.binary_cross_entropy_with_logits(torch.tensor([0.0, 100.0]), torch.tensor([1.0, 0.0]))\n"
            "tensor([  0.6931, 100.0000])"};
    // (1 - t) x - (1 + (pos_weight - 1) t) log(sigmoid(x))
    static void forward(const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& pos_weight,
                        const Attrs& attrs, Tensor& out) {
        constexpr const char* op = "binary_cross_entropy_with_logits";
        check_reduction(op, attrs.reduction);
        if (!same_sizes(x.sizes(), target.sizes()))
            fail(ErrorKind::Runtime, "%s: Target size (%s) must be the same as input size (%s)", op,
                 shape_text(target.sizes()).c_str(), shape_text(x.sizes()).c_str());
        if (!is_floating(x.dtype()) || !is_floating(target.dtype()))
            fail(ErrorKind::Runtime,
                 "%s: result type Float can't be cast to the desired output type: expected floating input and target, "
                 "got %s and %s",
                 op, dtype_name(x.dtype()), dtype_name(target.dtype()));
        const auto& arithmetic = kernels::arithmetic();
        const Tensor unit = one();
        Tensor log_probability;
        unary(op, kernels::activation().logsigmoid, x, log_probability);
        if (pos_weight) {
            const Tensor extra = binary_without_history(
                arithmetic.mul, binary_without_history(arithmetic.sub, pos_weight, unit), target);
            log_probability = binary_without_history(arithmetic.mul, log_probability,
                                                     binary_without_history(arithmetic.add, extra, unit));
        }
        const Tensor linear =
            binary_without_history(arithmetic.mul, binary_without_history(arithmetic.sub, unit, target), x);
        Tensor loss = binary_without_history(arithmetic.sub, linear, log_probability);
        if (weight) loss = binary_without_history(arithmetic.mul, loss, weight);
        if (attrs.reduction == kNone) {
            out = loss;
            return;
        }
        out = reduce_axes(kernels::ReduceKind::Sum, loss, all_axes(loss), false);
        if (attrs.reduction == kMean) scale_in_place(out, static_cast<double>(loss.numel()));
    }
    static Tensor weighted(const Tensor& g, const Tensor& x, const Tensor& weight, const Tensor& pos_weight,
                           const Attrs& attrs) {
        const Tensor each = gradient_of_each(g, attrs.reduction, {&x, &weight, &pos_weight});
        return weight ? mul(each, weight) : each;
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<0> x, In<1> target, In<2> weight, In<3> pos_weight, const Attrs& attrs) {
            const Tensor p = sigmoid(x), each = weighted(g, x, weight, pos_weight, attrs);
            if (!*pos_weight) return mul(sub(p, target), each);
            const Tensor positive = mul(pos_weight, target);
            return mul(sub(mul(add(positive, sub(one(), target)), p), positive), each);
        },
        // log(1 - p) is log(sigmoid(-x)), and log(p) - x.
        [](const Tensor& g, In<0> x, In<2> weight, In<3> pos_weight, const Attrs& attrs) {
            const Tensor each = weighted(g, x, weight, pos_weight, attrs);
            if (!*pos_weight) return neg(mul(x, each));
            return mul(sub(logsigmoid(neg(x)), mul(pos_weight, logsigmoid(x))), each);
        },
        // The loss before it is weighted.
        [](const Tensor& g, In<0> x, In<1> target, In<2> weight, In<3> pos_weight, const Attrs& attrs) {
            const Tensor log_probability = logsigmoid(x), linear = mul(sub(one(), target), x);
            const Tensor positive = *pos_weight ? add(mul(sub(pos_weight, one()), target), one()) : Tensor();
            const Tensor loss = sub(linear, positive ? mul(log_probability, positive) : log_probability);
            return mul(loss, gradient_of_each(g, attrs.reduction, {&*x, &*weight, &*pos_weight}));
        },
        [](const Tensor& g, In<0> x, In<1> target, In<2> weight, In<3> pos_weight, const Attrs& attrs) {
            return neg(mul(mul(target, logsigmoid(x)), weighted(g, x, weight, pos_weight, attrs)));
        },
    };
};

}  // namespace

static const Register<MseLoss, L1Loss, HuberLoss, SmoothL1Loss, BinaryCrossEntropyWithLogits> loss_operations;

}  // namespace clew
