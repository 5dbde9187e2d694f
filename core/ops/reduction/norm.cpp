// Norms of vectors, and the logarithm of a sum of exponentials.
#include <cmath>
#include <limits>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

using kernels::ReduceKind;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct NormAttrs {
    Scalar ord;
    std::optional<Axes> dim;
    bool keepdim;
    std::optional<DType> dtype;
};

Tensor absolute(const Tensor& x) {
    Tensor out;
    unary("linalg.vector_norm", kernels::unary().abs, x, out);
    return out;
}

// What powers below 1 are taken of: those of floats leave their range soon.
Tensor in_double(const Tensor& x) { return cast(x, DType::Float64); }

// x ** exponent for x >= 0, without history.
Tensor raised(const Tensor& x, double exponent) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    return pow(x, exponent);
}

// Of sizes, as parts of the largest one: their powers leave no range.
Tensor scaled_norm(const Tensor& size, double order, std::uint32_t mask, bool keepdim) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    if (size.numel() == 0) return reduce_axes(ReduceKind::Sum, size, mask, keepdim);
    const Tensor largest = reduce_axes(ReduceKind::Max, size, mask, true);
    const Tensor has_none = logical_or(compare(kEq, largest, 0.0), compare(kEq, largest, kInfinity));
    const Tensor unit = masked_fill(largest, has_none, 1.0);
    const Tensor total = reduce_axes(ReduceKind::Sum, pow(div(size, unit), order), mask, true);
    if (keepdim) return mul(pow(total, 1 / order), unit);
    const Dims sizes = reduced_sizes(size.sizes(), mask, false);
    return mul(pow(reshape(total, sizes), 1 / order), reshape(unit, sizes));  // no view, as a result of any operation
}

Tensor norm_of(const Tensor& x, double order, std::uint32_t mask, bool keepdim) {
    // Of one number: |x|, also where its power would overflow.
    if (order != 0 && x.numel() != 0 && reduced_count(x.sizes(), mask) == 1)
        return reduce_axes(ReduceKind::SumAbs, x, mask, keepdim);
    if (order == 0) return reduce_axes(ReduceKind::Sum, converted(not_zero(x), x.dtype()), mask, keepdim);
    if (order == 1) return reduce_axes(ReduceKind::SumAbs, x, mask, keepdim);
    if (order == 2) return reduce_axes(ReduceKind::Length, x, mask, keepdim);
    if ((std::isinf(order) || order < 0) && x.numel() == 0 && reduced_count(x.sizes(), mask) == 0)
        fail(ErrorKind::Runtime,
             "linalg.vector_norm cannot compute the %g norm on an empty tensor because the operation does not have an "
             "identity",
             order);
    if (std::isinf(order))
        return reduce_axes(order > 0 ? ReduceKind::Max : ReduceKind::Min, absolute(x), mask, keepdim);
    // Powers of floats leave their range soon.
    if (order > 1) return scaled_norm(absolute(x), order, mask, keepdim);
    const Tensor each = raised(absolute(converted(x, DType::Float64)), order);
    return converted(raised(reduce_axes(ReduceKind::Sum, each, mask, keepdim), 1 / order), x.dtype());
}

