// Negative log likelihood of classes.
#include "core/base/error.h"
#include "core/kernels/training/loss.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/losses/loss.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

struct NllAttrs {
    std::int64_t reduction, ignore_index;
};

void need_classes(const Tensor& target) {
    if (target.dtype() != DType::Int64 && target.dtype() != DType::UInt8)
        fail(ErrorKind::Runtime,
             "nll_loss: expected target dtype to be Long or Byte (int64 or uint8), but got %s; give class indices",
             dtype_name(target.dtype()));
}

void check_shapes(const Tensor& input, const Tensor& target, const Tensor& weight) {
    const int ndim = input.ndim();
    if (ndim == 0) fail(ErrorKind::Value, "nll_loss: Expected 1 or more dimensions (got 0)");
    if (!is_floating(input.dtype()))
        fail(ErrorKind::NotImplemented, "nll_loss: not implemented for dtype %s; cast the input first",
             dtype_name(input.dtype()));
    if (ndim == 1 || (target.ndim() && input.size(0) == target.size(0))) need_no_gradient("nll_loss", "weight", weight);
    if (ndim == 1 && target.ndim() <= 1) need_classes(target);
    if (ndim <= 2 && target.ndim() > 1 && (ndim == 1 || input.size(0) == target.size(0)))
        fail(ErrorKind::Runtime, "nll_loss: 0D or 1D target tensor expected, multi-target not supported; got shape %s",
             shape_text(target.sizes()).c_str());
    if (ndim == 1 ? target.ndim() > 1 || target.numel() != 1 : target.ndim() == 0 || input.size(0) != target.size(0))
        fail(ErrorKind::Value, "nll_loss: Expected input batch_size (%lld) to match target batch_size (%lld).",
             static_cast<long long>(ndim == 1 ? 1 : input.size(0)),
             static_cast<long long>(target.ndim() ? target.size(0) : 1));
    need_classes(target);
    bool fits = ndim == 1 || target.ndim() == ndim - 1;
    for (int i = 1; fits && i < target.ndim(); ++i) fits = target.size(i) == input.size(i + 1);
    if (!fits) {
        Dims expected(input.sizes());
        expected.erase(1);
        fail(ErrorKind::Runtime,
             "nll_loss: Expected target size %s, got %s for an input of shape %s (batch, classes, ...)",
             shape_text(expected).c_str(), shape_text(target.sizes()).c_str(), shape_text(input.sizes()).c_str());
    }
    if (!weight) return;
    const std::int64_t classes = input.size(ndim == 1 ? 0 : 1);
    if (weight.ndim() != 1 || weight.numel() != classes)
        fail(ErrorKind::Runtime,
             "nll_loss: weight tensor should be defined either for all %lld classes or no classes but got weight "
             "tensor of shape: %s",
             static_cast<long long>(classes), shape_text(weight.sizes()).c_str());
    if (weight.dtype() != input.dtype())
        fail(ErrorKind::Runtime, "nll_loss: expected scalar type %s but found %s in weight; cast it",
             dtype_name(input.dtype()), dtype_name(weight.dtype()));
}

// The class axis of a single sample is its only one: kernels see a batch of one.
class AsBatch {
public:
    AsBatch(const Tensor& x, bool single) : view_(x.view()) {
        if (!single) return;
        for (int i = 0; i < view_.ndim; ++i) sizes_[i + 1] = view_.sizes[i], strides_[i + 1] = view_.strides[i];
        view_ = {view_.data, view_.dtype, view_.ndim + 1, sizes_, strides_};
    }
    AsBatch(const AsBatch&) = delete;
    operator const kernels::View&() const { return view_; }

private:
    std::int64_t sizes_[kMaxDims + 1] = {1}, strides_[kMaxDims + 1] = {0};
    kernels::View view_;
};

kernels::View view_or_none(const Tensor& x) { return x ? x.view() : kernels::View{}; }

kernels::NllLoss options(const NllAttrs& attrs) {
    const auto reduction = attrs.reduction == kNone   ? kernels::LossReduction::None
                           : attrs.reduction == kMean ? kernels::LossReduction::Mean
                                                      : kernels::LossReduction::Sum;
    return {attrs.ignore_index, reduction};
}

Tensor nll_backward(const Tensor& g, const Tensor& target, const Tensor& weight, const Tensor& total_weight,
                    Sizes sizes, const NllAttrs& attrs);

