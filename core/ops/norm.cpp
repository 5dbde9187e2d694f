// Norms of vectors, and the logarithm of a sum of exponentials.
#include <cmath>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/apply.h"
#include "core/ops/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/reduction.h"

namespace clew {
namespace {

using kernels::ReduceKind;

struct NormAttrs {
    Scalar ord;
    std::optional<Dims> dim;
    bool keepdim;
    std::optional<DType> dtype;
};

Tensor absolute(const Tensor& x) {
    Tensor out;
    unary("linalg.vector_norm", kernels::unary().abs, x, out);
    return out;
}

// x ** exponent for x >= 0, without history.
Tensor raised(const Tensor& x, double exponent) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    return pow(x, exponent);
}

Tensor norm_of(const Tensor& x, double order, std::uint32_t mask, bool keepdim) {
    if (order == 0) return reduce_axes(ReduceKind::Sum, converted(not_zero(x), x.dtype()), mask, keepdim);
    if (order == 1) return reduce_axes(ReduceKind::SumAbs, x, mask, keepdim);
    if (order == 2) {
        const Tensor result = reduce_axes(ReduceKind::SumSquares, x, mask, keepdim);
        kernels::elementwise(kernels::unary().sqrt[static_cast<int>(result.dtype())], result.view(), {result.view()});
        return result;
    }
    if (std::isinf(order)) {
        if (x.numel() == 0 && reduced_count(x.sizes(), mask) == 0)
            fail(ErrorKind::Runtime,
                 "linalg.vector_norm cannot compute the %s norm on an empty tensor because the operation does not have "
                 "an identity",
                 order > 0 ? "inf" : "-inf");
        return reduce_axes(order > 0 ? ReduceKind::Max : ReduceKind::Min, absolute(x), mask, keepdim);
    }
    return raised(reduce_axes(ReduceKind::Sum, raised(absolute(x), order), mask, keepdim), 1 / order);
}

// `g` and `norm` have size 1 along the axes of the norm. At the origin, and at 0 for each element, the subgradient is
// 0.
Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& norm, double order, std::uint32_t mask) {
    if (order == 0) return zeros_like(x);
    if (order == 1) return mul(g, sign(x));
    if (std::isinf(order)) {
        const Tensor size = abs(x), both_nan = logical_and(compare("ne", size, size), compare("ne", norm, norm));
        const Tensor hit = cast(logical_or(compare("eq", size, norm), both_nan), g.dtype());
        return mul(mul(sign(x), hit), div(g, sum(hit, axes_of(mask), true)));
    }
    const Tensor divisor = masked_fill(norm, compare("eq", norm, 0.0), 1.0);
    if (order == 2) return mul(x, div(g, divisor));
    // sign(x) |x|^(order - 1), with 1 in place of 0 where the power would be infinite there or have infinite
    // derivatives.
    const Tensor is_zero = compare("eq", x, 0.0), size = masked_fill(abs(x), is_zero, 1.0);
    const Tensor slope = masked_fill(mul(sign(x), pow(size, order - 1)), is_zero, 0.0);
    return mul(slope, div(g, pow(divisor, order - 1)));
}

struct VectorNorm {
    using Attrs = NormAttrs;
    static constexpr auto fields = std::tuple{&Attrs::ord, &Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{
        .schema =
            "linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
        .node = "LinalgVectorNormBackward0",
        .flags = kHidden | kOutArgument,
        .domain = "real",
        .doc =
            "The ord-th root of the sum of |self| ** ord over the given axes; inf and -inf give the largest and the "
            "smallest |self|."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (!is_floating(x.dtype()))
            fail(ErrorKind::Runtime,
                 "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s; cast it first",
                 dtype_name(x.dtype()));
        if (attrs.dtype && !is_floating(*attrs.dtype))
            fail(ErrorKind::Runtime, "linalg.vector_norm: dtype should be floating point, got %s",
                 dtype_name(*attrs.dtype));
        const std::uint32_t mask = axes_mask(attrs.dim, x.ndim(), "linalg.vector_norm");
        out = norm_of(converted(x, attrs.dtype.value_or(x.dtype())), attrs.ord.real, mask, attrs.keepdim);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, Out<> result, const Attrs& attrs) {
        const std::uint32_t mask = axes_mask(attrs.dim, x->ndim(), "linalg.vector_norm");
        return norm_gradient(restore_axes(g, mask, x->ndim(), attrs.keepdim), cast(x, g.dtype()),
                             restore_axes(result, mask, x->ndim(), attrs.keepdim), attrs.ord.real, mask);
    }};
};

// torch.norm: p is a number or a name, and None means 2.
struct Norm {
    struct Attrs {
        std::optional<Scalar> p;
        std::optional<Dims> dim;
        bool keepdim;
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::p, &Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{
        .schema = "norm(Tensor self, Scalar? p=2, int[]? dim=None, bool keepdim=False, dtype? dtype=None)",
        .flags = kBoth | kComposite | kOutArgument,
        .domain = "real",
        .doc = "The p-norm over the given axes, of all elements by default; its gradient at 0 is 0."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = run<VectorNorm>({attrs.p.value_or(Scalar::of(2.0)), attrs.dim, attrs.keepdim, attrs.dtype}, x);
    }
};

struct NamedNorm {
    struct Attrs {
        Text p;
        std::optional<Dims> dim;
        bool keepdim;
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::p, &Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{
        .schema = "norm.name(Tensor self, str p, int[]? dim=None, bool keepdim=False, dtype? dtype=None)",
        .flags = kBoth | kComposite | kOutArgument,
        .domain = "real",
        .doc = "The norm of this name: 'fro' is the root of the sum of squares."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.p == "nuc")
            fail(ErrorKind::NotImplemented,
                 "norm: the nuclear norm (p='nuc') is not supported; use p='fro' or a number");
        if (!(attrs.p == "fro")) fail(ErrorKind::Runtime, "linalg.matrix_norm: Order %s not supported.", attrs.p.data);
        out = run<VectorNorm>({Scalar::of(2.0), attrs.dim, attrs.keepdim, attrs.dtype}, x);
    }
};

struct LogSumExp {
    struct Attrs {
        Dims dim;
        bool keepdim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr OpText text{.schema = "logsumexp(Tensor self, int[] dim, bool keepdim=False)",
                                 .node = "LogsumexpBackward0",
                                 .flags = kBoth | kOutArgument,
                                 .domain = "real",
                                 .doc = "log(sum(exp(self))) over the given axes, also where exp would overflow."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const Tensor in = converted(x, is_floating(x.dtype()) ? x.dtype() : DType::Float32);
        out = reduce_axes(ReduceKind::LogSumExp, in, axes_mask(attrs.dim, x.ndim(), "logsumexp"), attrs.keepdim);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, Out<> result, const Attrs& attrs) {
        const std::uint32_t mask = axes_mask(attrs.dim, x->ndim(), "logsumexp");
        return mul(restore_axes(g, mask, x->ndim(), attrs.keepdim),
                   exp(sub(x, restore_axes(result, mask, x->ndim(), attrs.keepdim))));
    }};
};

}  // namespace

static const Register<VectorNorm, Norm, NamedNorm, LogSumExp> norm_operations;

}  // namespace clew
