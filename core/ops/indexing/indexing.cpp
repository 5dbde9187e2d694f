// Reading at computed places along one axis, and the writes that undo it: index_select, gather, scatter.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

struct IndexSelect {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "index_select(Tensor self, int dim, Tensor index)",
                                 .node = "IndexSelectBackward0",
                                 .flags = kBoth | kOutArgument | kOutAlike | kAnyDType,
                                 .derivative = "self",
                                 .domain = "self=real(b, c), dim=1, index=index(c, a)",
                                 .doc = "The positions of an axis that a one-dimensional index names, in its order."};
    static void forward(const Tensor& x, const Attrs& attrs, const Tensor& given, Tensor& out) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "index_select");
        if (given.ndim() > 1)
            fail(ErrorKind::Index, "index_select(): Index is supposed to be a vector, got shape %s",
                 shape_text(given.sizes()).c_str());
        const Tensor index = checked_index(given, "index_select");
        if (x.ndim() == 0 && index.numel() != 1)
            fail(ErrorKind::Runtime, "index_select(): Index to scalar can have only 1 value, got %lld value(s)",
                 static_cast<long long>(index.numel()));
        const std::int64_t size = x.ndim() ? x.size(axis) : 1;
        check_bounds(index, size, axis, "index_select(): index out of range in self");
        Dims sizes(x.sizes());
        if (x.ndim()) sizes[axis] = index.numel();
        out = empty(sizes, x.dtype());
        if (out.numel()) kernels::index_select(*AtLeast1(out), *AtLeast1(x), axis, *AtLeast1(index));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, In<1> index, const Attrs& attrs) {
        return index_add(zeros(x, g.dtype()), static_cast<int>(attrs.dim), index, g);
    }};
};

// Where index may not be larger than self: everywhere but along the axis.
void check_index_shape(const Tensor& index, const Tensor& self, int axis, const char* op) {
    if (std::max(index.ndim(), 1) != std::max(self.ndim(), 1))
        fail(ErrorKind::Runtime,
             "%s: Index tensor must have the same number of dimensions as self tensor, got shapes %s and %s", op,
             shape_text(index.sizes()).c_str(), shape_text(self.sizes()).c_str());
    if (index.ndim() == 0 || self.ndim() == 0) return;
    for (int i = 0; i < index.ndim(); ++i)
        if (i != axis && index.size(i) > self.size(i))
            fail(ErrorKind::Runtime,
                 "%s: Size does not match at dimension %d expected index %s to be no larger than self %s apart from "
                 "dimension %d",
                 op, i, shape_text(index.sizes()).c_str(), shape_text(self.sizes()).c_str(), axis);
}

struct Gather {
    struct Attrs {
        std::int64_t dim;
        bool sparse_grad;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::sparse_grad};
    static constexpr OpText text{
        .schema = "gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False)",
        .node = "GatherBackward0",
        .flags = kBoth | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "self",
        .domain = "self=real(b, c), dim=1, index=index(c, b, a)",
        .doc = "out[i][j] = self[index[i][j]][j] for dim 0: one position of an axis for each place of index."};
    static void forward(const Tensor& x, const Attrs& attrs, const Tensor& given, Tensor& out) {
        if (attrs.sparse_grad)
            fail(ErrorKind::NotImplemented, "gather: sparse_grad=True is not supported; gradients are dense");
        const int axis = wrap_axis(attrs.dim, x.ndim(), "gather");
        const Tensor index = checked_places(given, "gather");
        if (index.numel()) check_index_shape(index, x, axis, "gather");
        out = empty(Layout::make(index.sizes()), x.dtype());
        if (index.numel() == 0) return;
        const std::int64_t outside = kernels::gather_checked(*AtLeast1(out), *AtLeast1(x), axis, *AtLeast1(index));
        fail_out_of_bounds(index, outside, x.ndim() ? x.size(axis) : 1, axis, "gather", ErrorKind::Runtime);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, In<1> index, const Attrs& attrs) {
        return scatter_add(zeros(x, g.dtype()), static_cast<int>(attrs.dim), index, g);
    }};
};

