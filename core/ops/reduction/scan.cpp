// Running sums and products along an axis.
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/kernels/reduction/reduce.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

struct ScanAttrs {
    std::int64_t dim;
    std::optional<DType> dtype;
};

using Kernel = void (*)(const kernels::View& out, const kernels::View& in, int axis);

void scan(const char* op, Kernel kernel, const Tensor& x, const ScanAttrs& attrs, Tensor& out) {
    const int axis = wrap_axis(attrs.dim, x.ndim(), op);
    check_history_fits(x, attrs.dtype, op);
    if (out && attrs.dtype && *attrs.dtype != out.dtype())
        fail(ErrorKind::Runtime, "%s_: expected dtype to be %s, as the tensor that is written has it, got %s", op,
             dtype_name(out.dtype()), dtype_name(*attrs.dtype));
    const Tensor in = converted(x, attrs.dtype.value_or(x.dtype()));
    // A dtype that was asked for is kept; else integers grow to int64.
    const Tensor wide = empty(x.sizes(), kernels::reduced_dtype(kernels::ReduceKind::Sum, in.dtype()));
    kernel(*AtLeast1(wide), *AtLeast1(in), axis);
    const Tensor result = converted(wide, attrs.dtype.value_or(wide.dtype()));
    if (out)
        kernels::copy(out.view(), result.view());
    else
        out = result;
}

// The sum of each element and all that come after it: the sums of a reversed view, written in reverse.
struct CumsumFromTheEnd {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "_cumsum_from_the_end(Tensor self, int dim)",
                                 .node = "CumsumFromTheEndBackward0",
                                 .flags = kHidden,
                                 .derivative = "self",
                                 .domain = "real, dim=1"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "cumsum");
        out = empty(x.sizes(), kernels::reduced_dtype(kernels::ReduceKind::Sum, x.dtype()));
        if (x.numel() == 0) return;
        const AtLeast1 to(out), from(x);
        Dims to_strides, from_strides;
        const auto reversed = [axis](const kernels::View& view, Dims& strides) {
            for (int i = 0; i < view.ndim; ++i) strides.push_back(i == axis ? -view.strides[i] : view.strides[i]);
            const std::int64_t last = (view.sizes[axis] - 1) * view.strides[axis];
            char* const data = static_cast<char*>(view.data) + last * static_cast<std::int64_t>(item_size(view.dtype));
            return kernels::View{data, view.dtype, view.ndim, view.sizes, strides.values};
        };
        kernels::cumsum(reversed(*to, to_strides), reversed(*from, from_strides), axis);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, const Attrs& attrs) { return cumsum(g, static_cast<int>(attrs.dim)); }};
};
Tensor cumsum_from_the_end(const Tensor& x, int axis) { return run<CumsumFromTheEnd>({axis}, x); }

struct Cumsum {
    using Attrs = ScanAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::dtype};
    static constexpr OpText text{.schema = "cumsum(Tensor self, int dim, *, dtype? dtype=None)",
                                 .node = "CumsumBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kOutSetsDType,
                                 .derivative = "self",
                                 .domain = "real, dim=1",
                                 .doc =
                                     "The cumulative sum (prefix sum) along an axis: out[i] = self[0] + ... + self[i]. "
                                     "Integers are summed as int64.",
                                 .example = ">>> torch.cumsum(torch.tensor([1, 2, 3]), dim=0)\ntensor([1, 3, 6])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        scan("cumsum", kernels::cumsum, x, attrs, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, const Attrs& attrs) { return cumsum_from_the_end(g, static_cast<int>(attrs.dim)); }};
};

