// The largest and the smallest elements, and where they are.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

using kernels::ReduceKind;

void need_elements(const char* op, const Tensor& x, const std::optional<Axes>& dims,
                   ErrorKind kind = ErrorKind::Runtime) {
    if (!dims || dims->empty()) {
        if (x.numel() == 0)
            fail(kind,
                 "%s(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                 "the 'dim' argument.",
                 op);
        return;
    }
    for (const std::int64_t dim : *dims) {
        const int axis = wrap_axis(dim, x.ndim(), op);
        if (x.ndim() && x.size(axis) == 0)
            fail(ErrorKind::Index, "%s(): Expected reduction dim %lld to have non-zero size.", op,
                 static_cast<long long>(dim));
    }
}

// Elements that equal the extremum share its gradient evenly. An extremum of NaN equals none: 0 / 0 makes all NaN.
Tensor share_along_axes(const Tensor& g, const Tensor& equals, std::uint32_t mask) {
    const Tensor wide = widened(g), hit = cast(equals, wide.dtype());
    return mul(hit, div(wide, sum(hit, axes_of(mask), true)));
}

template <ReduceKind kind>
constexpr const char* extremum_name = kind == ReduceKind::Max ? "max" : "min";

template <ReduceKind kind>
struct ExtremumAll {
    static constexpr bool largest = kind == ReduceKind::Max;
    static constexpr OpText text{.schema = largest ? "max(Tensor self)" : "min(Tensor self)",
                                 .node = largest ? "MaxBackward1" : "MinBackward1",
                                 .flags = kBoth | kOutArgument,
                                 .domain = "distinct",
                                 .doc = largest ? "The maximum of all elements. NaN propagates; elements that are "
                                                  "equally large share the gradient evenly."
                                                : "The minimum of all elements. NaN propagates; elements that are "
                                                  "equally small share the gradient evenly.",
                                 .example = largest ? ">>> torch.max(torch.tensor([1.0, 7.0, 3.0]))\ntensor(7.)"
                                                    : ">>> torch.min(torch.tensor([1.0, 7.0, 3.0]))\ntensor(1.)"};
    static void forward(const Tensor& x, Tensor& out) {
        need_elements(extremum_name<kind>, x, std::nullopt);
        out = reduce_axes(kind, x, all_axes(x), false);
    }
    static constexpr auto rules =
        std::tuple{// PyTorch's convention: here (not over axes) NaNs share the gradient of NaN.
                   [](const Tensor& g, In<0> x, Out<> result) { return share_among_equals(g, x, result); }};
};

template <ReduceKind kind>
struct ExtremumAxis {
    static constexpr bool largest = kind == ReduceKind::Max;
    struct Attrs {
        std::int64_t dim;
        bool keepdim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr OpText text{
        .schema = largest ? "max.dim(Tensor self, int dim, bool keepdim=False)"
                          : "min.dim(Tensor self, int dim, bool keepdim=False)",
        .node = largest ? "MaxBackward0" : "MinBackward0",
        .flags = kBoth | kOutArgument | kOutAlike,
        .outputs = "values indices",
        .domain = "distinct, dim=1",
        .doc = largest ? "The maximum along an axis and its index (int64), the first of equal ones, to which the "
                         "gradient goes. NaN propagates."
                       : "The minimum along an axis and its index (int64), the first of equal ones, to which the "
                         "gradient goes. NaN propagates.",
        .example = largest ? ">>> values, indices = torch.max(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)\n"
                             ">>> values, indices\n"
                             "(tensor([5., 7.]), tensor([1, 0]))"
                           : ">>> values, indices = torch.min(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)\n"
                             ">>> values, indices\n"
                             "(tensor([1., 3.]), tensor([0, 1]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        const char* op = extremum_name<kind>;
        check_ordered(op, x.dtype());
        need_elements(op, x, Axes{attrs.dim});
        const int axis = wrap_axis(attrs.dim, x.ndim(), op);
        const std::uint32_t mask = x.ndim() ? 1u << axis : 0;
        const Dims without = reduced_sizes(x.sizes(), mask, false);
        values = empty(without, x.dtype());
        indices = empty(without, DType::Int64);
        const kernels::View to = values.view();
        kernels::arg_reduce(largest, &to, indices.view(), *AtLeast1(x), axis);
        if (!attrs.keepdim) return;
        values->layout = indices->layout = Layout::make(reduced_sizes(x.sizes(), mask, true));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Out<1> indices, Shape<0> x, const Attrs& attrs) {
        if (x.ndim() == 0) return g;
        const int axis = wrap_axis(attrs.dim, x.ndim(), "max");
        const std::uint32_t mask = 1u << axis;
        return scatter(zeros(x, g.dtype()), axis, restore_axes(indices, mask, x.ndim(), attrs.keepdim),
                       restore_axes(g, mask, x.ndim(), attrs.keepdim));
    }};
};