struct TakeAlongDim {
    struct Attrs {
        std::optional<std::int64_t> dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "take_along_dim(Tensor self, Tensor indices, int? dim=None)",
        .flags = kBoth | kComposite | kOutArgument | kOutAlike,
        .domain = "self=real(b, c), indices=index(b, b, c), dim=0; self=real(b, c), indices=index(b * c, 4)",
        .doc = "gather, with self and indices broadcast against each other; without dim both are flattened."};
    static void forward(const Tensor& x, const Tensor& indices, const Attrs& attrs, Tensor& out) {
        if (indices.dtype() != DType::Int64 && indices.dtype() != DType::Int32)
            fail(ErrorKind::Runtime, "take_along_dim(): dtype of indices should be int64 but got %s; cast it",
                 dtype_name(indices.dtype()));
        if (!attrs.dim) {
            out = gather(reshape(x, Dims{x.numel()}), 0, reshape(indices, Dims{indices.numel()}));
            return;
        }
        if (x.ndim() != indices.ndim())
            fail(ErrorKind::Runtime,
                 "take_along_dim(): input and indices should have the same number of dimensions, but got %d dimensions "
                 "for input, and %d "
                 "dimensions for indices",
                 x.ndim(), indices.ndim());
        const int axis = wrap_axis(*attrs.dim, x.ndim(), "take_along_dim");
        if (x.ndim() == 0) {
            out = gather(x, axis, indices);
            return;
        }
        Dims own(x.sizes()), theirs(indices.sizes());
        own[axis] = theirs[axis] = 1;
        Dims self_sizes = broadcast_sizes(own, theirs, "take_along_dim"), index_sizes = self_sizes;
        self_sizes[axis] = x.size(axis);
        index_sizes[axis] = indices.size(axis);
        out = gather(expand(x, self_sizes), axis, expand(indices, index_sizes));
    }
};

void check_writes(const Tensor& self, int axis, const Tensor& index, const Tensor& source, const char* op) {
    if (source && source.dtype() != self.dtype())
        fail(ErrorKind::Runtime, "%s(): Expected self.dtype to be equal to src.dtype, got %s and %s; cast one of them",
             op, dtype_name(self.dtype()), dtype_name(source.dtype()));
    if (index.numel() == 0) return;
    check_index_shape(index, self, axis, op);
    if (!source) return;
    if (std::max(index.ndim(), 1) != std::max(source.ndim(), 1))
        fail(ErrorKind::Runtime,
             "%s: Index tensor must have the same number of dimensions as src tensor, got shapes %s and %s", op,
             shape_text(index.sizes()).c_str(), shape_text(source.sizes()).c_str());
    for (int i = 0; i < index.ndim(); ++i)
        if (index.size(i) > (source.ndim() ? source.size(i) : 1))
            fail(ErrorKind::Runtime,
                 "%s: Expected index %s to be no larger than self %s apart from dimension %d and to be no larger size "
                 "than src %s",
                 op, shape_text(index.sizes()).c_str(), shape_text(self.sizes()).c_str(), axis,
                 shape_text(source.sizes()).c_str());
}

void no_reduce(const std::optional<Text>& reduce) {
    if (!reduce) return;
    if (*reduce == "add") fail(ErrorKind::NotImplemented, "scatter: reduce='add' is not supported; use scatter_add");
    if (*reduce == "multiply") fail(ErrorKind::NotImplemented, "scatter: reduce='multiply' is not supported");
    fail(ErrorKind::Runtime, "scatter: reduce argument must be either add or multiply, got '%s'", reduce->data);
}

enum class Write { Put, Add };

void scatter_into(Write how, const char* op, const Tensor& self, std::int64_t dim, const Tensor& given,
                  const Tensor& src, Tensor& out) {
    const int axis = wrap_axis(dim, self.ndim(), op);
    const Tensor index = checked_places(given, op);
    check_writes(self, axis, index, src, op);
    check_bounds(index, self.ndim() ? self.size(axis) : 1, axis, op, kRefused, ErrorKind::Runtime);
    start_from(self, out);
    if (index.numel() == 0) return;
    const Tensor source = apart_from(out, src);
    (how == Write::Put ? kernels::scatter : kernels::scatter_add)(*AtLeast1(out), axis, *AtLeast1(index),
                                                                  *AtLeast1(source));
}

