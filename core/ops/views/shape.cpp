// Views of the same elements in other sizes.
#include <algorithm>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"
#include "core/ops/reduction/reduction.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

// The same elements in another shape: so is the gradient.
struct ReshapesBack {
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) { return reshape(g, x); }};
};

struct View : ReshapesBack {
    struct Attrs {
        Dims size;
    };
    static constexpr auto fields = std::tuple{&Attrs::size};
    static constexpr OpText text{
        .schema = "view(Tensor self, int[] size)",
        .node = "ViewBackward0",
        .flags = kMethod | kView,
        .batching = BatchBy::Size,
        .domain = "real, size=(b, a); real, size=(-1,)",
        .doc =
            "A view of the same elements in another shape; one size may be -1 and follows from the others. "
            "RuntimeError where strides do not permit it (reshape copies then), or the number of elements differs.",
        .example = ">>> torch.arange(6).view(2, -1)\ntensor([[0, 1, 2],\n        [3, 4, 5]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const Dims sizes = infer_sizes(x, attrs.size, "view");
        LayoutRef layout = view_layout(x.layout(), sizes);
        if (!layout)
            fail(ErrorKind::Runtime,
                 "view: size %s is not compatible with input tensor's size %s and stride %s (at least one dimension "
                 "spans across two "
                 "contiguous subspaces). Use .reshape(...) instead.",
                 shape_text(sizes).c_str(), shape_text(x.sizes()).c_str(), shape_text(x.strides()).c_str());
        out = alias(x, std::move(layout), x->offset);
    }
};

struct ViewDType {
    struct Attrs {
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dtype};
    static constexpr OpText text{.schema = "view.dtype(Tensor self, dtype dtype)",
                                 .flags = kMethod | kView | kNonDifferentiable | kLeadingAxes,
                                 .domain = "real, dtype=int64; real, dtype=int32; self=index(3, a), dtype=int32",
                                 .doc = "The same bytes as elements of another dtype; the last axis grows or shrinks."};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const auto from = static_cast<std::int64_t>(item_size(x.dtype()));
        const auto to = static_cast<std::int64_t>(item_size(attrs.dtype));
        const int last = x.ndim() - 1;
        const auto check = [&](bool holds, const char* expected) {
            if (!holds)
                fail(ErrorKind::Runtime, "view: expected %s to view %s as %s, got shape %s, strides %s", expected,
                     dtype_name(x.dtype()), dtype_name(attrs.dtype), shape_text(x.sizes()).c_str(),
                     shape_text(x.strides()).c_str());
        };
        Dims sizes(x.sizes()), strides;
        if (from != to) {
            check(last >= 0, "self.dim() not 0");
            check(x.stride(last) == 1, "self.stride(-1) to be 1");
            check(sizes[last] * from % to == 0, "the bytes of the last axis to be a multiple of the new size");
            check(x->offset * from % to == 0, "a storage offset that is a multiple of the new size");
            sizes[last] = sizes[last] * from / to;
        }
        for (int axis = 0; axis <= last; ++axis) {
            const std::int64_t bytes = x.stride(axis) * from;
            const bool moves = from == to || axis != last;
            check(!moves || bytes % to == 0 || x.size(axis) <= 1, "strides that are multiples of the new size");
            strides.push_back(moves ? bytes / to : 1);
        }
        out = alias(x, Layout::make(sizes, strides), x->offset * from / to);
        if (attrs.dtype == DType::Bool && x.dtype() != DType::Bool) check_bytes(out);
        out->dtype = attrs.dtype;
    }
    // Kernels know 0 and 1 only. `out` has the geometry of single bytes.
    static void check_bytes(const Tensor& out) {
        out->dtype = DType::UInt8;
        if (kernels_skipped() || out.numel() == 0) return;
        const ModeGuard guard(kNoGrad | kInBackward, true);
        const Tensor bytes = contiguous(out);
        const auto* const data = bytes.data_as<std::uint8_t>();
        if (std::any_of(data, data + bytes.numel(), [](std::uint8_t byte) { return byte > 1; }))
            fail(ErrorKind::Runtime,
                 "view: expected bytes 0 and 1 to view as bool, got others; compare with 0 instead");
    }
};

