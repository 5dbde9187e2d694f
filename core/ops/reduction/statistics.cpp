// Variance and standard deviation, alone and with the mean.
#include <algorithm>
#include <limits>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The three ways to call each: (unbiased), (dim, unbiased, keepdim), (dim, *, correction, keepdim). The last says it
// all; the others are the schemas `ways` of its struct.
struct UnbiasedAttrs {
    bool unbiased;
    static constexpr int way = 0;
    static constexpr const char* domain = "real";
    static constexpr auto fields = std::tuple{&UnbiasedAttrs::unbiased};
};
struct DimAttrs {
    std::optional<Axes> dim;
    bool unbiased, keepdim;
    static constexpr int way = 1;
    static constexpr const char* domain = "real, dim=(1,); real, dim=(0,), unbiased=False, keepdim=True";
    static constexpr auto fields = std::tuple{&DimAttrs::dim, &DimAttrs::unbiased, &DimAttrs::keepdim};
};
struct CorrectionAttrs {
    std::optional<Axes> dim;
    std::optional<Scalar> correction;
    bool keepdim;
    static constexpr auto fields =
        std::tuple{&CorrectionAttrs::dim, &CorrectionAttrs::correction, &CorrectionAttrs::keepdim};
};

CorrectionAttrs in_full(const UnbiasedAttrs& attrs) {
    return {std::nullopt, Scalar::of(std::int64_t{attrs.unbiased}), false};
}
CorrectionAttrs in_full(const DimAttrs& attrs) {
    return {attrs.dim, Scalar::of(std::int64_t{attrs.unbiased}), attrs.keepdim};
}

double degrees_of_freedom(Sizes sizes, std::uint32_t mask, const CorrectionAttrs& attrs) {
    const double correction = attrs.correction ? attrs.correction->real : 1.0;
    return static_cast<double>(reduced_count(sizes, mask)) - correction;
}

using kernels::Spread;

void moments(const char* op, const Tensor& x, const CorrectionAttrs& attrs, Spread which, Tensor& out,
             Tensor& mean_of_x) {
    const std::uint32_t mask = axes_mask(attrs.dim, x.ndim(), op);
    const Dims without = reduced_sizes(x.sizes(), mask, false);
    // Never by a negative number: with too few elements the result is NaN or infinite.
    const double divisor = std::max(0.0, degrees_of_freedom(x.sizes(), mask, attrs));
    out = empty(without, real_dtype(x.dtype()));
    mean_of_x = empty(without, x.dtype());
    if (is_complex(x.dtype())) {  // of both parts together
        const Tensor imag = empty(without, out.dtype());
        const auto of = [&](int part, const Tensor& to) {
            kernels::moments(part_of(mean_of_x, part).view(), to.view(), part_of(x, part).view(), mask, divisor,
                             Spread::Variance);
        };
        of(0, out);
        of(1, imag);
        kernels::elementwise(kernels::arithmetic().add[static_cast<int>(imag.dtype())], out.view(),
                             {out.view(), imag.view()});
        if (which == Spread::Deviation)
            kernels::elementwise(kernels::unary().sqrt[static_cast<int>(out.dtype())], out.view(), {out.view()});
    } else {
        kernels::moments(mean_of_x.view(), out.view(), x.view(), mask, divisor, which);
    }
    if (attrs.keepdim) out->layout = mean_of_x->layout = Layout::make(reduced_sizes(x.sizes(), mask, true));
    if (reduced_count(x.sizes(), mask) == 0) kernels::fill(out.view(), kNaN);
}

void spread_of(const char* op, const Tensor& x, const CorrectionAttrs& attrs, Spread which, Tensor& out,
               Tensor& mean_of_x) {
    if (is_integral(x.dtype()))
        fail(ErrorKind::Runtime,
             "%s: std and var only support floating point and complex dtypes, got %s; cast it first", op,
             dtype_name(x.dtype()));
    if (which == Spread::Variance || !is_complex(x.dtype())) return moments(op, x, attrs, which, out, mean_of_x);
    // The variance of complex64 may be out of range where its root is not.
    moments(op, converted(x, promote(x.dtype(), DType::Float64)), attrs, which, out, mean_of_x);
    out = converted(out, real_dtype(x.dtype()));
    mean_of_x = converted(mean_of_x, x.dtype());
}

