// Sums and means.
#include <algorithm>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

// Integers are summed as int64, and then put into the dtype that was asked for.
Tensor sum_as(const Tensor& x, const std::optional<DType>& dtype, std::uint32_t mask, bool keepdim) {
    check_history_fits(x, dtype, "sum");
    const Tensor result = reduce_axes(kernels::ReduceKind::Sum, converted(x, dtype.value_or(x.dtype())), mask, keepdim);
    return dtype ? converted(result, *dtype) : result;
}

struct SumAll {
    struct Attrs {
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dtype};
    static constexpr OpText text{.schema = "sum(Tensor self, *, dtype? dtype=None)",
                                 .node = "SumBackward0",
                                 .derivative = "self",
                                 .domain = "real",
                                 .doc = "The sum of all elements; integers and bools are summed as int64.",
                                 .example = ">>> torch.sum(torch.tensor([1.0, 2.0, 3.0]))\ntensor(6.)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = sum_as(x, attrs.dtype, all_axes(x), false);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) { return expand(g, x); }};
};

struct SumAxes {
    struct Attrs {
        std::optional<Axes> dim;
        bool keepdim;
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{.schema = "sum.dim(Tensor self, int[]? dim, bool keepdim=False, *, dtype? dtype=None)",
                                 .node = "SumBackward1",
                                 .flags = kBoth | kOutArgument | kOutAlike | kOutSetsDType,
                                 .derivative = "self",
                                 .domain = "real, dim=(1,), keepdim=True",
                                 .doc = "The sum over the axes dim; dim=None or () means all.",
                                 .example = ">>> torch.sum(torch.tensor([[1, 2], [3, 4]]), dim=0)\ntensor([4, 6])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = sum_as(x, attrs.dtype, axes_mask(attrs.dim, x.ndim(), "sum"), attrs.keepdim);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        return expand(restore_axes(g, axes_mask(attrs.dim, x.ndim(), "sum"), x.ndim(), attrs.keepdim), x);
    }};
};

void need_floating(const Tensor& x, const std::optional<DType>& dtype) {
    const DType result = dtype.value_or(x.dtype());
    if (is_integral(result))
        fail(ErrorKind::Runtime,
             "mean: could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: "
             "%s; cast it, or give "
             "dtype=",
             dtype_name(result));
}

// What the gradient is divided by; the mean of nothing has a gradient of no elements, which must not become 0 / 0.
double divisor(std::int64_t count) { return static_cast<double>(std::max<std::int64_t>(count, 1)); }

struct MeanAll {
    using Attrs = SumAll::Attrs;
    static constexpr auto fields = std::tuple{&Attrs::dtype};
    static constexpr OpText text{
        .schema = "mean(Tensor self, *, dtype? dtype=None)",
        .node = "MeanBackward0",
        .flags = kBoth | kOutArgument | kOutAlike | kOutSetsDType,
        .derivative = "self",
        .domain = "real",
        .doc = "The arithmetic mean of all elements; NaN of none. Floating-point dtypes only, or give dtype=.",
        .example = ">>> torch.mean(torch.tensor([1.0, 2.0, 6.0]))\ntensor(3.)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        need_floating(x, attrs.dtype);
        out = sum_as(x, attrs.dtype, all_axes(x), false);
        scale_in_place(out, static_cast<double>(x.numel()));
    }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, Shape<0> x) { return expand(div(std::move(g), divisor(x.numel())), x); }};
};

struct MeanAxes {
    using Attrs = SumAxes::Attrs;
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{
        .schema = "mean.dim(Tensor self, int[]? dim, bool keepdim=False, *, dtype? dtype=None)",
        .node = "MeanBackward1",
        .flags = kBoth | kOutArgument | kOutAlike | kOutSetsDType,
        .derivative = "self",
        .domain = "real, dim=(1,), keepdim=True",
        .doc = "The arithmetic mean over the axes dim; dim=None or () means all.",
        .example =
            ">>> torch.mean(torch.tensor([[1.0, 3.0], [5.0, 9.0]]), dim=1, keepdim=True)\n"
            "tensor([[2.],\n"
            "        [7.]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        need_floating(x, attrs.dtype);
        const std::uint32_t mask = axes_mask(attrs.dim, x.ndim(), "mean");
        out = sum_as(x, attrs.dtype, mask, attrs.keepdim);
        scale_in_place(out, static_cast<double>(reduced_count(x.sizes(), mask)));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        const std::uint32_t mask = axes_mask(attrs.dim, x.ndim(), "mean");
        return expand(div(restore_axes(g, mask, x.ndim(), attrs.keepdim), divisor(reduced_count(x.sizes(), mask))), x);
    }};
};

}  // namespace

Tensor sum(const Tensor& x) { return run<SumAll>({std::nullopt}, x); }
Tensor sum(const Tensor& x, const Dims& axes, bool keepdim) { return run<SumAxes>({axes, keepdim, std::nullopt}, x); }
Tensor mean(const Tensor& x) { return run<MeanAll>({std::nullopt}, x); }
Tensor mean(const Tensor& x, const Dims& axes, bool keepdim) { return run<MeanAxes>({axes, keepdim, std::nullopt}, x); }

Tensor sum_to(const Tensor& x, Sizes sizes) {
    if (same_sizes(x.sizes(), sizes)) return x;
    const int lead = x.ndim() - static_cast<int>(sizes.size());
    Dims axes;
    for (int i = 0; i < x.ndim(); ++i)
        if (i < lead || (sizes[static_cast<std::size_t>(i - lead)] == 1 && x.size(i) != 1)) axes.push_back(i);
    const Tensor summed = sum(x, axes, true);
    return lead ? reshape(summed, sizes) : summed;
}

static const Register<SumAll, SumAxes, MeanAll, MeanAxes> reduce_operations;

}  // namespace clew