// The derivative of a norm of an order other than 0, 1 and infinity: g sign(x) |x|^(p - 1) norm^(1 - p), where g and
// the norm have size 1 along the axes. At the origin, and for p < 1 where an element is 0, it is 0 by convention. It is
// an operation so that its own derivative is the true one: NaN or infinite at the origin, and for p < 2 at 0.
struct NormBackward {
    struct Attrs {
        Scalar ord;
        Axes dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::ord, &Attrs::dim};
    static constexpr OpText text{
        .schema = "_linalg_vector_norm_backward(Tensor grad_output, Tensor self, Tensor result, Scalar ord, int[] dim)",
        .node = "LinalgVectorNormBackwardBackward0",
        .flags = kHidden,
        .domain = "unsampled, 'result must be the norm of self'"};
    static void forward(const Tensor& g, const Tensor& x, const Tensor& norm, const Attrs& attrs, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        const double order = attrs.ord.real;
        if (order == 2) {
            out = div_mul(x, masked_fill(norm, compare(kEq, norm, 0.0), 1.0), g);  // g / norm may leave its range
            return;
        }
        const Tensor from = order > 1 ? Tensor(x) : in_double(x), whole = order > 1 ? Tensor(norm) : in_double(norm);
        const Tensor is_zero = compare(kEq, from, 0.0), size = masked_fill(abs(from), is_zero, 1.0);
        if (order > 1) {
            const Tensor part = div(size, masked_fill(whole, compare(kEq, whole, 0.0), 1.0));
            out = mul(masked_fill(mul(sign(from), pow(part, order - 1)), is_zero, 0.0), g);
            return;
        }
        const Tensor slope = masked_fill(mul(sign(from), pow(size, order - 1)), is_zero, 0.0);
        out = cast(mul(slope, mul(g, pow(whole, 1 - order))), promote(x.dtype(), g.dtype()));
    }
    // factor * weight, where a weight of 0 counts for nothing, also if the factor is infinite. It is linear in the
    // weight at 0, too: another mask would make its derivative there 0.
    static Tensor weighted(const Tensor& factor, const Tensor& weight) {
        const Tensor finite = compare(kEq, sub(factor, factor), 0.0);
        const Tensor nothing = logical_and(compare(kEq, weight, 0.0), logical_not(finite));
        return mul(masked_fill(factor, nothing, 0.0), weight);
    }
    // By the elements: g (p - 1) norm^(1 - p) (|x|^(p - 2) v - s sum(s v) / norm^p) for s = sign(x) |x|^(p - 1) and an
    // incoming v. That is whole: the norm is no variable of its own. Elements that nobody asks for (v is 0) and norms
    // that nobody reads (g is 0) count for nothing, also where their derivatives are infinite. Above 1 it is
    // g (p - 1) / norm (r^(p - 2) v - s sum(s v)) with r = |x| / norm, s = sign(x) r^(p - 1): powers that leave no
    // range.
    static Tensor by_elements(const Tensor& v, const Tensor& g, const Tensor& x, const Tensor& norm, double order,
                              const Dims& axes) {
        const bool in_parts = order > 1;
        const Tensor whole = in_parts ? Tensor(norm) : in_double(norm);
        const Tensor from = in_parts ? div(x, masked_fill(norm, compare(kEq, norm, 0.0), 1.0)) : in_double(x);
        const Tensor size = abs(from);
        const Tensor slope = order == 2 ? from : mul(sign(from), pow(size, order - 1));
        const Tensor bend = order == 2 ? Tensor(v) : weighted(pow(size, order - 2), v);
        const Tensor along = sum(weighted(slope, v), axes, true);
        const Tensor rest = sub(bend, weighted(in_parts ? slope : div(slope, pow(whole, order)), along));
        const Tensor scale =
            in_parts ? div(number(order - 1, DType::Float64), whole) : mul(pow(whole, 1 - order), order - 1);
        const Tensor product = mul(rest, weighted(scale, g));
        const Tensor is_asked = mul(g, sum(abs(v), axes, true));
        const Tensor unread = logical_and(compare(kEq, is_asked, 0.0), logical_not(is_finite(product)));
        return masked_fill(product, unread, 0.0);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& v, In<0> g, In<1> x, In<2> norm, const Attrs& attrs) {
            return sum(mul(v, run<NormBackward>(attrs, ones_like(g), x, norm)), attrs.dim, true);
        },
        [](const Tensor& v, In<0> g, In<1> x, In<2> norm, const Attrs& attrs) {
            return by_elements(v, g, x, norm, attrs.ord.real, attrs.dim);
        },
        nullptr,
    };
};

// `g` and `norm` have size 1 along the axes of the norm.
Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& norm, Scalar order, std::uint32_t mask) {
    if (order.real == 0) return zeros_like(x);
    if (order.real == 1) return mul(g, sign(x));
    if (!std::isinf(order.real)) return run<NormBackward>({order, axes_of(mask)}, g, x, norm);
    const Tensor size = abs(x), both_nan = logical_and(compare(kNe, size, size), compare(kNe, norm, norm));
    const Tensor wide = widened(g), hit = cast(logical_or(compare(kEq, size, norm), both_nan), wide.dtype());
    return mul(mul(sign(x), hit), div(wide, sum(hit, axes_of(mask), true)));
}

// Of complex numbers.
Tensor sizes_of(const Tensor& z) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    return abs(z);
}

