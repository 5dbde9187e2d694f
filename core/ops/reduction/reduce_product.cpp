// Products of all elements or along an axis.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

// At each place along the axis, the product of all other elements, without a division.
Tensor products_of_the_others(const Tensor& x, int axis) {
    const std::int64_t size = x.size(axis);
    Dims one_size(x.sizes());
    one_size[axis] = 1;
    const Tensor one = ones(one_size, x.dtype());
    if (size == 1) return one;
    const Dims last{axis};
    const Tensor before = cumprod(cat(std::array{one, narrow(x, axis, 0, size - 1)}, axis), axis);
    const Tensor after = cumprod(cat(std::array{one, flip(narrow(x, axis, 1, size - 1), last)}, axis), axis);
    return mul(before, flip(after, last));
}

// `g` and `result` have size 1 along the axis.
Tensor product_gradient(const Tensor& g, const Tensor& given, const Tensor& result, int axis) {
    const Tensor x = cast(given, g.dtype());
    if (mode(kInterpreted) && !is_meta(x)) {  // both ways: who replays these steps may have other values
        const Tensor none = all_nonzero(x), one = ones(Dims{}, x.dtype());
        return mul(
            g, conj(where(none, div(result, where(none, x, one)), products_of_the_others(where(none, one, x), axis))));
    }
    return mul(g, conj(has_zero(x) ? products_of_the_others(x, axis) : div(result, x)));
}

struct ProdAll {
    struct Attrs {
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dtype};
    static constexpr OpText text{
        .schema = "prod(Tensor self, *, dtype? dtype=None)",
        .node = "ProdBackward0",
        .domain = "real",
        .doc = "The product of all elements; integers are multiplied as int64. Zeros have their right gradient.",
        .example = ">>> torch.prod(torch.tensor([2.0, 3.0, 4.0]))\ntensor(24.)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        check_history_fits(x, attrs.dtype, "prod");
        const Tensor in = converted(x, attrs.dtype.value_or(x.dtype()));
        const Tensor result = reduce_axes(kernels::ReduceKind::Product, in, all_axes(x), false);
        out = converted(result, attrs.dtype.value_or(result.dtype()));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, Out<> result) {
        const Dims flat{x->numel()};
        return reshape(product_gradient(g, reshape(x, flat), result, 0), x->sizes());
    }};
};

struct ProdAxis {
    struct Attrs {
        std::int64_t dim;
        bool keepdim;
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{.schema = "prod.dim(Tensor self, int dim, bool keepdim=False, *, dtype? dtype=None)",
                                 .node = "ProdBackward1",
                                 .flags = kBoth | kOutArgument | kOutAlike | kOutSetsDType,
                                 .domain = "real, dim=1",
                                 .doc = "The product along an axis.",
                                 .example = ">>> torch.prod(torch.tensor([[1, 2], [3, 4]]), dim=1)\ntensor([ 2, 12])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const std::uint32_t mask = axes_mask(Dims{attrs.dim}, x.ndim(), "prod");
        check_history_fits(x, attrs.dtype, "prod");
        const Tensor in = converted(x, attrs.dtype.value_or(x.dtype()));
        const Tensor result = reduce_axes(kernels::ReduceKind::Product, in, mask, attrs.keepdim);
        out = converted(result, attrs.dtype.value_or(result.dtype()));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, Out<> result, const Attrs& attrs) {
        if (x->ndim() == 0) return g;
        const int axis = wrap_axis(attrs.dim, x->ndim(), "prod");
        const std::uint32_t mask = 1u << axis;
        return product_gradient(restore_axes(g, mask, x->ndim(), attrs.keepdim), x,
                                restore_axes(result, mask, x->ndim(), attrs.keepdim), axis);
    }};
};

}  // namespace

static const Register<ProdAll, ProdAxis> product_reductions;

}  // namespace clew