// The gradient of element k is the sum over i >= k of g_i y_i / x_k. Where an x_k is zero that is 0 / 0, and the
// products are made without it: only the first zero of a row can have a gradient, and what comes after it has none.
Tensor cumprod_gradient_beside_zeros(const Tensor& g, const Tensor& x, const Tensor& result, int axis) {
    const Tensor is_zero = compare(kEq, x, 0.0);
    const Tensor zeros_so_far = cumsum(cast(is_zero, DType::Int64), axis);
    const Tensor first_zero = logical_and(is_zero, compare(kEq, zeros_so_far, 1.0));
    const Tensor none = zeros(x.sizes(), x.dtype()), one = ones(x.sizes(), x.dtype());
    const Tensor at_the_zero = cumsum_from_the_end(mul(g, cumprod(where(first_zero, one, x), axis)), axis);
    const Tensor before = div(cumsum_from_the_end(mul(g, result), axis), where(is_zero, one, x));
    return where(compare(kEq, zeros_so_far, 0.0), before, where(first_zero, at_the_zero, none));
}

// The same with every product written out, n^2 of them, because the formula above can't be differentiated again at the
// zeros.
Tensor cumprod_gradient_in_full(const Tensor& g, const Tensor& x, int axis) {
    const std::int64_t size = x.size(axis);
    std::vector<Tensor> gradients;
    for (std::int64_t k = 0; k < size; ++k) {
        const Tensor own = narrow(g, axis, k, 1);
        Tensor from_k = own;
        if (k + 1 < size) {
            const Tensor rest = cumprod(narrow(x, axis, k + 1, size - k - 1), axis);
            from_k = add(own, sum(mul(narrow(g, axis, k + 1, size - k - 1), rest), Dims{axis}, true));
        }
        // All products from k on have the same factor of what comes before k.
        if (k > 0) from_k = mul(from_k, narrow(cumprod(narrow(x, axis, 0, k), axis), axis, k - 1, 1));
        gradients.push_back(from_k);
    }
    return cat(gradients, axis);
}

struct Cumprod {
    using Attrs = ScanAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::dtype};
    static constexpr OpText text{.schema = "cumprod(Tensor self, int dim, *, dtype? dtype=None)",
                                 .node = "CumprodBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kOutSetsDType,
                                 .domain = "nonzero, dim=1",
                                 .doc =
                                     "The cumulative product along an axis: out[i] = self[0] * ... * self[i]. Integers "
                                     "are multiplied as int64. Zeros have their right gradient.",
                                 .example =
                                     ">>> torch.cumprod(torch.tensor([1.0, 2.0, 3.0]), dim=0)\n"
                                     "tensor([1., 2., 6.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        scan("cumprod", kernels::cumprod, x, attrs, out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, Out<> result, const Attrs& attrs) {
        const int axis = wrap_axis(attrs.dim, x->ndim(), "cumprod");
        if (x->ndim() == 0 || x->numel() == 0 || x->size(axis) == 1) return g;
        const Tensor given = conj(cast(x, g.dtype())), products = conj(result);
        constexpr std::int64_t kInFull = 256;  // that takes a square number of steps
        if (mode(kInterpreted) && !is_meta(given) && (!differentiates() || x->size(axis) <= kInFull)) {
            // Both ways: who replays these steps may have other values.
            const Tensor none = all_nonzero(given), one = ones(Dims{}, given.dtype());
            const Tensor with_zeros = where(none, one, given);
            return where(none, div(cumsum_from_the_end(mul(g, products), axis), where(none, given, one)),
                         differentiates() ? cumprod_gradient_in_full(g, with_zeros, axis)
                                          : cumprod_gradient_beside_zeros(g, with_zeros, products, axis));
        }
        if (!has_zero(given)) return div(cumsum_from_the_end(mul(g, products), axis), given);
        return differentiates() ? cumprod_gradient_in_full(g, given, axis)
                                : cumprod_gradient_beside_zeros(g, given, products, axis);
    }};
};

}  // namespace

Tensor cumsum(const Tensor& x, int axis) { return run<Cumsum>({axis, std::nullopt}, x); }
Tensor cumprod(const Tensor& x, int axis) { return run<Cumprod>({axis, std::nullopt}, x); }

static const Register<CumsumFromTheEnd, Cumsum, Cumprod> scan_operations;

}  // namespace clew