Tensor variance_gradient(const Tensor& g, const Tensor& x, const CorrectionAttrs& attrs) {
    const std::uint32_t mask = axes_mask(attrs.dim, x.ndim(), "var");
    const double degrees = degrees_of_freedom(x.sizes(), mask, attrs);
    const Tensor g_of_all = restore_axes(g, mask, x.ndim(), attrs.keepdim), mean_of_x = mean(x, axes_of(mask), true);
    // Where nothing is left to divide by there is no derivative. PyTorch's convention: infinity or NaN if all axes are
    // reduced, and the formula's number else.
    if (degrees <= 0 && (x.ndim() == 0 || !attrs.dim))
        return mul(g_of_all, where(compare(kEq, x, mean_of_x), number(kNaN, DType::Float64),
                                   full(Sizes(), std::numeric_limits<double>::infinity(), x.dtype())));
    return mul(sub(x, mean_of_x), mul(g_of_all, 2 / degrees));
}
// Where all elements are equal the deviation has a corner; its gradient there is 0.
Tensor deviation_gradient(const Tensor& g, const Tensor& x, const Tensor& deviation, const CorrectionAttrs& attrs) {
    const std::uint32_t mask = axes_mask(attrs.dim, x.ndim(), "std");
    const double degrees = degrees_of_freedom(x.sizes(), mask, attrs);
    const Tensor flat = compare(kEq, deviation, 0.0), divisor = masked_fill(deviation, flat, 1.0);
    if (degrees <= 0) return variance_gradient(masked_fill(div(g, mul(divisor, 2.0)), flat, 0.0), x, attrs);
    const auto of_all = [&](const Tensor& each) { return restore_axes(each, mask, x.ndim(), attrs.keepdim); };
    // g / deviation may leave its range.
    return div_mul(sub(x, mean(x, axes_of(mask), true)), of_all(divisor),
                   of_all(masked_fill(div(g, degrees), flat, 0.0)));
}
Tensor mean_gradient(const Tensor& g, Sizes sizes, const CorrectionAttrs& attrs) {
    const int ndim = static_cast<int>(sizes.size());
    const std::uint32_t mask = axes_mask(attrs.dim, ndim, "mean");
    return expand(div(restore_axes(g, mask, ndim, attrs.keepdim), static_cast<double>(reduced_count(sizes, mask))),
                  sizes);
}

template <bool root>
struct Alone {
    static constexpr const char* name = root ? "std" : "var";
    static constexpr const char* ways[] = {
        root ? "std(Tensor self, bool unbiased=True)" : "var(Tensor self, bool unbiased=True)",
        root ? "std.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False)"
             : "var.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False)"};
    using Attrs = CorrectionAttrs;
    static constexpr auto fields = Attrs::fields;
    static constexpr OpText text{
        .schema = root ? "std.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
                       : "var.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
        .node = root ? "StdBackward0" : "VarBackward0",
        .flags = kBoth | kOutArgument,
        .domain = "real; real, dim=(1,), correction=0, keepdim=True",
        .doc =
            root ? "The standard deviation sqrt(sum((x - mean)²) / (n - correction)) over the axes dim, or of all "
                   "elements. "
                   "correction is 1 by default, 0 with unbiased=False. The gradient is 0 where all elements are equal."
                 : "The variance sum((x - mean)²) / (n - correction) over the axes dim, or of all elements. correction "
                   "is 1 "
                   "by default, 0 with unbiased=False.",
        .example = root ? ">>> torch.std(torch.tensor([[1.0, 3.0], [2.0, 2.0]]), dim=1)\n"
                          "tensor([1.4142, 0.0000])"
                        : ">>> torch.var(torch.tensor([[1.0, 3.0], [2.0, 2.0]]), dim=1)\n"
                          "tensor([2., 0.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        Tensor mean_of_x;
        spread_of(name, x, attrs, root ? Spread::Deviation : Spread::Variance, out, mean_of_x);
    }
    static constexpr auto rules = [] {
        if constexpr (root)
            return std::tuple{[](const Tensor& g, In<0> x, Out<> result, const Attrs& attrs) {
                return deviation_gradient(g, x, result, attrs);
            }};
        else
            return std::tuple{
                [](const Tensor& g, In<0> x, const Attrs& attrs) { return variance_gradient(g, x, attrs); }};
    }();
};
using Var = Alone<false>;
using Std = Alone<true>;

