// Reading at computed places along one axis.
#include "core/base/error.h"
#include "core/kernels/capture.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/indexing/sparse_gradients.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

void gather_within(const kernels::View& out, const kernels::View& x, int axis, const kernels::View& index) {
    CLEW_CAPTURED_CHECKING(1, gather_within, out, x, axis, index);
    const std::int64_t outside = kernels::gather_checked(out, x, axis, index);
    fail_out_of_bounds(index, outside, x.sizes[axis], axis, "gather", ErrorKind::Runtime);
}

struct IndexSelect {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "index_select(Tensor self, int dim, Tensor index)",
        .node = "IndexSelectBackward0",
        .flags = kBoth | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "self",
        .batching = BatchBy::IndexedAxis,
        .domain = "self=real(b, c), dim=1, index=index(c, a)",
        .doc =
            "Picks positions along an axis: out[i] = self[index[i]] for dim=0, a copy. index: int32 or int64 of one "
            "axis.",
        .example =
            ">>> torch.index_select(torch.tensor([[1, 2, 3], [4, 5, 6]]), 1, torch.tensor([2, 0]))\n"
            "tensor([[3, 1],\n"
            "        [6, 4]])"};
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
        .doc =
            "Picks one element along dim for each place of index: out[i][j] = self[index[i][j]][j] for dim=0. index "
            "(int32 or int64) has as many axes as self, and gives the result's shape. Elements that are picked several "
            "times sum their gradients. With sparse_grad the gradient is a sparse tensor of the elements picked.",
        .example =
            ">>> torch.gather(torch.tensor([[1, 2], [3, 4]]), 1, torch.tensor([[1], [0]]))\n"
            "tensor([[2],\n"
            "        [3]])"};
    static void forward(const Tensor& x, const Attrs& attrs, const Tensor& given, Tensor& out) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "gather");
        const Tensor index = checked_places(given, "gather");
        if (index.numel()) check_index_shape(index, x, axis, "gather");
        out = empty(Layout::make(index.sizes()), x.dtype());
        if (index.numel() == 0) return;
        gather_within(*AtLeast1(out), *AtLeast1(x), axis, *AtLeast1(index));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, In<1> index, const Attrs& attrs) {
        if (attrs.sparse_grad && can_be_sparse(g) && g.ndim() > 0)
            return sparse_gradients.picked(g, index, wrap_axis(attrs.dim, x.ndim(), "gather"), x.sizes());
        return scatter_add(zeros(x, g.dtype()), static_cast<int>(attrs.dim), index, g);
    }};
};

// Negative indices count from the end of an axis of this size.
Tensor from_end(const Tensor& indices, std::int64_t size) {
    return where(compare(kLt, indices, 0.0), add(indices, number(static_cast<double>(size), DType::Int64)), indices);
}

struct TakeAlongDim {
    struct Attrs {
        std::optional<std::int64_t> dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "take_along_dim(Tensor self, Tensor indices, int? dim=None)",
        .flags = kBoth | kComposite | kOutArgument | kOutAlike,
        .domain = "self=real(b, c), indices=index(b, b, c), dim=0; self=real(b, c), indices=index(b * c, 4)",
        .doc =
            "gather, with self and indices broadcast against each other: what argmax and argsort pick. Negative "
            "indices count from the end. Without dim both are flattened, and negative indices are refused.",
        .example =
            ">>> x = torch.tensor([[3, 1], [2, 4]])\n"
            ">>> torch.take_along_dim(x, torch.argsort(x, dim=1), dim=1)\n"
            "tensor([[1, 3],\n"
            "        [2, 4]])"};
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
            out = gather(x, axis, from_end(indices, 1));
            return;
        }
        Dims own(x.sizes()), theirs(indices.sizes());
        own[axis] = theirs[axis] = 1;
        Dims self_sizes = broadcast_sizes(own, theirs, "take_along_dim"), index_sizes = self_sizes;
        self_sizes[axis] = x.size(axis);
        index_sizes[axis] = indices.size(axis);
        out = gather(expand(x, self_sizes), axis, expand(from_end(indices, x.size(axis)), index_sizes));
    }
};

}  // namespace

Tensor index_select(const Tensor& x, int axis, const Tensor& index) { return run<IndexSelect>({axis}, x, index); }
Tensor gather(const Tensor& x, int axis, const Tensor& index) { return run<Gather>({axis, false}, x, index); }

static const Register<IndexSelect, Gather, TakeAlongDim> indexing_operations;

}  // namespace clew