// The gradient of a source of which index's shape was read: the rest of it got nothing.
Tensor source_gradient(const Tensor& g, std::int64_t dim, const Tensor& index, Sizes source) {
    if (index.numel() == 0) return zeros(source, g.dtype());  // nothing was read, whatever its shape
    const Tensor read = gather(g, static_cast<int>(dim), index);
    if (same_sizes(read.sizes(), source)) return read;
    if (read.ndim() != static_cast<int>(source.size())) return reshape(read, source);
    return embed(read, source, {Dims(read.sizes()), contiguous_strides(source), 0});
}

struct Scatter {
    struct Attrs {
        std::int64_t dim;
        std::optional<Text> reduce;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::reduce};
    static constexpr OpText text{
        .schema = "scatter(Tensor self, int dim, Tensor index, Tensor src, *, str? reduce=None)",
        .node = "ScatterBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .domain = "self=real(b, c), dim=0, index=order(b, a).reshape(a, 1), src=real(a, 1)",
        .doc = "self with out[index[i][j]][j] = src[i][j] for dim 0; where places repeat, the last stays."};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& index, const Tensor& src, Tensor& out) {
        no_reduce(attrs.reduce);
        scatter_into(Write::Put, "scatter", self, attrs.dim, index, src, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> index, const Attrs& attrs) {
            return scatter(g, static_cast<int>(attrs.dim), index, 0.0);
        },
        nullptr,
        [](const Tensor& g, In<1> index, Shape<2> src, const Attrs& attrs) {
            return source_gradient(g, attrs.dim, index, src);
        },
    };
};

struct ScatterValue {
    struct Attrs {
        std::int64_t dim;
        Scalar value;
        std::optional<Text> reduce;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::value, &Attrs::reduce};
    static constexpr OpText text{
        .schema = "scatter.value(Tensor self, int dim, Tensor index, Scalar value, *, str? reduce=None)",
        .node = "ScatterBackward1",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .domain = "self=real(b, c), dim=0, index=order(b, a).reshape(a, 1), value=2.5",
        .doc = "self with one number at the places that index names along an axis."};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& given, Tensor& out) {
        no_reduce(attrs.reduce);
        const int axis = wrap_axis(attrs.dim, self.ndim(), "scatter");
        const Tensor index = checked_places(given, "scatter");
        if (index.numel()) {
            check_writes(self, axis, index, Tensor(), "scatter");
            check_bounds(index, self.ndim() ? self.size(axis) : 1, axis, "scatter", kRefused, ErrorKind::Runtime);
        }
        start_from(self, out);
        if (index.numel() == 0) return;
        kernels::scatter_fill(*AtLeast1(out), axis, *AtLeast1(index),
                              element("scatter", attrs.value, out.dtype()).data());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<1> index, const Attrs& attrs) {
        return scatter(g, static_cast<int>(attrs.dim), index, 0.0);
    }};
};

struct ScatterAdd {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "scatter_add(Tensor self, int dim, Tensor index, Tensor src)",
        .node = "ScatterAddBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike,
        .derivative = "self + src",
        .domain = "self=real(b, c), dim=0, index=index(b, a, c), src=real(a, c)",
        .doc = "self with src[i][j] added to out[index[i][j]][j] for dim 0; repeated places add up."};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& index, const Tensor& src, Tensor& out) {
        scatter_into(Write::Add, "scatter_add", self, attrs.dim, index, src, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        nullptr,
        [](const Tensor& g, In<1> index, Shape<2> src, const Attrs& attrs) {
            return source_gradient(g, attrs.dim, index, src);
        },
    };
};

}  // namespace

Tensor index_select(const Tensor& x, int axis, const Tensor& index) { return run<IndexSelect>({axis}, x, index); }
Tensor gather(const Tensor& x, int axis, const Tensor& index) { return run<Gather>({axis, false}, x, index); }
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    return run<Scatter>({axis, std::nullopt}, x, index, source);
}
Tensor scatter(const Tensor& x, int axis, const Tensor& index, double value) {
    return run<ScatterValue>({axis, Scalar::of(value), std::nullopt}, x, index);
}
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    return run<ScatterAdd>({axis}, x, index, source);
}

static const Register<IndexSelect, Gather, TakeAlongDim, Scatter, ScatterValue, ScatterAdd> indexing_operations;

}  // namespace clew
