// Operations on three tensors: selection, interpolation, and products and quotients that are added.
#include <limits>

#include "core/base/error.h"
#include "core/kernels/memory/index.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

// Overloads of one name stand in one file, in the order in which they are tried.
struct WhereNonzero {
    static constexpr OpText text{
        .schema = "where.condition(Tensor condition)",
        .flags = kFunction | kNonDifferentiable | kSizedByValues,
        .derivative = "elementwise",
        .domain = "condition=mask(a, b)",
        .doc = "As nonzero, with a vector of indices for each axis, in a tuple: x[where(x > 0)] picks them.",
        .example = ">>> torch.where(torch.tensor([0, 5, 6]))\n(tensor([1, 2]),)"};
    static std::size_t outputs(Tensors inputs, const NoAttrs&) {
        return static_cast<std::size_t>(std::max(inputs[0].ndim(), 1));
    }
    static void forward(const Tensor& x, std::span<Tensor> out) {
        const AtLeast1 condition(x);
        const std::int64_t count = kernels::count_nonzero(condition);
        const auto axes = static_cast<std::int64_t>(out.size());
        // Written axis by axis, so that each vector of indices is contiguous.
        const Tensor all = empty({axes, count}, DType::Int64);
        const std::int64_t sizes[] = {count, axes}, strides[] = {1, count};
        if (count) kernels::nonzero({all.data(), DType::Int64, 2, sizes, strides}, condition);
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = alias(all, Layout::make(Dims{count}), static_cast<std::int64_t>(i) * count);
    }
};

struct Where {
    static constexpr OpText text{
        .schema = "where(Tensor condition, Operand self, Operand other)",
        .node = "WhereBackward0",
        .flags = kFunction | kOutArgument | kOutAlike | kChooses | kAnyDType,
        .derivative = "elementwise",
        .domain = "condition=mask(a, b), self=real(a, b), other=real(a, b)",
        .doc = "self where condition (bool or uint8) is True, else other. The gradient goes only to what was chosen.",
        .example =
            ">>> torch.where(torch.tensor([True, False]), torch.tensor([1.0, 2.0]), 0.0)\n"
            "tensor([1., 0.])"};
    static void forward(const Tensor& condition, const Tensor& a, const Tensor& b, Tensor& out) {
        // uint8 was the type of truth once.
        const Tensor chooses = condition.dtype() == DType::UInt8 ? converted(condition, DType::Bool) : condition;
        if (chooses.dtype() != DType::Bool)
            fail(ErrorKind::Runtime,
                 "where: expected condition to be a boolean tensor, but got a tensor with dtype %s; compare it, or "
                 "call .bool()",
                 dtype_name(condition.dtype()));
        const std::array inputs{chooses, a, b};
        for (const Tensor* each : {&a, &b})
            if ((*each)->has(TensorObject::kWrappedNumber))
                check_operand_fits("where", *each, result_dtype(Tensors(inputs).subspan(1)));
        ternary("where", kernels::ternary().where, inputs, out);
    }
    static constexpr auto rules = std::tuple{
        nullptr,
        [](const Tensor& g, In<0> condition) { return where(condition, g, zero()); },
        [](const Tensor& g, In<0> condition) { return where(condition, zero(), g); },
    };
};

// Interpolation wants one dtype, as in PyTorch: a weight says nothing of which of two precisions is meant.
void need_same_dtype(const Tensor& a, const Tensor& other, const char* which) {
    if (a.dtype() != other.dtype())
        fail(ErrorKind::Runtime, "lerp: expected dtype %s for `%s` but got dtype %s; cast one of them",
             dtype_name(a.dtype()), which, dtype_name(other.dtype()));
}

struct Lerp {
    static constexpr OpText text{
        .schema = "lerp.Tensor(Tensor self, Tensor end, Tensor weight)",
        .node = "LerpBackward1",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "elementwise",
        .domain = "real",
        .doc = "Linear interpolation self + weight * (end - self), with a weight for each element.",
        .example =
            ">>> torch.lerp(torch.zeros(2), torch.tensor([10.0, 10.0]), torch.tensor([0.1, 0.5]))\n"
            "tensor([1., 5.])"};
    static void forward(const Tensor& a, const Tensor& b, const Tensor& weight, Tensor& out) {
        need_same_dtype(a, b, "end");
        need_same_dtype(a, weight, "weight");
        ternary("lerp", kernels::ternary().lerp, std::array{a, b, weight}, out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, In<2> weight) { return mul(std::move(g), conj(add(neg(weight), 1))); },
        [](Tensor&& g, In<2> weight) { return mul(std::move(g), conj(weight)); },
        [](Tensor&& g, In<0> a, In<1> b) { return mul(std::move(g), conj(sub(b, a))); },
    };
};