// The view that reshape gives of memory that is not contiguous.
struct ReshapeAlias : ReshapesBack {
    using Attrs = View::Attrs;
    static constexpr auto fields = std::tuple{&Attrs::size};
    static constexpr OpText text{.schema = "_reshape_alias(Tensor self, int[] size)",
                                 .node = "ReshapeAliasBackward0",
                                 .flags = kHidden | kView,
                                 .batching = BatchBy::Size,
                                 .domain = "real, size=(b, a)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) { View::forward(x, attrs, out); }
};

// Other sizes for a fresh result (a copy of reshape's, a product), which nobody else sees: not a view.
struct UnsafeView : ReshapesBack {
    using Attrs = View::Attrs;
    static constexpr auto fields = std::tuple{&Attrs::size};
    static constexpr OpText text{.schema = "_unsafe_view(Tensor self, int[] size)",
                                 .node = "UnsafeViewBackward0",
                                 .flags = kHidden | kAnyDType,
                                 .derivative = "self",
                                 .batching = BatchBy::Size,
                                 .domain = "self=real(a, b), size=(b, a)"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (!x.contiguous()) return View::forward(x, attrs, out);
        const LayoutRef layout = Layout::make(attrs.size);
        need_fit("view", are_sizes(attrs.size) && layout->numel == x.numel());
        out = alias(x, layout, x->offset);
    }
};

struct Reshape {
    struct Attrs {
        Dims shape;
    };
    static constexpr auto fields = std::tuple{&Attrs::shape};
    static constexpr OpText text{
        .schema = "reshape(Tensor self, int[] shape)",
        .flags = kBoth | kComposite,
        .domain = "real, shape=(b, a); real, shape=(-1,)",
        .doc =
            "The same elements, row by row, in another shape: a view where strides permit, else a copy. One size may "
            "be -1 and follows from the others. RuntimeError where the number of elements differs.",
        .example =
            ">>> torch.reshape(torch.arange(6), (2, -1))\n"
            "tensor([[0, 1, 2],\n"
            "        [3, 4, 5]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const Dims sizes = infer_sizes(x, attrs.shape, "reshape");
        out = reshape_anew(x, sizes);
    }
};

struct Expand {
    struct Attrs {
        Dims size;
    };
    static constexpr auto fields = std::tuple{&Attrs::size};
    static constexpr OpText text{
        .schema = "expand(Tensor self, int[] size)",
        .node = "ExpandBackward0",
        .flags = kMethod | kView,
        .batching = BatchBy::Expand,
        .domain = "self=real(a, e), size=(c, a, b); real, size=(-1, -1)",
        .doc =
            "A view in a larger shape: axes of size 1, and new ones in front, are repeated without a copy (stride 0); "
            "-1 keeps a size. RuntimeError for other sizes that differ.",
        .example =
            ">>> torch.tensor([[1], [2]]).expand(2, 3)\n"
            "tensor([[1, 1, 1],\n"
            "        [2, 2, 2]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = alias(x, expanded_layout(x, attrs.size), x->offset);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x) { return sum_to(g, x); }};
};

struct Unsqueeze : ReshapesBack {
    using Attrs = Axis;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "unsqueeze(Tensor self, int dim)",
        .node = "UnsqueezeBackward0",
        .flags = kBoth | kView,
        .batching = BatchBy::NewAxis,
        .domain = "real, dim=1",
        .doc = "A view with a new axis of size 1 at position dim.",
        .example = ">>> torch.unsqueeze(torch.tensor([1, 2]), 1)\ntensor([[1],\n        [2]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int axis = wrap_axis(attrs.dim, x.ndim() + 1, "unsqueeze");
        Dims sizes(x.sizes()), strides(x.strides());
        const std::int64_t stride = axis < x.ndim() ? clipped_product(x.size(axis), x.stride(axis)) : 1;
        sizes.insert(axis, 1);
        strides.insert(axis, stride);
        out = alias(x, Layout::make(sizes, strides), x->offset);
    }
};

void squeeze_axes(const Tensor& x, std::uint32_t mask, Tensor& out) {
    Dims sizes, strides;
    for (int i = 0; i < x.ndim(); ++i) {
        if ((mask >> i & 1) && x.size(i) == 1) continue;
        sizes.push_back(x.size(i));
        strides.push_back(x.stride(i));
    }
    out = alias(x, Layout::make(sizes, strides), x->offset);
}

struct Squeeze : ReshapesBack {
    static constexpr OpText text{.schema = "squeeze(Tensor self)",
                                 .node = "SqueezeBackward0",
                                 .flags = kBoth | kView,
                                 .batching = BatchBy::Squeeze,
                                 .domain = "self=real(a, e, b)",
                                 .doc = "A view without the axes of size 1.",
                                 .example = ">>> torch.squeeze(torch.zeros(2, 1, 3, 1)).shape\ntorch.Size([2, 3])"};
    static void forward(const Tensor& x, Tensor& out) { squeeze_axes(x, ~0u, out); }
};

struct SqueezeAxis : ReshapesBack {
    using Attrs = Axis;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "squeeze.dim(Tensor self, int dim)",
        .node = "SqueezeBackward1",
        .flags = kBoth | kView,
        .domain = "self=real(a, e, b), dim=1",
        .doc = "A view without this axis if its size is 1, else self's shape.",
        .example = ">>> torch.squeeze(torch.zeros(2, 1, 3, 1), 1).shape\ntorch.Size([2, 3, 1])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        squeeze_axes(x, 1u << wrap_axis(attrs.dim, x.ndim(), "squeeze"), out);
    }
};