// (variance or its root, mean)
template <bool root>
struct WithMean {
    static constexpr const char* name = root ? "std_mean" : "var_mean";
    static constexpr const char* ways[] = {
        root ? "std_mean(Tensor self, bool unbiased=True)" : "var_mean(Tensor self, bool unbiased=True)",
        root ? "std_mean.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False)"
             : "var_mean.dim(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False)"};
    using Attrs = CorrectionAttrs;
    static constexpr auto fields = Attrs::fields;
    static constexpr OpText text{
        .schema =
            root ? "std_mean.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False)"
                 : "var_mean.correction(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False)",
        .node = root ? "StdMeanBackward0" : "VarMeanBackward0",
        .flags = kFunction,
        .outputs = "result0 result1",
        .domain = "real; real, dim=(1,), correction=0, keepdim=True",
        .doc = root ? "The standard deviation, as std, and the mean." : "The variance, as var, and the mean.",
        .example = root ? ">>> std, mean = torch.std_mean(torch.tensor([[1.0, 3.0]]), dim=1, correction=0)\n"
                          ">>> std, mean\n"
                          "(tensor([1.]), tensor([2.]))"
                        : ">>> var, mean = torch.var_mean(torch.tensor([[1.0, 3.0]]), dim=1, correction=0)\n"
                          ">>> var, mean\n"
                          "(tensor([1.]), tensor([2.]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& spread, Tensor& mean_of_x) {
        spread_of(name, x, attrs, root ? Spread::Deviation : Spread::Variance, spread, mean_of_x);
    }
    static Saves saves(std::uint64_t, const Attrs&) { return {.inputs = 1, .outputs = root}; }
    static void backward(BackwardCall& call) {
        const Attrs& attrs = attributes_of<Attrs>(call);
        const Tensor x = saved_input(call, 0);  // raises after the first backward, whichever result it began at
        if (const Tensor& g = call.incoming[0])
            call.results[0] =
                root ? deviation_gradient(g, x, saved_output(call, 0), attrs) : variance_gradient(g, x, attrs);
        if (!call.incoming[1]) return;
        const Tensor rest = mean_gradient(call.incoming[1], input_layout(call, 0).shape(), attrs);
        call.results[0] = call.results[0] ? add(call.results[0], rest) : rest;
    }
};
using VarMean = WithMean<false>;
using StdMean = WithMean<true>;

template <class Op, class Given>
struct One {
    using Attrs = Given;
    static constexpr auto fields = Attrs::fields;
    static constexpr OpText text{.schema = Op::ways[Attrs::way],
                                 .flags = kBoth | kComposite | kOutArgument,
                                 .domain = Attrs::domain,
                                 .doc = Op::text.doc};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) { out = run<Op>(in_full(attrs), x); }
};

template <class Op, class Given>
struct Two {
    using Attrs = Given;
    static constexpr auto fields = Attrs::fields;
    static constexpr OpText text{.schema = Op::ways[Attrs::way],
                                 .flags = kFunction | kComposite,
                                 .outputs = Op::text.outputs,
                                 .domain = Attrs::domain,
                                 .doc = Op::text.doc};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& first, Tensor& second) {
        std::tie(first, second) = std::tuple_cat(run_many<Op, 2>(in_full(attrs), x));
    }
};

}  // namespace

static const Register<One<Var, UnbiasedAttrs>, One<Var, DimAttrs>, Var, One<Std, UnbiasedAttrs>, One<Std, DimAttrs>,
                      Std, Two<VarMean, UnbiasedAttrs>, Two<VarMean, DimAttrs>, VarMean, Two<StdMean, UnbiasedAttrs>,
                      Two<StdMean, DimAttrs>, StdMean>
    statistics_operations;

}  // namespace clew