struct LerpNumber {
    struct Attrs {
        double weight;
    };
    static constexpr auto fields = std::tuple{&Attrs::weight};
    static constexpr OpText text{.schema = "lerp.Scalar(Tensor self, Tensor end, float weight)",
                                 .node = "LerpBackward0",
                                 .flags = kBoth | kInPlace | kOutArgument | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "real, weight=0.3",
                                 .doc = "Linear interpolation self + weight * (end - self).",
                                 .example =
                                     ">>> torch.lerp(torch.zeros(2), torch.tensor([10.0, 20.0]), 0.5)\n"
                                     "tensor([ 5., 10.])"};
    static void forward(const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        need_same_dtype(a, b, "end");
        parametric("lerp", kernels::parametric().lerp, {attrs.weight}, std::array{a, b}, out);
    }
    static constexpr auto rules = std::tuple{
        [](Tensor&& g, const Attrs& attrs) { return mul(std::move(g), 1 - attrs.weight); },
        [](Tensor&& g, const Attrs& attrs) { return mul(std::move(g), attrs.weight); },
    };
};

struct ValueAttrs {
    Scalar value;
};

struct Addcmul {
    using Attrs = ValueAttrs;
    static constexpr auto fields = std::tuple{&Attrs::value};
    static constexpr OpText text{
        .schema = "addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
        .node = "AddcmulBackward0",
        .flags = kBoth | kInPlace | kOutArgument,
        .derivative = "elementwise",
        .domain = "real",
        .doc = "self + value * tensor1 * tensor2, in one pass.",
        .example =
            ">>> torch.addcmul(torch.ones(2), torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), value=0.5)\n"
            "tensor([2.5000, 5.0000])"};
    static void forward(const Tensor& x, const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        const Tensor inputs[] = {x, a, b};
        const DType dtype = result_dtype(inputs);
        if (is_inexact(dtype)) return parametric("addcmul", kernels::parametric().addcmul, {attrs.value}, inputs, out);
        Tensor product;
        binary("addcmul", kernels::arithmetic().mul, converted(a, dtype), converted(b, dtype), product);
        parametric("addcmul", kernels::parametric().add_scaled, {attrs.value}, std::array{x, product}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        [](Tensor&& g, In<2> b, const Attrs& attrs) { return mul(std::move(g), scaled(conj(b), attrs.value)); },
        [](Tensor&& g, In<1> a, const Attrs& attrs) { return mul(std::move(g), scaled(conj(a), attrs.value)); },
    };
};

struct Addcdiv {
    using Attrs = ValueAttrs;
    static constexpr auto fields = std::tuple{&Attrs::value};
    static constexpr OpText text{
        .schema = "addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1)",
        .node = "AddcdivBackward0",
        .flags = kBoth | kInPlace | kOutArgument,
        .derivative = "elementwise",
        .domain = "nonzero",
        .doc = "self + value * tensor1 / tensor2, in one pass.",
        .example =
            ">>> torch.addcdiv(torch.zeros(2), torch.tensor([1.0, 2.0]), torch.tensor([4.0, 4.0]), value=2)\n"
            "tensor([0.5000, 1.0000])"};
    static void forward(const Tensor& x, const Tensor& a, const Tensor& b, const Attrs& attrs, Tensor& out) {
        if (is_integral(a.dtype()) && is_integral(b.dtype()))
            fail(ErrorKind::Runtime,
                 "addcdiv: Integer division with addcdiv is no longer supported; expected a floating tensor1 or "
                 "tensor2, got "
                 "%s and %s: cast one of them",
                 dtype_name(a.dtype()), dtype_name(b.dtype()));
        parametric("addcdiv", kernels::parametric().addcdiv, {attrs.value}, std::array{x, a, b}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g) { return g; },
        [](const Tensor& g, In<2> b, const Attrs& attrs) { return div(scaled(g, attrs.value), conj(b)); },
        [](const Tensor& g, In<1> a, In<2> b, const Attrs& attrs) {
            return neg(mul(scaled(g, attrs.value), conj(div(div(a, b), b))));
        },
    };
};

bool is_moderate(const Tensor& x) {
    constexpr std::int64_t kFew = 4096;
    if (!x.contiguous() || x.numel() > kFew) return false;
    if (x.dtype() == DType::Float32) return kernels::all_moderate(x.data_as<float>(), x.numel());
    return x.dtype() == DType::Float64 && kernels::all_moderate(x.data_as<double>(), x.numel());
}

// c / b may leave the range of floats, as a gradient over a tiny norm does.
struct DivMul {
    static constexpr OpText text{.schema = "_div_mul(Tensor self, Tensor other, Tensor factor)",
                                 .node = "DivMulBackward0",
                                 .flags = kHidden,
                                 .derivative = "elementwise",
                                 .domain = "nonzero"};
    static void forward(const Tensor& a, const Tensor& b, const Tensor& c, Tensor& out) {
        const DType dtype = result_dtype(std::array{a, b, c});
        Tensor quotient;
        if (!is_storage_type(dtype) && result_dtype(std::array{c, b}) == dtype)  // with all digits
            binary("div_mul", kernels::arithmetic().div, c, b, quotient);
        else
            quotient = zero();
        // Who captures kernels may run them on other values.
        if (kernel_mode == KernelMode::Run && is_moderate(quotient))
            return binary("div_mul", kernels::arithmetic().mul, a, quotient, out);
        ternary("div_mul", kernels::ternary().div_mul, std::array{a, b, c, quotient}, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, In<1> b, In<2> c) { return div_mul(g, conj(b), conj(c)); },
        [](const Tensor& g, In<0> a, In<1> b, In<2> c) { return neg(div_mul(conj(div_mul(a, b, c)), conj(b), g)); },
        [](const Tensor& g, In<0> a, In<1> b) { return div_mul(conj(a), conj(b), g); },
    };
};

struct NanToNum {
    struct Attrs {
        std::optional<double> nan, posinf, neginf;
    };
    static constexpr auto fields = std::tuple{&Attrs::nan, &Attrs::posinf, &Attrs::neginf};
    static constexpr OpText text{
        .schema = "nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None)",
        .node = "NanToNumBackward0",
        .flags = kBoth | kInPlace | kOutArgument | kOutAlike | kAnyDType,
        .derivative = "elementwise",
        .domain = "real",
        .doc =
            "Replaces NaN by `nan` (0 by default), inf by `posinf` (the largest finite number of the dtype) and -inf "
            "by `neginf` (the smallest one).",
        .example =
            ">>> torch.nan_to_num(torch.tensor([float(\"nan\"), float(\"inf\")]), posinf=9.0)\n"
            "tensor([0., 9.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (is_complex(x.dtype())) no_kernel_for(x.dtype());
        if (is_integral(x.dtype())) {
            if (!out) out = empty(result_layout(x.sizes(), {&x, 1}), x.dtype());
            return kernels::copy(out.view(), x.view());
        }
        const double largest = clew::largest(x.dtype());
        Tensor is_nan;
        unary("nan_to_num", kernels::compare().isnan, x, is_nan, Result::Bool);
        const auto replaced = [](const Tensor& from, double what, double by) {
            Tensor found, result;
            binary("nan_to_num", kernels::compare().eq, from, number(what, DType::Float64), found, Result::Bool);
            ternary("nan_to_num", kernels::ternary().where, std::array{found, number(by, DType::Float64), from},
                    result);
            return result;
        };
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const Tensor bounded =
            replaced(replaced(x, infinity, attrs.posinf.value_or(largest)), -infinity, attrs.neginf.value_or(-largest));
        if (!out) out = empty(result_layout(x.sizes(), {&x, 1}), x.dtype());
        // Last: what stands for NaN may be infinite.
        ternary("nan_to_num", kernels::ternary().where,
                std::array{is_nan, number(attrs.nan.value_or(0), DType::Float64), bounded}, out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> x) { return where(is_finite(x), g, zero()); }};
};

}  // namespace

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) { return run<Where>(condition, a, b); }
Tensor div_mul(const Tensor& a, const Tensor& b, const Tensor& factor) { return run<DivMul>(a, b, factor); }
Tensor div_mul(Tensor&& donated, const Tensor& b, const Tensor& factor) {
    return run_over<DivMul>(std::move(donated), b, factor);
}

static const Register<WhereNonzero, Where, Lerp, LerpNumber, Addcmul, Addcdiv, DivMul, NanToNum> ternary_operations;

}  // namespace clew