struct SqueezeAxes : ReshapesBack {
    struct Attrs {
        Axes dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "squeeze.dims(Tensor self, int[] dim)",
                                 .node = "SqueezeBackward2",
                                 .flags = kBoth | kView,
                                 .domain = "self=real(a, e, b, e), dim=(1, 3)",
                                 .doc = "A view without those of these axes whose size is 1.",
                                 .example =
                                     ">>> torch.squeeze(torch.zeros(2, 1, 3, 1), (1, 3)).shape\n"
                                     "torch.Size([2, 3])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        squeeze_axes(x, named_axes(attrs.dim, x.ndim(), "squeeze"), out);
    }
};

}  // namespace

std::uint32_t named_axes(const Axes& axes, int ndim, const char* op) {
    return axes.empty() ? 0 : axes_mask(axes, ndim, op);
}

Tensor reshape_anew(const Tensor& x, Sizes sizes) {
    if (x.contiguous()) return run<View>({Dims(sizes)}, x);
    if (view_layout(x.layout(), sizes)) return run<ReshapeAlias>({Dims(sizes)}, x);
    return unsafe_view(contiguous(x), sizes);
}
Tensor reshape(const Tensor& x, Sizes sizes) { return same_sizes(x.sizes(), sizes) ? x : reshape_anew(x, sizes); }
Tensor unsafe_view(const Tensor& x, Sizes sizes) { return run<UnsafeView>({Dims(sizes)}, x); }
Tensor view(const Tensor& x, Sizes sizes) { return run<View>({Dims(sizes)}, x); }
Tensor expand(const Tensor& x, Sizes sizes) { return same_sizes(x.sizes(), sizes) ? x : run<Expand>({Dims(sizes)}, x); }
Tensor expand_view(const Tensor& x, const Dims& sizes) { return run<Expand>({sizes}, x); }
Tensor unsqueeze(const Tensor& x, int axis) { return run<Unsqueeze>({axis}, x); }
Tensor squeeze(const Tensor& x, int axis) { return run<SqueezeAxis>({axis}, x); }

static const Register<View, ViewDType, ReshapeAlias, UnsafeView, Reshape, Expand, Unsqueeze, Squeeze, SqueezeAxis,
                      SqueezeAxes>
    shape_operations;

}  // namespace clew
