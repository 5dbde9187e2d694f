// Is any element true, are all of them?
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

using kernels::ReduceKind;

// bool, except that uint8 stays uint8 (it was the type of truth once).
void reduce_truth(ReduceKind kind, const Tensor& x, std::uint32_t mask, bool keepdim, Tensor& out) {
    out = converted(reduce_axes(kind, x, mask, keepdim), x.dtype() == DType::UInt8 ? DType::UInt8 : DType::Bool);
}

template <ReduceKind kind>
struct TruthAll {
    static constexpr bool any = kind == ReduceKind::Any;
    static constexpr OpText text{
        .schema = any ? "any(Tensor self)" : "all(Tensor self)",
        .flags = kBoth | kNonDifferentiable | kOutArgument | kOutTruth,
        .domain = "real",
        .doc = any ? "True if some element is nonzero, as a tensor without axes."
                   : "True if every element is nonzero (also where there are none), as a tensor without axes.",
        .example = any ? ">>> torch.any(torch.tensor([True, False]))\ntensor(True)"
                       : ">>> torch.all(torch.tensor([True, False]))\ntensor(False)"};
    static void forward(const Tensor& x, Tensor& out) { reduce_truth(kind, x, all_axes(x), false, out); }
};

}  // namespace

Tensor all_nonzero(const Tensor& x) { return run<TruthAll<ReduceKind::All>>(x); }

namespace {

template <ReduceKind kind>
struct TruthAxes {
    static constexpr bool any = kind == ReduceKind::Any;
    struct Attrs {
        std::optional<Axes> dim;
        bool keepdim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr OpText text{
        .schema = any ? "any.dims(Tensor self, int[]? dim=None, bool keepdim=False)"
                      : "all.dims(Tensor self, int[]? dim=None, bool keepdim=False)",
        .flags = kBoth | kNonDifferentiable | kOutArgument | kOutTruth,
        .domain = "mask, dim=(1,); real, dim=(0, 1), keepdim=True",
        .doc = any ? "True if some element along the axes dim is nonzero; dim=None reduces all axes."
                   : "True if every element along the axes dim is nonzero; dim=None reduces all axes.",
        .example = any ? ">>> torch.any(torch.tensor([[1, 2], [0, 0]]), dim=1)\n"
                         "tensor([ True, False])"
                       : ">>> torch.all(torch.tensor([[1, 2], [0, 3]]), dim=1)\n"
                         "tensor([ True, False])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        // Unlike for sums, an empty list of axes means none of them.
        const std::uint32_t mask =
            attrs.dim && attrs.dim->empty() ? 0 : axes_mask(attrs.dim, x.ndim(), any ? "any" : "all");
        reduce_truth(kind, x, mask, attrs.keepdim, out);
    }
};

struct CountNonzero {
    struct Attrs {
        std::optional<Axes> dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "count_nonzero(Tensor self, int[]? dim=None)",
                                 .flags = kBoth | kNonDifferentiable,
                                 .domain = "real; real, dim=(1,)",
                                 .doc = "The number of nonzero elements (int64), over the axes dim or over all.",
                                 .example =
                                     ">>> torch.count_nonzero(torch.tensor([[0, 1], [2, 3]]), dim=0)\n"
                                     "tensor([1, 2])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = reduce_axes(ReduceKind::Sum, not_zero(x), axes_mask(attrs.dim, x.ndim(), "count_nonzero"), false);
    }
};

}  // namespace

static const Register<TruthAll<ReduceKind::Any>, TruthAxes<ReduceKind::Any>, TruthAll<ReduceKind::All>,
                      TruthAxes<ReduceKind::All>, CountNonzero>
    logical_reductions;

}  // namespace clew