struct VectorNorm {
    using Attrs = NormAttrs;
    static constexpr auto fields = std::tuple{&Attrs::ord, &Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{
        .schema =
            "linalg_vector_norm(Tensor self, Scalar ord=2, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None)",
        .node = "LinalgVectorNormBackward0",
        .flags = kHidden | kOutArgument | kOutAlike,
        .domain = "nonzero; nonzero, ord=3, dim=(1,), keepdim=True; nonzero, ord=1",
        .doc =
            "The ord-th root of the sum of |self| ** ord over the given axes; inf and -inf give the largest and the "
            "smallest |self|."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (is_integral(x.dtype()))
            fail(ErrorKind::Runtime,
                 "linalg.vector_norm: Expected a floating point or complex tensor as input. Got %s; cast it first",
                 dtype_name(x.dtype()));
        if (attrs.dtype && is_integral(*attrs.dtype))
            fail(ErrorKind::Runtime, "linalg.vector_norm: dtype should be floating point, got %s",
                 dtype_name(*attrs.dtype));
        if (attrs.dtype && promote(x.dtype(), *attrs.dtype) != *attrs.dtype)
            fail(ErrorKind::Runtime,
                 "linalg.vector_norm: expected a dtype to which %s converts without loss, got %s; cast the input first",
                 dtype_name(x.dtype()), dtype_name(*attrs.dtype));
        const std::uint32_t mask = axes_mask(attrs.dim, x.ndim(), "linalg.vector_norm");
        const Tensor in = converted(x, attrs.dtype.value_or(x.dtype()));
        out = norm_of(is_complex(in.dtype()) ? sizes_of(in) : in, attrs.ord.real, mask, attrs.keepdim);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x, Out<> result, const Attrs& attrs) {
        const std::uint32_t mask = axes_mask(attrs.dim, x->ndim(), "linalg.vector_norm");
        if (is_complex(x->dtype()))
            return mul(sgn(x), norm_gradient(restore_axes(g, mask, x->ndim(), attrs.keepdim), cast(abs(x), g.dtype()),
                                             restore_axes(result, mask, x->ndim(), attrs.keepdim), attrs.ord, mask));
        return norm_gradient(restore_axes(g, mask, x->ndim(), attrs.keepdim), cast(x, g.dtype()),
                             restore_axes(result, mask, x->ndim(), attrs.keepdim), attrs.ord, mask);
    }};
};

// torch.norm: p is a number or a name, and None means 2.
struct Norm {
    struct Attrs {
        std::optional<Scalar> p;
        std::optional<Axes> dim;
        bool keepdim;
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::p, &Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{
        .schema = "norm(Tensor self, Scalar? p=2, int[]? dim=None, bool keepdim=False, dtype? dtype=None)",
        .flags = kBoth | kComposite | kOutArgument | kOutAlike,
        .domain = "real; nonzero, p=3, dim=(1,), keepdim=True",
        .doc =
            "The vector norm (sum of |x|^p)^(1/p) over the axes dim, of all elements by default; p=inf is the largest "
            "|x|, p=-inf the smallest, p=0 counts the nonzero. The gradient at 0 is 0.",
        .example = ">>> torch.norm(torch.tensor([3.0, 4.0]))\ntensor(5.)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = run<VectorNorm>({attrs.p.value_or(Scalar::of(2.0)), attrs.dim, attrs.keepdim, attrs.dtype}, x);
    }
};

struct NamedNorm {
    struct Attrs {
        Text p;
        std::optional<Axes> dim;
        bool keepdim;
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::p, &Attrs::dim, &Attrs::keepdim, &Attrs::dtype};
    static constexpr OpText text{
        .schema = "norm.name(Tensor self, str p, int[]? dim=None, bool keepdim=False, dtype? dtype=None)",
        .flags = kBoth | kComposite | kOutArgument | kOutAlike,
        .domain = "real, p='fro'; real, p='fro', dim=(0, 1)",
        .doc =
            "The norm of this name: 'fro' is the Frobenius norm, the root of the sum of squares; 'nuc' raises "
            "NotImplementedError.",
        .example =
            ">>> torch.norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]), \"fro\")\n"
            "tensor(5.)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.p == "nuc")
            fail(ErrorKind::NotImplemented,
                 "norm: the nuclear norm (p='nuc') is not supported here; use linalg.matrix_norm(x, 'nuc')");
        if (!(attrs.p == "fro")) fail(ErrorKind::Runtime, "linalg.matrix_norm: Order %s not supported.", attrs.p.data);
        out = run<VectorNorm>({Scalar::of(2.0), attrs.dim, attrs.keepdim, attrs.dtype}, x);
    }
};

struct LogSumExp {
    struct Attrs {
        Axes dim;
        bool keepdim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::keepdim};
    static constexpr OpText text{.schema = "logsumexp(Tensor self, int[] dim, bool keepdim=False)",
                                 .node = "LogsumexpBackward0",
                                 .flags = kBoth | kOutArgument,
                                 .domain = "real, dim=(1,); real, dim=(0, 1), keepdim=True",
                                 .doc = "ln(sum(exp(self))) over the axes dim, without overflow.",
                                 .example =
                                     ">>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), dim=0)\n"
                                     "tensor(1000.6932)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (is_complex(x.dtype())) no_kernel_for(x.dtype());
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
