// Writing at computed positions of one axis: index_add, index_copy, index_fill.
#include "core/base/error.h"
#include "core/kernels/elementwise.h"
#include "core/ops/apply.h"
#include "core/ops/functions.h"
#include "core/ops/index_support.h"

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

// source has self's shape, but along the axis the index's length.
void check_source(const Tensor& self, int axis, const Tensor& index, const Tensor& source, const char* op,
                  ErrorKind kind) {
    if (self.dtype() != source.dtype())
        fail(ErrorKind::Runtime, "%s: self (%s) and source (%s) must have the same scalar type; cast one of them", op,
             dtype_name(self.dtype()), dtype_name(source.dtype()));
    Dims wanted(self.sizes());
    if (self.ndim()) wanted[axis] = index.numel();
    const bool scalars = self.ndim() == 0 && source.numel() == 1 && index.numel() == 1 && source.ndim() <= 1;
    if (scalars || same_sizes(source.sizes(), wanted)) return;
    if (source.ndim() == self.ndim() && source.size(axis) != index.numel())
        fail(kind, "%s: Number of indices (%lld) should be equal to source.size(dim): (%lld), for dim: %d", op,
             static_cast<long long>(index.numel()), static_cast<long long>(source.size(axis)), axis);
    fail(source.ndim() == self.ndim() ? ErrorKind::Runtime : kind,
         "%s: source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = %s "
         "source.shape = %s",
         op, shape_text(self.sizes()).c_str(), shape_text(source.sizes()).c_str());
}

// The gradient of a source that was written at (or added to) the index's positions.
Tensor source_gradient(const Tensor& g, std::int64_t dim, const Tensor& index, Sizes source) {
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
        .flags = kBoth | kInPlace | kOutArgument,
        .domain = "real",
        .doc = "self with alpha * source added at the positions of an axis that index names; repeated ones add up."};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& given, const Tensor& given_source,
                        Tensor& out) {
        const int axis = wrap_axis(attrs.dim, self.ndim(), "index_add");
        const Tensor index = positions(given, self, axis, "index_add");
        check_source(self, axis, index, given_source, "index_add", ErrorKind::Runtime);
        start_from(self, out);
        if (given_source.numel() == 0) return;
        Tensor source = apart_from(out, given_source);
        if (attrs.alpha.real != 1) {
            const Tensor scaled = empty(Layout::make(source.sizes()), source.dtype()),
                         factor = element(attrs.alpha, source.dtype());
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
            const Tensor read = source_gradient(g, attrs.dim, index, source);
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
        .flags = kBoth | kInPlace | kOutArgument,
        .domain = "real",
        .doc =
            "self with source written at the positions of an axis that index names; of repeated ones the last stays."};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& given, const Tensor& given_source,
                        Tensor& out) {
        const int axis = wrap_axis(attrs.dim, self.ndim(), "index_copy");
        const Tensor index = positions(given, self, axis, "index_copy");
        check_source(self, axis, index, given_source, "index_copy", ErrorKind::Index);
        start_from(self, out);
        if (given_source.numel() == 0) return;
        const Tensor source = apart_from(out, given_source);
        kernels::index_copy(*AtLeast1(out), axis, *AtLeast1(index), *AtLeast1(source));
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> index, const Attrs& attrs) {
            return index_fill(g, static_cast<int>(attrs.dim), index, 0.0);
        },
        nullptr,
        [](const Tensor& g, In<1> index, Shape<2> source, const Attrs& attrs) {
            return source_gradient(g, attrs.dim, index, source);
        },
    };
};

void fill_positions(const Tensor& self, std::int64_t dim, const Tensor& given, const Tensor& value, Tensor& out) {
    const int axis = wrap_axis(dim, self.ndim(), "index_fill");
    if (given.ndim() > 1)
        fail(ErrorKind::Runtime, "index_fill: Index has to be a vector/scalar, got shape %s",
             shape_text(given.sizes()).c_str());
    const Tensor index = positions(given, self, axis, "index_fill", kFromEnd);
    start_from(self, out);
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
                                 .flags = kBoth | kInPlace,
                                 .domain = "real",
                                 .doc = "self with one number at the positions of an axis that index names."};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& index, Tensor& out) {
        fill_positions(self, attrs.dim, index, element(attrs.value, self.dtype()), out);
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
        .flags = kBoth | kInPlace,
        .domain = "real",
        .doc = "self with the number in a 0-dim tensor at the positions of an axis that index names."};
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
            const Tensor kept = index_fill(g, static_cast<int>(attrs.dim), index, 0.0);
            return sum(sub(g, kept));
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
