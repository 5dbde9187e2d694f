// Softmax and its logarithm, with fused derivatives.
#include "core/kernels/layers/softmax.h"

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/operands.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

struct AxisAttrs {
    std::int64_t dim;
};

using Kernel = void (*)(const kernels::View& out, const kernels::View& in, int axis);
using BackwardKernel = void (*)(const kernels::View& out, const kernels::View& grad, const kernels::View& result,
                                int axis);

void forward_by(const char* op, Kernel kernel, const Tensor& x, const AxisAttrs& attrs, Tensor& out) {
    if (!is_floating(x.dtype()))
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; cast it first, or give dtype=", op,
             dtype_name(x.dtype()));
    const int axis = wrap_axis(attrs.dim, x.ndim(), op);
    out = empty(x.sizes(), x.dtype());
    kernel(*AtLeast1(out), *AtLeast1(x), axis);
}

void backward_by(const char* op, BackwardKernel kernel, const Tensor& g, const Tensor& result, const AxisAttrs& attrs,
                 Tensor& out) {
    need_fit(op, is_floating(result.dtype()) && same_sizes(g.sizes(), result.sizes()));
    out = empty(result.sizes(), result.dtype());
    const Tensor grad = converted(g, result.dtype());
    kernel(*AtLeast1(out), *AtLeast1(grad), *AtLeast1(result), wrap_axis(attrs.dim, result.ndim(), op));
}

Tensor total(const Tensor& x, const AxisAttrs& attrs) { return sum(x, Dims{attrs.dim}, true); }

// y (g - sum(g y)): linear and symmetric in g.
struct SoftmaxBackward {
    using Attrs = AxisAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "_softmax_backward_data(Tensor grad_output, Tensor output, int dim)",
                                 .node = "SoftmaxBackwardDataBackward0",
                                 .flags = kHidden,
                                 .derivative = "grad_output",
                                 .domain = "grad_output=real(a, b), output=real(a, b), dim=1"};
    static void forward(const Tensor& g, const Tensor& y, const Attrs& attrs, Tensor& out) {
        backward_by("softmax", kernels::softmax_backward, g, y, attrs, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> y, const Attrs& attrs) { return run<SoftmaxBackward>(attrs, gg, y); },
        [](const Tensor& gg, In<0> g, In<1> y, const Attrs& attrs) {
            const Tensor wide = widened(g), by_factor = mul(gg, sub(wide, total(mul(wide, y), attrs)));
            return sub(by_factor, mul(wide, total(mul(widened(gg), y), attrs)));
        },
    };
};

struct Softmax {
    using Attrs = AxisAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "softmax(Tensor self, int dim)",
                                 .node = "SoftmaxBackward0",
                                 .flags = kBoth | kOutArgument | kOutAlike,
                                 .domain = "real, dim=1",
                                 .doc = "exp(self) / sum(exp(self)) along an axis, without overflow.",
                                 .example =
                                     ">>> torch.softmax(torch.tensor([0.0, 1.0]), dim=0)\n"
                                     "tensor([0.2689, 0.7311])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        forward_by("softmax", kernels::softmax, x, attrs, out);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, Out<> y, const Attrs& attrs) { return run<SoftmaxBackward>(attrs, g, y); }};
};

// g - exp(y) sum(g)
struct LogSoftmaxBackward {
    using Attrs = AxisAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim)",
                                 .node = "LogSoftmaxBackwardDataBackward0",
                                 .flags = kHidden,
                                 .derivative = "grad_output",
                                 .domain = "grad_output=real(a, b), output=real(a, b), dim=1"};
    static void forward(const Tensor& g, const Tensor& y, const Attrs& attrs, Tensor& out) {
        backward_by("log_softmax", kernels::log_softmax_backward, g, y, attrs, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> y, const Attrs& attrs) {
            const Tensor wide = widened(gg);
            return sub(wide, total(mul(wide, exp(widened(y))), attrs));
        },
        [](const Tensor& gg, In<0> g, In<1> y, const Attrs& attrs) {
            return neg(mul(mul(gg, exp(widened(y))), total(widened(g), attrs)));
        },
    };
};

struct LogSoftmax {
    using Attrs = AxisAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "log_softmax(Tensor self, int dim)",
        .node = "LogSoftmaxBackward0",
        .flags = kBoth | kOutArgument | kOutAlike,
        .domain = "real, dim=1",
        .doc = "ln softmax(self) along an axis: self - logsumexp(self), which does not underflow.",
        .example =
            ">>> torch.log_softmax(torch.tensor([0.0, 0.0]), dim=0)\n"
            "tensor([-0.6931, -0.6931])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        forward_by("log_softmax", kernels::log_softmax, x, attrs, out);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, Out<> y, const Attrs& attrs) { return run<LogSoftmaxBackward>(attrs, g, y); }};
};

// With a dtype: a cast first, which is a node of its own.
template <class Op>
struct WithDType {
    struct Attrs {
        std::int64_t dim;
        std::optional<DType> dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::dtype};
    static constexpr bool logarithm = std::is_same_v<Op, LogSoftmax>;
    static constexpr OpText text{
        .schema = logarithm ? "log_softmax.int(Tensor self, int dim, dtype? dtype=None)"
                            : "softmax.int(Tensor self, int dim, dtype? dtype=None)",
        .flags = kBoth | kComposite | kOutArgument | kOutAlike,
        .domain = "real, dim=0, dtype=float64",
        .doc = logarithm ? "log_softmax of self cast to dtype first." : "softmax of self cast to dtype first."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = run<Op>({attrs.dim}, cast(x, attrs.dtype.value_or(x.dtype())));
    }
};

}  // namespace

Tensor softmax(const Tensor& x, int axis) { return run<Softmax>({axis}, x); }
Tensor log_softmax(const Tensor& x, int axis) { return run<LogSoftmax>({axis}, x); }

static const Register<SoftmaxBackward, Softmax, WithDType<Softmax>, LogSoftmaxBackward, LogSoftmax,
                      WithDType<LogSoftmax>>
    softmax_operations;

}  // namespace clew
