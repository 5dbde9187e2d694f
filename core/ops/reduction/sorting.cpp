// Order along an axis. The values that come out carry gradients back to where they came from.
#include "core/kernels/reduction/sort.h"

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/reduction/reduction.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

// Values that were picked along an axis: each gradient goes to the place that it was picked from.
Tensor send_back(const Tensor& g, const Tensor& indices, std::int64_t dim, const Shape<0>& x) {
    return scatter_add(zeros(x, g.dtype()), wrap_axis(dim, x.ndim(), "sort"), indices, g);
}
Tensor send_back_one(const Tensor& g, const Tensor& indices, std::int64_t dim, bool keepdim, const Shape<0>& x) {
    if (keepdim || x.ndim() == 0) return send_back(g, indices, dim, x);
    const int axis = wrap_axis(dim, x.ndim(), "sort");
    return send_back(unsqueeze(g, axis), unsqueeze(indices, axis), dim, x);
}

// Room for values and indices with `length` along the axis.
void make_pair(const char* op, const Tensor& x, int axis, std::int64_t length, Tensor& values, Tensor& indices) {
    check_ordered(op, x.dtype());
    Dims sizes(x.sizes());
    if (x.ndim()) sizes[axis] = length;
    values = empty(sizes, x.dtype());
    indices = empty(sizes, DType::Int64);
}

void sort_into(const Tensor& x, std::int64_t dim, bool descending, Tensor& values, Tensor& indices) {
    check_ordered("sort", x.dtype());
    const int axis = wrap_axis(dim, x.ndim(), "sort");
    values = empty(like_layout(x), x.dtype());
    indices = empty(values.layout_ref(), DType::Int64);
    if (x.numel()) kernels::sort(*AtLeast1(values), *AtLeast1(indices), *AtLeast1(x), axis, descending);
}

struct Sort {
    struct Attrs {
        std::int64_t dim;
        bool descending;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::descending};
    static constexpr OpText text{.schema = "sort(Tensor self, int dim=-1, bool descending=False)",
                                 .node = "SortBackward0",
                                 .flags = kBoth | kOutArgument | kOutAlike,
                                 .outputs = "values indices",
                                 .domain = "distinct; distinct, dim=0, descending=True",
                                 .doc =
                                     "Sorts along an axis; gives the sorted elements and their indices (int64). Always "
                                     "stable; NaN counts as the largest.",
                                 .example =
                                     ">>> values, indices = torch.sort(torch.tensor([3.0, 1.0, 2.0]))\n"
                                     ">>> values, indices\n"
                                     "(tensor([1., 2., 3.]), tensor([1, 2, 0]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        sort_into(x, attrs.dim, attrs.descending, values, indices);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, Out<1> indices, const Attrs& attrs) {
        return send_back(g, indices, attrs.dim, x);
    }};
};

struct SortStable {
    struct Attrs {
        std::optional<bool> stable;
        std::int64_t dim;
        bool descending;
    };
    static constexpr auto fields = std::tuple{&Attrs::stable, &Attrs::dim, &Attrs::descending};
    static constexpr OpText text{
        .schema = "sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False)",
        .node = "SortBackward1",
        .flags = kBoth | kOutArgument | kOutAlike,
        .outputs = "values indices",
        .domain = "distinct, stable=True, dim=0",
        .doc = "Sorts along an axis; equal elements keep their order whatever `stable` says.",
        .example =
            ">>> values, indices = torch.sort(torch.tensor([1, 0, 1]), stable=True, descending=True)\n"
            ">>> values, indices\n"
            "(tensor([1, 1, 0]), tensor([0, 2, 1]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        sort_into(x, attrs.dim, attrs.descending, values, indices);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, Out<1> indices, const Attrs& attrs) {
        return send_back(g, indices, attrs.dim, x);
    }};
};

struct Argsort {
    struct Attrs {
        std::int64_t dim;
        bool descending;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::descending};
    static constexpr OpText text{.schema = "argsort(Tensor self, int dim=-1, bool descending=False)",
                                 .flags = kBoth | kNonDifferentiable,
                                 .domain = "distinct; distinct, dim=0, descending=True",
                                 .doc =
                                     "The indices (int64) that sort along an axis: self.gather(dim, result) is sorted. "
                                     "The sort is stable; NaN comes last.",
                                 .example = ">>> torch.argsort(torch.tensor([3.0, 1.0, 2.0]))\ntensor([1, 2, 0])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        Tensor values;
        sort_into(x, attrs.dim, attrs.descending, values, out);
    }
};

struct StableArgsort {
    struct Attrs {
        bool stable;
        std::int64_t dim;
        bool descending;
    };
    static constexpr auto fields = std::tuple{&Attrs::stable, &Attrs::dim, &Attrs::descending};
    static constexpr OpText text{
        .schema = "argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False)",
        .flags = kBoth | kNonDifferentiable,
        .domain = "distinct, stable=True; distinct, stable=False, dim=0, descending=True",
        .doc = "The indices that sort along an axis; the order is stable whatever `stable` says.",
        .example =
            ">>> torch.argsort(torch.tensor([1, 0, 1]), stable=True, descending=True)\n"
            "tensor([0, 2, 1])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        Argsort::forward(x, {attrs.dim, attrs.descending}, out);
    }
};

