// Writing at computed positions of one axis: index_add, index_copy, index_fill.
#include "core/base/error.h"
#include "core/kernels/elementwise/elementwise.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"

namespace clew {
namespace {

// The index checked: a vector (or one number) of positions of the axis.
Tensor positions(const Tensor& given, const Tensor& self, int axis, const char* op, Negative negative = kRefused) {
    if (given.ndim() > 1)
        fail(ErrorKind::Index, "%s: Index is supposed to be a vector, got shape %s", op,
             shape_text(given.sizes()).c_str());
    const Tensor index = checked_index(given, op);
    check_bounds(index, self.ndim() ? self.size(axis) : 1, axis, op, negative);
    return index;
}

// source has self's shape, but along the axis the index's length. Numbers count as vectors of one element: any of the
// two in index_copy, both in index_add. Returns the index checked.
Tensor check_source(const Tensor& self, int axis, const Tensor& given, const Tensor& source, const char* op,
                    ErrorKind kind) {
    if (given.ndim() > 1)
        fail(ErrorKind::Index, "%s: Index is supposed to be a vector, got shape %s", op,
             shape_text(given.sizes()).c_str());
    const bool copies = kind == ErrorKind::Index;
    if (source.ndim() == 0 && given.numel() != 1)
        fail(copies || self.ndim() <= 1 ? ErrorKind::Index : ErrorKind::Runtime,
             "%s: When source is scalar, index should have one element (got %lld)", op,
             static_cast<long long>(given.numel()));
    if (copies && source.ndim() && self.ndim() && source.ndim() != self.ndim())
        fail(kind,
             "%s: When source and destination are not scalars, their dimensionality must match. Source dimensionality "
             "(%d), destination dimensionality (%d)",
             op, source.ndim(), self.ndim());
    if (self.dtype() != source.dtype())
        fail(ErrorKind::Runtime, "%s: self (%s) and source (%s) must have the same scalar type; cast one of them", op,
             dtype_name(self.dtype()), dtype_name(source.dtype()));
    const std::int64_t rows = source.ndim() == 0 ? 1 : axis < source.ndim() ? source.size(axis) : -1;
    Dims wanted(self.sizes());
    if (self.ndim()) wanted[axis] = rows;
    const bool as_vectors = copies && self.ndim() <= 1 && source.ndim() <= 1;
    if (!as_vectors && !same_sizes(source.sizes(), wanted))
        fail(ErrorKind::Runtime,
             "%s: source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape "
             "= %s source.shape = %s",
             op, shape_text(self.sizes()).c_str(), shape_text(source.sizes()).c_str());
    if (rows >= 0 && rows != given.numel())
        fail(kind, "%s: Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %d", op,
             static_cast<long long>(given.numel()), static_cast<long long>(rows), axis);
    return positions(given, self, axis, op);
}

// The gradient of a source that was written at (or added to) the index's positions.
Tensor selected_gradient(const Tensor& g, std::int64_t dim, const Tensor& index, Sizes source) {
    const Tensor read = index_select(g, static_cast<int>(dim), index);
    return same_sizes(read.sizes(), source) ? read : reshape(read, source);
}

struct IndexAdd {
    struct Attrs {
        std::int64_t dim;
        Scalar alpha;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::alpha};
    static constexpr OpText text{
        .schema = "index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1)",
        .node = "IndexAddBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike,
        .derivative = "self + source",
        .batching = BatchBy::IndexedAxis,
        .domain =
            "self=real(b, c), dim=1, index=index(c, a), source=real(b, a); self=real(b, c), dim=0, index=index(b, a), "
            "source=real(a, c), alpha=2.5",
        .doc =
            "A copy of self with alpha * source added along an axis: out[index[i]] += alpha * source[i] for dim=0; "
            "repeated indices accumulate. index: int32 or int64 of one axis.",
        .example =
            ">>> torch.index_add(torch.zeros(3), 0, torch.tensor([0, 2, 0]), torch.tensor([1.0, 2.0, 3.0]))\n"
            "tensor([4., 0., 2.])"};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& given, const Tensor& given_source,
                        Tensor& out) {
        const int axis = wrap_axis(attrs.dim, self.ndim(), "index_add");
        const Tensor index = check_source(self, axis, given, given_source, "index_add", ErrorKind::Runtime);
        const bool is_new = start_from(self, out);
        if (given_source.numel() == 0) return;
        Tensor source = is_new ? given_source : apart_from(out, given_source);
        if (attrs.alpha.real != 1) {
            const Tensor scaled = empty(Layout::make(source.sizes()), source.dtype()),
                         factor = element("index_add", attrs.alpha, source.dtype());
            const BroadcastView same(factor, source.sizes());
            kernels::elementwise(kernels::arithmetic().mul[static_cast<int>(source.dtype())], scaled.view(),
                                 {source.view(), same});
            source = scaled;
        }
        kernels::index_add(*AtLeast1(out), axis, *AtLeast1(index), *AtLeast1(source));
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        nullptr,
        [](const Tensor& g, In<1> index, Shape<2> source, const Attrs& attrs) {
            const Tensor read = selected_gradient(g, attrs.dim, index, source);
            return attrs.alpha.real == 1 ? read : mul(read, attrs.alpha.real);
        },
    };
};

struct IndexCopy {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "index_copy(Tensor self, int dim, Tensor index, Tensor source)",
        .node = "IndexCopyBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "self + source",
        .batching = BatchBy::IndexedAxis,
        .domain = "self=real(b, c), dim=1, index=order(c, a), source=real(b, a)",
        .doc =
            "A copy of self with source written along an axis: out[index[i]] = source[i] for dim=0; of repeated "
            "indices the last wins. index: int32 or int64 of one axis.",
        .example =
            ">>> torch.index_copy(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))\n"
            "tensor([2., 0., 1.])"};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& given, const Tensor& given_source,
                        Tensor& out) {
        const int axis = wrap_axis(attrs.dim, self.ndim(), "index_copy");
        const Tensor index = check_source(self, axis, given, given_source, "index_copy", ErrorKind::Index);
        const bool is_new = start_from(self, out);
        if (given_source.numel() == 0) return;
        const Tensor source = is_new ? given_source : apart_from(out, given_source);
        kernels::index_copy(*AtLeast1(out), axis, *AtLeast1(index), *AtLeast1(source));
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> index, const Attrs& attrs) {
            return index_fill(g, static_cast<int>(attrs.dim), index, 0.0);
        },
        nullptr,
        [](const Tensor& g, In<1> index, Shape<2> source, const Attrs& attrs) {
            const Tensor read = selected_gradient(g, attrs.dim, index, source);
            if (index->numel() < 2) return read;
            // Of several that were written to one position, the last has its gradient.
            const int axis = wrap_axis(attrs.dim, g.ndim(), "index_copy");
            const Tensor order = numbered(index->sizes());
            const Tensor written = scatter(zeros(Dims{g.size(axis)}, DType::Int64), 0, index, order);
            Dims along;
            for (int i = 0; i < read.ndim(); ++i) along.push_back(i == axis ? index->numel() : 1);
            const Tensor stays = compare(kEq, gather(written, 0, index), order);
            return where(reshape(stays, along), read, zero());
        },
    };
};

