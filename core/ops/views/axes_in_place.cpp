// Axes changed in place: t_, transpose_, squeeze_, unsqueeze_. The memory stays; the tensor gets another geometry, and
// its history one more node.
#include "core/autograd/leaf.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

// What others know of the tensor by its old shape would be wrong: a base's history, a leaf's gradient.
void give_geometry(const char* op, const Tensor& self, const Tensor& like) {
    if (self->base && self.requires_grad())
        fail(ErrorKind::NotImplemented,
             "%s: changing the axes of a view that has a history is not supported; use the form without _", op);
    if (!self->grad_fn && self->has(TensorObject::kRequiresGrad))
        fail(ErrorKind::NotImplemented,
             "%s: changing the axes of a leaf that requires grad is not supported; do it before requires_grad_()", op);
    self->layout = like->layout;
}

// The out-of-place operation on self's memory, without history.
Tensor plain(const Tensor& self) { return alias(self, self->layout, self->offset); }

struct TransposeInPlace {
    using Attrs = AxisPair;
    static constexpr auto fields = std::tuple{&Attrs::dim0, &Attrs::dim1};
    static constexpr OpText text{.schema = "transpose_(Tensor self, int dim0, int dim1)",
                                 .node = "TransposeBackward1",
                                 .flags = kMethod | kWritesInput | kAxesInPlace,
                                 .domain = "real, dim0=0, dim1=1",
                                 .doc = "Exchanges two axes of self itself: its sizes and strides.",
                                 .example =
                                     ">>> torch.tensor([[1, 2], [3, 4]]).transpose_(0, 1)\n"
                                     "tensor([[1, 3],\n"
                                     "        [2, 4]])"};
    static void forward(const Tensor& self, const Attrs& attrs, Tensor&) {
        const int a = wrap_axis(attrs.dim0, self.ndim(), "transpose_"),
                  b = wrap_axis(attrs.dim1, self.ndim(), "transpose_");
        give_geometry("transpose_", self, transpose(plain(self), a, b));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) {
        return transpose(g, static_cast<int>(attrs.dim0), static_cast<int>(attrs.dim1));
    }};
};

struct SwapAxesInPlace : TransposeInPlace {
    static constexpr OpText text{.schema = "swapaxes_(Tensor self, int axis0, int axis1)",
                                 .node = "TransposeBackward1",
                                 .flags = kMethod | kWritesInput | kAxesInPlace,
                                 .domain = "real, axis0=0, axis1=1",
                                 .doc = "Alias of transpose_.",
                                 .example =
                                     ">>> torch.tensor([[1, 2], [3, 4]]).swapaxes_(0, 1)\n"
                                     "tensor([[1, 3],\n"
                                     "        [2, 4]])"};
};
struct SwapDimsInPlace : TransposeInPlace {
    static constexpr OpText text{.schema = "swapdims_(Tensor self, int dim0, int dim1)",
                                 .node = "TransposeBackward1",
                                 .flags = kMethod | kWritesInput | kAxesInPlace,
                                 .domain = "real, dim0=0, dim1=1",
                                 .doc = "Alias of transpose_.",
                                 .example =
                                     ">>> torch.tensor([[1, 2], [3, 4]]).swapdims_(0, 1)\n"
                                     "tensor([[1, 3],\n"
                                     "        [2, 4]])"};
};

struct TInPlace {
    static constexpr OpText text{
        .schema = "t_(Tensor self)",
        .node = "TBackward1",
        .flags = kMethod | kWritesInput | kAxesInPlace,
        .domain = "real",
        .doc = "Transposes a matrix itself: its sizes and strides are exchanged.",
        .example = ">>> torch.tensor([[1, 2], [3, 4]]).t_()\ntensor([[1, 3],\n        [2, 4]])"};
    static void forward(const Tensor& self, Tensor&) { give_geometry("t_", self, t(plain(self))); }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return t(g); }};
};

struct UnsqueezeInPlace {
    using Attrs = Axis;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "unsqueeze_(Tensor self, int dim)",
                                 .node = "UnsqueezeBackward1",
                                 .flags = kMethod | kWritesInput | kAxesInPlace,
                                 .domain = "real, dim=1",
                                 .doc = "Gives self itself a new axis of size 1 at position dim.",
                                 .example = ">>> torch.tensor([1, 2]).unsqueeze_(0)\ntensor([[1, 2]])"};
    static void forward(const Tensor& self, const Attrs& attrs, Tensor&) {
        give_geometry("unsqueeze_", self, unsqueeze(plain(self), wrap_axis(attrs.dim, self.ndim() + 1, "unsqueeze_")));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) { return reshape(g, x); }};
};

struct SqueezeInPlace {
    static constexpr OpText text{.schema = "squeeze_(Tensor self)",
                                 .node = "SqueezeBackward3",
                                 .flags = kMethod | kWritesInput | kAxesInPlace,
                                 .domain = "self=real(a, e, b)",
                                 .doc = "Removes the axes of size 1 from self itself.",
                                 .example = ">>> torch.zeros(2, 1).squeeze_().shape\ntorch.Size([2])"};
    static void forward(const Tensor& self, Tensor&) {
        Tensor result = plain(self);
        for (int axis = self.ndim(); axis-- > 0;) result = squeeze(result, axis);
        give_geometry("squeeze_", self, result);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) { return reshape(g, x); }};
};

struct SqueezeAxisInPlace {
    using Attrs = Axis;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "squeeze_.dim(Tensor self, int dim)",
                                 .node = "SqueezeBackward4",
                                 .flags = kMethod | kWritesInput | kAxesInPlace,
                                 .domain = "self=real(a, e, b), dim=1",
                                 .doc = "Removes this axis from self itself if its size is 1."};
    static void forward(const Tensor& self, const Attrs& attrs, Tensor&) {
        give_geometry("squeeze_", self, squeeze(plain(self), wrap_axis(attrs.dim, self.ndim(), "squeeze_")));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) { return reshape(g, x); }};
};

struct SqueezeAxesInPlace {
    struct Attrs {
        Axes dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "squeeze_.dims(Tensor self, int[] dim)",
                                 .node = "SqueezeBackward5",
                                 .flags = kMethod | kWritesInput | kAxesInPlace,
                                 .domain = "self=real(a, e, b, e), dim=(1, 3)",
                                 .doc = "Removes those of these axes from self itself whose size is 1."};
    static void forward(const Tensor& self, const Attrs& attrs, Tensor&) {
        const std::uint32_t mask = named_axes(attrs.dim, self.ndim(), "squeeze_");
        Tensor result = plain(self);
        for (int axis = self.ndim(); axis-- > 0;)
            if (mask >> axis & 1) result = squeeze(result, axis);
        give_geometry("squeeze_", self, result);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) { return reshape(g, x); }};
};

}  // namespace

static const Register<TransposeInPlace, SwapAxesInPlace, SwapDimsInPlace, TInPlace, UnsqueezeInPlace, SqueezeInPlace,
                      SqueezeAxisInPlace, SqueezeAxesInPlace>
    axes_in_place_operations;

}  // namespace clew