// `spatial`: more axes than (batch, classes), a node of another name.
template <bool spatial>
struct NllForward {
    using Attrs = NllAttrs;
    static constexpr auto fields = std::tuple{&Attrs::reduction, &Attrs::ignore_index};
    static constexpr OpText text{
        .schema =
            spatial ? "nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index)"
                    : "nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, int ignore_index)",
        .node = spatial ? "NllLoss2DBackward0" : "NllLossBackward0",
        .flags = kHidden,
        .outputs = "output total_weight",
        .derivative = "self",
        .domain = "unsampled, 'its later results are for its backward alone; nll_loss runs it'"};
    static void forward(const Tensor& input, const Tensor& target, const Tensor& weight, const Attrs& attrs,
                        Tensor& out, Tensor& total_weight) {
        check_shapes(input, target, weight);
        need_fit("nll_loss", attrs.reduction >= kNone && attrs.reduction <= kSum);
        const bool single = input.ndim() == 1, each = attrs.reduction == kNone;
        const Tensor classes = converted(target, DType::Int64), weights = contiguous_or_null(weight);
        out = each ? empty(target.sizes(), input.dtype()) : empty(Layout::scalar(), input.dtype());
        total_weight = empty(Layout::scalar(), input.dtype());
        kernels::nll_loss(options(attrs), AsBatch(out, single && each && out.ndim() == 0), total_weight.view(),
                          AsBatch(input, single), AsBatch(classes, classes.ndim() == 0), view_or_none(weights));
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, Shape<0> x, In<1> target, In<2> weight, Out<1> total_weight,
                      const Attrs& attrs) { return nll_backward(g, target, weight, total_weight, x, attrs); }};
};

Tensor nll_forward(const Tensor& input, const Tensor& target, const Tensor& weight, const NllAttrs& attrs) {
    return input.ndim() > 2 ? run_many<NllForward<true>, 2>(attrs, input, target, weight)[0]
                            : run_many<NllForward<false>, 2>(attrs, input, target, weight)[0];
}

// -weight[target] g at the targets, 0 elsewhere: linear in g, and its own derivative is the loss again.
struct NllBackward {
    struct Attrs {
        Dims sizes;
        std::int64_t reduction, ignore_index;
    };
    static constexpr auto fields = std::tuple{&Attrs::sizes, &Attrs::reduction, &Attrs::ignore_index};
    static constexpr OpText text{.schema =
                                     "_nll_loss_backward(Tensor grad_output, Tensor target, Tensor? weight, Tensor "
                                     "total_weight, int[] sizes, int reduction, int "
                                     "ignore_index)",
                                 .node = "NllLossBackwardBackward0",
                                 .flags = kHidden,
                                 .derivative = "grad_output",
                                 .domain =
                                     "grad_output=real(a), target=index(b, a), total_weight=constant(real()), "
                                     "sizes=(a, b), reduction=0, ignore_index=-100"};
    static void forward(const Tensor& g, const Tensor& target, const Tensor& weight, const Tensor& total_weight,
                        const Attrs& attrs, Tensor& out) {
        const bool single = attrs.sizes.size() == 1;
        const Tensor classes = converted(target, DType::Int64), weights = contiguous_or_null(weight);
        const bool each = attrs.reduction == kNone;
        need_fit("nll_loss", are_sizes(attrs.sizes) && attrs.reduction >= kNone && attrs.reduction <= kSum &&
                                 is_floating(g.dtype()) && total_weight.numel() == 1 &&
                                 total_weight.dtype() == g.dtype() && (!weight || weight.dtype() == g.dtype()));
        out = empty(attrs.sizes, g.dtype());
        check_shapes(out, target, weight);
        need_fit("nll_loss", same_sizes(g.sizes(), each ? target.sizes() : Sizes()));
        kernels::nll_loss_backward(options({attrs.reduction, attrs.ignore_index}), AsBatch(out, single),
                                   AsBatch(g, single && each && g.ndim() == 0), AsBatch(classes, classes.ndim() == 0),
                                   view_or_none(weights), total_weight.view());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& gg, In<1> target, In<2> weight, const Attrs& attrs) {
        return nll_forward(gg, target, weight, {attrs.reduction, attrs.ignore_index});
    }};
};

Tensor nll_backward(const Tensor& g, const Tensor& target, const Tensor& weight, const Tensor& total_weight,
                    Sizes sizes, const NllAttrs& attrs) {
    return run<NllBackward>({Dims(sizes), attrs.reduction, attrs.ignore_index}, g, target, weight, total_weight);
}

struct NllLoss {
    using Attrs = NllAttrs;
    static constexpr auto fields = std::tuple{&Attrs::reduction, &Attrs::ignore_index};
    static constexpr OpText text{
        .schema = "nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, int ignore_index=-100)",
        .flags = kFunction | kComposite,
        .domain =
            "self=real(a, b), target=index(b, a); self=real(a, b), target=index(b, a), weight=constant(positive(b)), "
            "reduction=2; self=real(1, b, a, c), target=index(b, 1, a, c)",
        .doc =
            "The negative log likelihood -weight[t] * self[t] over the class axis of self (C,), (N, C) or (N, C, d1, "
            "...), t being the class in target (int64) of shape (), (N,) or (N, d1, ...). reduction: 0 none, 1 the "
            "weighted mean, 2 sum. Targets equal to ignore_index do not count.",
        .example =
            ">>> torch.nn.functional.nll_loss(torch.tensor([[-0.5, -1.0], [-2.0, -0.1]]), torch.tensor([0, 1]))\n"
            "tensor(0.3000)"};
    static void forward(const Tensor& input, const Tensor& target, const Tensor& weight, const Attrs& attrs,
                        Tensor& out) {
        check_reduction("nll_loss", attrs.reduction);
        check_shapes(input, target, weight);
        out = nll_forward(input, target, weight, attrs);
    }
};

}  // namespace

static const Register<NllForward<false>, NllForward<true>, NllBackward, NllLoss> nll_operations;

}  // namespace clew