struct Msort {
    static constexpr OpText text{.schema = "msort(Tensor self)",
                                 .flags = kBoth | kComposite | kOutArgument | kOutAlike,
                                 .domain = "distinct",
                                 .doc = "Sorts along the first axis: sort(self, dim=0) without the indices.",
                                 .example = ">>> torch.msort(torch.tensor([3, 1, 2]))\ntensor([1, 2, 3])"};
    static void forward(const Tensor& x, Tensor& out) { out = run_many<Sort, 2>({0, false}, x)[0]; }
};

struct Topk {
    struct Attrs {
        std::int64_t k, dim;
        bool largest, sorted;
    };
    static constexpr auto fields = std::tuple{&Attrs::k, &Attrs::dim, &Attrs::largest, &Attrs::sorted};
    static constexpr OpText text{.schema = "topk(Tensor self, int k, int dim=-1, bool largest=True, bool sorted=True)",
                                 .node = "TopkBackward0",
                                 .flags = kBoth | kOutArgument | kOutAlike,
                                 .outputs = "values indices",
                                 .domain = "distinct, k=2; distinct, k=1, dim=0, largest=False",
                                 .doc =
                                     "The k largest elements along an axis (the smallest with largest=False), in "
                                     "order, and their indices (int64).",
                                 .example =
                                     ">>> values, indices = torch.topk(torch.tensor([1.0, 4.0, 3.0]), 2)\n"
                                     ">>> values, indices\n"
                                     "(tensor([4., 3.]), tensor([1, 2]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "topk");
        const std::int64_t size = x.ndim() ? x.size(axis) : 1;
        if (attrs.k < 0 || attrs.k > size)
            fail(ErrorKind::Runtime, "topk: selected index k out of range: expected 0 to %lld, got %lld",
                 static_cast<long long>(size), static_cast<long long>(attrs.k));
        if (x.dtype() == DType::Bool)
            fail(ErrorKind::Runtime, "topk does not support bool dtypes on CPU; cast the input first");
        make_pair("topk", x, axis, attrs.k, values, indices);
        if (values.numel())
            kernels::topk(*AtLeast1(values), *AtLeast1(indices), *AtLeast1(x), axis, attrs.largest, attrs.sorted);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, Out<1> indices, const Attrs& attrs) {
        return send_back(g, indices, attrs.dim, x);
    }};
};

// Picks one element of each lane; the kernel writes to views that still have the axis.
template <class Kernel>
void pick_one(const char* op, const Tensor& x, std::int64_t dim, bool keepdim, Tensor& values, Tensor& indices,
              const Kernel& kernel) {
    const int axis = wrap_axis(dim, x.ndim(), op);
    if (x.ndim() && x.size(axis) == 0)
        fail(ErrorKind::Index, "%s(): Expected reduction dim %d to have non-zero size.", op, axis);
    make_pair(op, x, axis, 1, values, indices);
    if (values.numel()) kernel(*AtLeast1(values), *AtLeast1(indices), *AtLeast1(x), axis);
    if (keepdim || x.ndim() == 0) return;
    Dims sizes(values.sizes());
    sizes.erase(axis);
    values->layout = indices->layout = Layout::make(sizes);
}

struct Kthvalue {
    struct Attrs {
        std::int64_t k, dim;
        bool keepdim;
    };
    static constexpr auto fields = std::tuple{&Attrs::k, &Attrs::dim, &Attrs::keepdim};
    static constexpr OpText text{
        .schema = "kthvalue(Tensor self, int k, int dim=-1, bool keepdim=False)",
        .node = "KthvalueBackward0",
        .flags = kBoth | kOutArgument | kOutAlike,
        .outputs = "values indices",
        .domain = "distinct, k=2; distinct, k=1, dim=0, keepdim=True",
        .doc = "The k-th smallest element along an axis (k counts from 1), and its index. NaN counts as the largest.",
        .example =
            ">>> values, indices = torch.kthvalue(torch.tensor([3.0, 1.0, 2.0]), 2)\n"
            ">>> values, indices\n"
            "(tensor(2.), tensor(2))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "kthvalue");
        const std::int64_t size = x.ndim() ? x.size(axis) : 1;
        if (size != 0 && (attrs.k < 1 || attrs.k > size))
            fail(ErrorKind::Runtime,
                 "kthvalue(): selected number k out of range for dimension %d: expected 1 to %lld, got %lld", axis,
                 static_cast<long long>(size), static_cast<long long>(attrs.k));
        pick_one("kthvalue", x, attrs.dim, attrs.keepdim, values, indices,
                 [&](const auto& to, const auto& places, const auto& from, int along) {
                     kernels::kthvalue(to, places, from, along, attrs.k);
                 });
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, Out<1> indices, const Attrs& attrs) {
        return send_back_one(g, indices, attrs.dim, attrs.keepdim, x);
    }};
};

}  // namespace

static const Register<Sort, SortStable, Argsort, StableArgsort, Msort, Topk, Kthvalue> sorting_operations;

}  // namespace clew
