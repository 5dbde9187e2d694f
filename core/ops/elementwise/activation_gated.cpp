// Activations in which a part of the input gates the rest: glu, mish.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

// ---------------------------------------------------------------------------------------------------------------- glu
struct AlongAttrs {
    std::int64_t dim;
};

int even_axis(const Tensor& x, std::int64_t dim) {
    if (x.ndim() == 0)
        fail(ErrorKind::Runtime,
             "glu: glu does not support scalars because halving size must be even; got a 0-dim one");
    const int axis = wrap_axis(dim, x.ndim(), "glu");
    if (x.size(axis) % 2)
        fail(ErrorKind::Runtime, "glu: Halving dimension must be even, but dimension %d is size %lld", axis,
             static_cast<long long>(x.size(axis)));
    return axis;
}

// Half 0 or 1 along an axis, as plain memory.
Tensor half_of(const Tensor& x, int axis, int which) {
    Part part{Dims(x.sizes()), Dims(x.strides()), which * (x.size(axis) / 2) * x.stride(axis)};
    part.sizes[axis] /= 2;
    return view_part(x, part);
}
// The same, differentiable.
Tensor half(const Tensor& x, int axis, int which) {
    const std::int64_t size = x.size(axis) / 2;
    return narrow(x, axis, which * size, size);
}

// With x = [f, h] and s = sigmoid(h), the gradient of f s is [g s, g f s (1 - s)].
struct GluBackward {
    using Attrs = AlongAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "_glu_backward(Tensor grad_output, Tensor self, int dim)",
                                 .node = "GluBackwardBackward0",
                                 .flags = kHidden,
                                 .derivative = "grad_output",
                                 .domain = "grad_output=real(a, b), self=real(c, b), dim=0"};
    static void forward(const Tensor& g, const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int axis = even_axis(x, attrs.dim);
        out = empty(x.sizes(), x.dtype());
        Tensor gate, by_first = half_of(out, axis, 0), by_second = half_of(out, axis, 1);
        unary("glu", kernels::exponential().sigmoid, half_of(x, axis, 1), gate);
        binary("glu", kernels::arithmetic().mul, g, gate, by_first);
        binary("glu", kernels::arithmetic().mul, g, half_of(x, axis, 0), by_second);
        binary("glu", kernels::activation().sigmoid_backward, by_second, gate, by_second);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x, const Attrs& attrs) {
            const int axis = even_axis(x, attrs.dim);
            const Tensor s = sigmoid(half(x, axis, 1)), bend = mul(s, add(neg(s), 1));
            return add(mul(half(gg, axis, 0), s), mul(mul(half(gg, axis, 1), half(x, axis, 0)), bend));
        },
        [](const Tensor& gg, In<0> g, In<1> x, const Attrs& attrs) {
            const int axis = even_axis(x, attrs.dim);
            const Tensor s = sigmoid(half(x, axis, 1)), bend = mul(g, mul(s, add(neg(s), 1)));
            const Tensor first = mul(half(gg, axis, 1), bend);
            const Tensor curve = mul(mul(first, half(x, axis, 0)), add(mul(s, -2), 1));
            const Tensor parts[] = {first, add(mul(half(gg, axis, 0), bend), curve)};
            return cat(parts, axis);
        },
    };
};

struct Glu {
    using Attrs = AlongAttrs;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "glu(Tensor self, int dim=-1)",
                                 .node = "GluBackward0",
                                 .flags = kFunction,
                                 .domain = "self=real(a, c); self=real(c, b), dim=0",
                                 .doc =
                                     "The gated linear unit a * sigmoid(b), a and b being the first and the second "
                                     "half of self along an axis of even size.",
                                 .example =
                                     ">>> torch.nn.functional.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))\n"
                                     "tensor([0.5000, 1.0000])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int axis = even_axis(x, attrs.dim);
        if (!is_floating(x.dtype()))
            fail(ErrorKind::NotImplemented, "glu: not implemented for dtype %s; cast the input first",
                 dtype_name(x.dtype()));
        unary("glu", kernels::exponential().sigmoid, half_of(x, axis, 1), out);
        binary("glu", kernels::arithmetic().mul, half_of(x, axis, 0), out, out);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, In<0> x, const Attrs& attrs) { return run<GluBackward>(attrs, g, x); }};
};

// --------------------------------------------------------------------------------------------------------------- mish
// With s = sigmoid(x) and t = tanh(softplus(x)), whose derivative is s (1 - t t): the second derivative of x t is
// s (1 - t t) (2 + x (1 - s - 2 s t)).
Tensor mish_curvature(const Tensor& x) {
    const Tensor s = sigmoid(x), t = tanh(neg(logsigmoid(neg(x))));
    const Tensor slope = mul(s, add(neg(mul(t, t)), 1));
    return mul(slope, add(mul(x, sub(add(neg(s), 1), mul(mul(s, t), 2))), 2));
}

struct MishBackward {
    static constexpr OpText text{.schema = "_mish_backward(Tensor grad_output, Tensor self)",
                                 .node = "MishBackwardBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "elementwise",
                                 .domain = "real"};
    static void forward(const Tensor& g, const Tensor& x, Tensor& out) {
        binary("mish_backward", kernels::activation().mish_backward, g, x, out);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& gg, In<1> x) { return run<MishBackward>(gg, x); },
        [](const Tensor& gg, In<0> g, In<1> x) { return mul(mul(gg, g), mish_curvature(x)); },
    };
};

struct Mish {
    static constexpr OpText text{.schema = "mish(Tensor self)",
                                 .node = "MishBackward0",
                                 .flags = kFunction | kInPlace | kElementwise,
                                 .domain = "real",
                                 .doc = "x * tanh(ln(1 + exp(x))). Source: Misra 2019, arXiv:1908.08681.",
                                 .example =
                                     ">>> torch.nn.functional.mish(torch.tensor([-1.0, 0.0, 1.0]))\n"
                                     "tensor([-0.3034,  0.0000,  0.8651])"};
    static void forward(const Tensor& x, Tensor& out) { unary("mish", kernels::activation().mish, x, out); }
    static constexpr auto rules =
        std::tuple{[](Tensor&& g, In<0> x) { return run_over<MishBackward>(std::move(g), x); }};
};

}  // namespace

static const Register<GluBackward, Glu, MishBackward, Mish> gated_activation_operations;

}  // namespace clew