template <ReduceKind kind>
struct ExtremumOfTwo {
    static constexpr bool largest = kind == ReduceKind::Max;
    static constexpr OpText text{
        .schema = largest ? "max.other(Tensor self, Tensor other)" : "min.other(Tensor self, Tensor other)",
        .flags = kBoth | kComposite | kOutArgument,
        .domain = "self=distinct(a, b), other=distinct(a, b) + 0.05",
        .doc = largest ? "As maximum: the larger of two, element by element."
                       : "As minimum: the smaller of two, element by element.",
        .example = largest ? ">>> torch.max(torch.tensor([1.0, 7.0]), torch.tensor([2.0, 2.0]))\n"
                             "tensor([2., 7.])"
                           : ">>> torch.min(torch.tensor([1.0, 7.0]), torch.tensor([2.0, 2.0]))\n"
                             "tensor([1., 2.])"};
    static void forward(const Tensor& a, const Tensor& b, Tensor& out) {
        out = largest ? maximum(a, b) : minimum(a, b);
    }
};

template <ReduceKind kind>
struct ExtremumAxes {
    static constexpr bool largest = kind == ReduceKind::Max;
    struct Attrs {
        Axes dim;
        bool keepdim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr const char* name = largest ? "amax" : "amin";
    static constexpr OpText text{.schema = largest ? "amax(Tensor self, int[] dim=[], bool keepdim=False)"
                                                   : "amin(Tensor self, int[] dim=[], bool keepdim=False)",
                                 .node = largest ? "AmaxBackward0" : "AminBackward0",
                                 .flags = kBoth | kOutArgument | kOutAlike,
                                 .domain = "distinct; distinct, dim=(1,), keepdim=True",
                                 .doc = largest
                                            ? "The maximum over the axes dim (all of them by default). NaN propagates; "
                                              "elements that are equally large share the gradient evenly."
                                            : "The minimum over the axes dim (all of them by default). NaN propagates; "
                                              "elements that are equally small share the gradient evenly.",
                                 .example = largest ? ">>> torch.amax(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)\n"
                                                      "tensor([5., 7.])"
                                                    : ">>> torch.amin(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)\n"
                                                      "tensor([1., 3.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        need_elements(name, x, attrs.dim);
        out = reduce_axes(kind, x, axes_mask(attrs.dim, x.ndim(), name), attrs.keepdim);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, Out<> result, const Attrs& attrs) {
        const std::uint32_t mask = axes_mask(attrs.dim, x->ndim(), name);
        return share_along_axes(restore_axes(g, mask, x->ndim(), attrs.keepdim),
                                compare(kEq, x, restore_axes(result, mask, x->ndim(), attrs.keepdim)), mask);
    }};
};

template <ReduceKind kind>
struct ArgExtremum {
    static constexpr bool largest = kind == ReduceKind::Max;
    struct Attrs {
        std::optional<std::int64_t> dim;
        bool keepdim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr const char* name = largest ? "argmax" : "argmin";
    static constexpr OpText text{
        .schema = largest ? "argmax(Tensor self, int? dim=None, bool keepdim=False)"
                          : "argmin(Tensor self, int? dim=None, bool keepdim=False)",
        .flags = kBoth | kNonDifferentiable | kOutArgument | kOutAlike,
        .domain = "distinct; distinct, dim=1",
        .doc = largest ? "The index of the maximum along an axis, or in the flattened tensor if dim is None; the first "
                         "of equal elements, NaN counting as the largest."
                       : "The index of the minimum along an axis, or in the flattened tensor if dim is None; the first "
                         "of equal elements, NaN counting as the smallest.",
        .example = largest ? ">>> torch.argmax(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)\n"
                             "tensor([1, 0])"
                           : ">>> torch.argmin(torch.tensor([[1.0, 5.0], [7.0, 3.0]]), dim=1)\n"
                             "tensor([0, 1])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (x.dtype() == DType::Bool)
            fail(ErrorKind::Runtime, "%s(): does not support bool input; cast it to uint8", name);
        check_ordered(name, x.dtype());
        need_elements(name, x, attrs.dim ? std::optional(Axes{*attrs.dim}) : std::nullopt, ErrorKind::Index);
        const std::uint32_t mask = attrs.dim && x.ndim() ? 1u << wrap_axis(*attrs.dim, x.ndim(), name) : all_axes(x);
        out = empty(reduced_sizes(x.sizes(), mask, false), DType::Int64);
        if (attrs.dim) {
            kernels::arg_reduce(largest, nullptr, out.view(), *AtLeast1(x), wrap_axis(*attrs.dim, x.ndim(), name));
        } else {
            const Tensor whole = as_contiguous(x), flat = alias(whole, Layout::make(Dims{x.numel()}), whole->offset);
            kernels::arg_reduce(largest, nullptr, out.view(), flat.view(), 0);
        }
        if (attrs.keepdim) out->layout = Layout::make(reduced_sizes(x.sizes(), mask, true));
    }
};

}  // namespace

// Tensors before numbers: the first overload that fits is called, and a 0-dim tensor may stand for a dim.
static const Register<ExtremumAll<ReduceKind::Max>, ExtremumOfTwo<ReduceKind::Max>, ExtremumAxis<ReduceKind::Max>,
                      ExtremumAll<ReduceKind::Min>, ExtremumOfTwo<ReduceKind::Min>, ExtremumAxis<ReduceKind::Min>,
                      ExtremumAxes<ReduceKind::Max>, ExtremumAxes<ReduceKind::Min>, ArgExtremum<ReduceKind::Max>,
                      ArgExtremum<ReduceKind::Min>>
    extremum_reductions;

}  // namespace clew
