// Medians, and finding places in what is sorted already.
#include <limits>

#include "core/base/error.h"
#include "core/kernels/reduction/sort.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

void check_median(const Tensor& x, const char* op) {
    if (x.dtype() == DType::Bool)
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype bool; cast the input first", op);
    check_ordered(op, x.dtype());
}

Tensor median_of_all(const Tensor& x, const char* op, bool ignore_nan) {
    check_median(x, op);
    Tensor out = empty(Layout::scalar(), x.dtype());
    if (x.numel() == 0) {
        if (!is_floating(x.dtype())) fail(ErrorKind::Runtime, "%s: expected at least one element, got none", op);
        return scalar(std::numeric_limits<double>::quiet_NaN(), x.dtype());
    }
    Tensor dense = x;
    if (!x.contiguous()) {
        dense = empty(Layout::make(x.sizes()), x.dtype());
        kernels::copy(dense.view(), x.view());
    }
    const std::int64_t size = x.numel(), step = 1;
    kernels::median(*AtLeast1(out), {nullptr, DType::Int64, 1, &step, &step},
                    {dense.data(), x.dtype(), 1, &size, &step}, 0, ignore_nan);
    return out;
}

struct Median {
    static constexpr OpText text{
        .schema = "median(Tensor self)",
        .node = "MedianBackward0",
        .domain = "self=distinct(a, c)",
        .doc = "The median of all elements, the lower of the two in the middle; NaN if one is.",
        .example = ">>> torch.median(torch.tensor([4.0, 1.0, 3.0, 2.0]))\ntensor(2.)"};
    static void forward(const Tensor& x, Tensor& out) { out = median_of_all(x, "median", false); }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, In<0> x, Out<> result) { return share_among_equals(g, x, result); }};
};

struct Nanmedian {
    static constexpr OpText text{
        .schema = "nanmedian(Tensor self)",
        .node = "NanmedianBackward0",
        .domain = "distinct",
        .doc = "The median of the elements that are not NaN, the lower of the two in the middle.",
        .example = ">>> torch.nanmedian(torch.tensor([1.0, float(\"nan\"), 3.0]))\ntensor(1.)"};
    static void forward(const Tensor& x, Tensor& out) { out = median_of_all(x, "nanmedian", true); }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, In<0> x, Out<> result) { return share_among_equals(g, x, result); }};
};

struct AlongAxis {
    std::int64_t dim;
    bool keepdim;
};

void median_along(const char* op, const Tensor& x, const AlongAxis& attrs, bool ignore_nan, Tensor& values,
                  Tensor& indices) {
    check_median(x, op);
    const int axis = wrap_axis(attrs.dim, x.ndim(), op);
    if (x.ndim() && x.size(axis) == 0)
        fail(ErrorKind::Index, "%s(): Expected reduction dim %d to have non-zero size.", op, axis);
    Dims sizes(x.sizes());
    if (x.ndim()) sizes[axis] = 1;
    values = empty(sizes, x.dtype());
    indices = empty(sizes, DType::Int64);
    if (values.numel()) kernels::median(*AtLeast1(values), *AtLeast1(indices), *AtLeast1(x), axis, ignore_nan);
    if (attrs.keepdim || x.ndim() == 0) return;
    sizes.erase(axis);
    values->layout = indices->layout = Layout::make(sizes);
}

Tensor send_back(const Tensor& g, const Tensor& indices, const Shape<0>& x, const AlongAxis& attrs) {
    const int axis = wrap_axis(attrs.dim, x.ndim(), "median");
    const bool whole = attrs.keepdim || x.ndim() == 0;
    return scatter_add(zeros(x, g.dtype()), axis, whole ? indices : unsqueeze(indices, axis),
                       whole ? g : unsqueeze(g, axis));
}

struct MedianAxis {
    using Attrs = AlongAxis;
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr OpText text{
        .schema = "median.dim(Tensor self, int dim, bool keepdim=False)",
        .node = "MedianBackward1",
        .flags = kBoth | kOutArgument | kOutAlike,
        .outputs = "values indices",
        .domain = "distinct, dim=1",
        .doc = "The median along an axis, the lower of the two in the middle, and an index of it; NaN if one is.",
        .example =
            ">>> values, indices = torch.median(torch.tensor([[4.0, 1.0, 3.0]]), dim=1)\n"
            ">>> values, indices\n"
            "(tensor([3.]), tensor([2]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        median_along("median", x, attrs, false, values, indices);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, Out<1> indices, const Attrs& attrs) {
        return send_back(g, indices, x, attrs);
    }};
};

struct NanmedianAxis {
    using Attrs = AlongAxis;
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr OpText text{
        .schema = "nanmedian.dim(Tensor self, int dim, bool keepdim=False)",
        .node = "NanmedianBackward1",
        .flags = kBoth | kOutArgument | kOutAlike,
        .outputs = "values indices",
        .domain = "distinct, dim=1",
        .doc = "The median along an axis of the elements that are not NaN, and an index of it.",
        .example =
            ">>> values, indices = torch.nanmedian(torch.tensor([[1.0, float(\"nan\"), 3.0]]), dim=1)\n"
            ">>> values, indices\n"
            "(tensor([1.]), tensor([0]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        median_along("nanmedian", x, attrs, true, values, indices);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, Out<1> indices, const Attrs& attrs) {
        return send_back(g, indices, x, attrs);
    }};
};

