// Writing to computed places along one axis.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

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

enum class Write { Put, Add };

Write way(const std::optional<Text>& reduce) {
    if (!reduce) return Write::Put;
    if (*reduce == "add") return Write::Add;
    if (*reduce == "multiply")
        fail(ErrorKind::NotImplemented,
             "scatter: reduce='multiply' is not supported; use scatter_reduce with reduce='prod'");
    fail(ErrorKind::Runtime, "scatter: reduce argument must be either add or multiply, got '%s'", reduce->data);
}
void no_derivative(const std::optional<Text>& reduce) {
    if (reduce)
        fail(ErrorKind::Runtime, "derivative for scatter with reduce='%s' is not implemented; use scatter_add",
             reduce->data);
}

void scatter_into(Write how, const char* op, const Tensor& self, std::int64_t dim, const Tensor& given,
                  const Tensor& src, Tensor& out) {
    const int axis = wrap_axis(dim, self.ndim(), op);
    const Tensor index = checked_places(given, op);
    check_writes(self, axis, index, src, op);
    check_bounds(index, self.ndim() ? self.size(axis) : 1, axis, op, kRefused, ErrorKind::Runtime);
    const bool is_new = start_from(self, out);
    if (index.numel() == 0) return;
    const Tensor source = is_new ? src : apart_from(out, src);
    (how == Write::Put ? kernels::scatter : kernels::scatter_add)(*AtLeast1(out), axis, *AtLeast1(index),
                                                                  *AtLeast1(source));
}

// The gradient of a source of which a part was read: the rest of it got nothing.
Tensor padded(const Tensor& read, Sizes source) {
    if (same_sizes(read.sizes(), source)) return read;
    if (read.ndim() != static_cast<int>(source.size())) return reshape(read, source);
    return embed(read, source, {Dims(read.sizes()), contiguous_strides(source), 0});
}

Tensor gathered_gradient(const Tensor& g, std::int64_t dim, const Tensor& index, Sizes source) {
    if (index.numel() == 0) return zeros(source, g.dtype());  // nothing was read, whatever its shape
    return padded(gather(g, static_cast<int>(dim), index), source);
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
        .doc =
            "A copy of self with src written along dim at the places of index (int32 or int64): out[index[i][j]][j] = "
            "src[i][j] for dim=0; of repeated places the last wins. reduce='add' adds to what is there, without a "
            "derivative. The inverse of gather.",
        .example =
            ">>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), torch.tensor([1.0, 2.0]))\n"
            "tensor([2., 0., 1.])"};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& index, const Tensor& src, Tensor& out) {
        scatter_into(way(attrs.reduce), "scatter", self, attrs.dim, index, src, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> index, const Attrs& attrs) {
            no_derivative(attrs.reduce);
            return scatter(g, static_cast<int>(attrs.dim), index, 0.0);
        },
        nullptr,
        [](const Tensor& g, In<1> index, Shape<2> src, const Attrs& attrs) {
            no_derivative(attrs.reduce);
            if (index->numel() < 2) return gathered_gradient(g, attrs.dim, index, src);
            // Of several that were written to one place, the last has its gradient.
            const int axis = static_cast<int>(attrs.dim);
            const Tensor order = numbered(index->sizes());
            const Tensor last = gather(scatter(zeros(g.sizes(), DType::Int64), axis, index, order), axis, index);
            return padded(where(compare(kEq, last, order), gather(g, axis, index), zero()), src);
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
        .doc = "A copy of self with one number written along dim at the places of index.",
        .example =
            ">>> torch.scatter(torch.zeros(3), 0, torch.tensor([2, 0]), 1.0)\n"
            "tensor([1., 0., 1.])"};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& given, Tensor& out) {
        if (way(attrs.reduce) == Write::Add)
            return scatter_into(Write::Add, "scatter", self, attrs.dim, given,
                                expand(element("scatter", attrs.value, self.dtype()), given.sizes()), out);
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
        no_derivative(attrs.reduce);
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
        .doc =
            "A copy of self with src added along dim at the places of index (int32 or int64): out[index[i][j]][j] += "
            "src[i][j] for dim=0; repeated places accumulate.",
        .example =
            ">>> torch.scatter_add(torch.zeros(3), 0, torch.tensor([2, 0, 2]), torch.tensor([1.0, 2.0, 3.0]))\n"
            "tensor([2., 0., 4.])"};
    static void forward(const Tensor& self, const Attrs& attrs, const Tensor& index, const Tensor& src, Tensor& out) {
        scatter_into(Write::Add, "scatter_add", self, attrs.dim, index, src, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        nullptr,
        [](const Tensor& g, In<1> index, Shape<2> src, const Attrs& attrs) {
            return gathered_gradient(g, attrs.dim, index, src);
        },
    };
};

}  // namespace

Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    return run<Scatter>({axis, std::nullopt}, x, index, source);
}
Tensor scatter(const Tensor& x, int axis, const Tensor& index, double value) {
    return run<ScatterValue>({axis, Scalar::of(value), std::nullopt}, x, index);
}
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    return run<ScatterAdd>({axis}, x, index, source);
}

static const Register<Scatter, ScatterValue, ScatterAdd> scatter_operations;

}  // namespace clew