void fill_positions(const Tensor& self, std::int64_t dim, const Tensor& given, const Tensor& value, Tensor& out) {
    const int axis = wrap_axis(dim, self.ndim(), "index_fill");
    if (given.ndim() > 1)
        fail(ErrorKind::Runtime, "index_fill: Index has to be a vector/scalar, got shape %s",
             shape_text(given.sizes()).c_str());
    if (is_floating(given.dtype()) || given.dtype() == DType::Bool || given.dtype() == DType::UInt8)
        fail(ErrorKind::Index, "index_fill: Expected dtype int64 or int32 for index, got %s; cast it",
             dtype_name(given.dtype()));
    const Tensor index = positions(given, self, axis, "index_fill", kFromEnd);
    start_from(self, out, Lies::AsSelf);
    if (index.numel() && out.numel()) kernels::index_fill(*AtLeast1(out), axis, *AtLeast1(index), value.data());
}

struct IndexFill {
    struct Attrs {
        std::int64_t dim;
        Scalar value;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::value};
    static constexpr OpText text{.schema = "index_fill(Tensor self, int dim, Tensor index, Scalar value)",
                                 .node = "IndexFillBackward0",
                                 .flags = kBoth | kInPlace | kAnyDType,
                                 .derivative = "self; value",
                                 .batching = BatchBy::IndexedAxis,
                                 .domain = "self=real(b, c), dim=1, index=order(c, a), value=2.5",
                                 .doc =
                                     "A copy of self with one number at the indices along an axis: out[index[i]] = "
                                     "value for dim=0. index: int32 or int64 of one axis.",
                                 .example =
                                     ">>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), 1)\n"
                                     "tensor([1., 0., 1.])"};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& index, Tensor& out) {
        fill_positions(self, attrs.dim, index, element("index_fill", attrs.value, self.dtype()), out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<1> index, const Attrs& attrs) {
        return index_fill(g, static_cast<int>(attrs.dim), index, 0.0);
    }};
};

struct IndexFillTensor {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "index_fill.tensor(Tensor self, int dim, Tensor index, Tensor value)",
        .node = "IndexFillBackward1",
        .flags = kBoth | kInPlace | kAnyDType,
        .derivative = "self + value",
        .batching = BatchBy::IndexedAxis,
        .domain = "self=real(b, c), dim=1, index=order(c, a), value=real()",
        .doc = "A copy of self with the number in a 0-dim tensor at the indices along an axis.",
        .example =
            ">>> torch.index_fill(torch.zeros(3), 0, torch.tensor([0, 2]), torch.tensor(1.0))\n"
            "tensor([1., 0., 1.])"};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& index, const Tensor& value, Tensor& out) {
        if (value.ndim() != 0)
            fail(ErrorKind::Runtime,
                 "index_fill_ only supports a 0-dimensional value tensor, but got tensor with %d dimension(s).",
                 value.ndim());
        fill_positions(self, attrs.dim, index, converted(value, self.dtype()), out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> index, const Attrs& attrs) {
            return index_fill(g, static_cast<int>(attrs.dim), index, 0.0);
        },
        nullptr,
        [](const Tensor& g, In<1> index, const Attrs& attrs) {
            // A position named twice holds the value once.
            const Tensor kept = index_fill(ones(g.sizes(), DType::Bool), static_cast<int>(attrs.dim), index, 0.0);
            return sum(masked_fill(g, kept, 0.0));
        },
    };
};

}  // namespace

Tensor index_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    return run<IndexAdd>({axis, Scalar::of(std::int64_t{1})}, x, index, source);
}
Tensor index_fill(const Tensor& x, int axis, const Tensor& index, double value) {
    return run<IndexFill>({axis, Scalar::of(value)}, x, index);
}

static const Register<IndexAdd, IndexCopy, IndexFillTensor, IndexFill> index_write_operations;

}  // namespace clew