// Rows of boundaries, each for a row of values; or one row for all.
Tensor find_places(const char* op, const Tensor& given_boundaries, const Tensor& given_values, bool right,
                   bool as_int32) {
    const Tensor both[] = {given_boundaries, given_values};
    const DType dtype = result_dtype(both);
    check_ordered(op, dtype);
    const Tensor boundaries = converted(given_boundaries, dtype), values = converted(given_values, dtype);
    const int ndim = boundaries.ndim();
    bool fits = ndim == 1 || (ndim > 1 && ndim == values.ndim());
    for (int i = 0; fits && ndim > 1 && i + 1 < ndim; ++i) fits = boundaries.size(i) == values.size(i);
    if (!fits)
        fail(ErrorKind::Runtime,
             "%s(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and input "
             "value tensor must match, "
             "but we got boundaries tensor %s and input value tensor %s",
             op, shape_text(boundaries.sizes()).c_str(), shape_text(values.sizes()).c_str());
    const Tensor out = empty(Layout::make(values.sizes()), DType::Int64);
    if (ndim == 1) {
        if (out.numel()) kernels::searchsorted(*AtLeast1(out), boundaries.view(), *AtLeast1(values), right);
        return converted(out, as_int32 ? DType::Int32 : DType::Int64);
    }
    const auto vector = [](const Tensor& x, std::int64_t offset) {
        return kernels::View{x.data() + offset * static_cast<std::int64_t>(item_size(x.dtype())), x.dtype(), 1,
                             &x.sizes()[static_cast<std::size_t>(x.ndim() - 1)],
                             &x.strides()[static_cast<std::size_t>(x.ndim() - 1)]};
    };
    const std::int64_t rows = out.numel() ? out.numel() / values.size(ndim - 1) : 0;
    for (std::int64_t row = 0; row < rows; ++row) {
        std::int64_t rest = row, at_boundary = 0, at_value = 0;
        for (int axis = ndim - 2; axis >= 0; --axis) {
            const std::int64_t place = rest % values.size(axis);
            rest /= values.size(axis);
            at_boundary += place * boundaries.stride(axis);
            at_value += place * values.stride(axis);
        }
        kernels::searchsorted(vector(out, row * values.size(ndim - 1)), vector(boundaries, at_boundary),
                              vector(values, at_value), right);
    }
    return converted(out, as_int32 ? DType::Int32 : DType::Int64);
}

struct Searchsorted {
    struct Attrs {
        bool out_int32, right;
        std::optional<Text> side;
    };
    static constexpr auto fields = std::tuple{&Attrs::out_int32, &Attrs::right, &Attrs::side};
    static constexpr OpText text{
        .schema =
            "searchsorted(Tensor sorted_sequence, Operand self, *, bool out_int32=False, bool "
            "right=False, str? side=None)",
        .flags = kFunction | kNonDifferentiable,
        .domain = "sorted_sequence=ascending(d), self=real(a, b)",
        .doc =
            "Binary search: the index i at which each value would be inserted into a sequence sorted along its last "
            "axis, sequence[i-1] < value <= sequence[i], or with right=True (side='right') sequence[i-1] <= value < "
            "sequence[i]. int64, or int32 with out_int32.",
        .example =
            ">>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))\n"
            "tensor([1, 3])"};
    static void forward(const Tensor& sorted, const Tensor& values, const Attrs& attrs, Tensor& out) {
        if (attrs.side && *attrs.side != "left" && *attrs.side != "right")
            fail(ErrorKind::Runtime, "searchsorted(): side can only be 'left' or 'right' but got %s", attrs.side->data);
        if (attrs.side && *attrs.side == "left" && attrs.right)
            fail(ErrorKind::Runtime,
                 "searchsorted(): side and right can't be set to opposites, got side of left while right was True");
        out = find_places("searchsorted", sorted, values, attrs.right || (attrs.side && *attrs.side == "right"),
                          attrs.out_int32);
    }
};

struct Bucketize {
    struct Attrs {
        bool out_int32, right;
    };
    static constexpr auto fields = std::tuple{&Attrs::out_int32, &Attrs::right};
    static constexpr OpText text{
        .schema = "bucketize(Operand self, Tensor boundaries, *, bool out_int32=False, bool right=False)",
        .flags = kFunction | kNonDifferentiable,
        .domain = "self=real(a, b), boundaries=ascending(c)",
        .doc =
            "The index of the bucket into which each value falls, for ascending boundaries of one axis: "
            "boundaries[i-1] < value <= boundaries[i], or with right=True boundaries[i-1] <= value < boundaries[i]. "
            "int64, or int32 with out_int32.",
        .example =
            ">>> torch.bucketize(torch.tensor([1.0, 3.5]), torch.tensor([1.0, 2.0, 3.0]))\n"
            "tensor([0, 3])"};
    static void forward(const Tensor& values, const Tensor& boundaries, const Attrs& attrs, Tensor& out) {
        if (boundaries.ndim() != 1)
            fail(ErrorKind::Runtime, "bucketize: boundaries tensor must be 1 dimension, but got dim(%d)",
                 boundaries.ndim());
        out = find_places("bucketize", boundaries, values, attrs.right, attrs.out_int32);
    }
};

}  // namespace

static const Register<Median, Nanmedian, MedianAxis, NanmedianAxis, Searchsorted, Bucketize> median_operations;

}  // namespace clew
