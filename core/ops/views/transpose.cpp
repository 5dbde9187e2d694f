// Views with their axes in another order.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

struct Transpose {
    using Attrs = AxisPair;
    static constexpr auto fields = std::tuple{&Attrs::dim0, &Attrs::dim1};
    static constexpr OpText text{.schema = "transpose(Tensor self, int dim0, int dim1)",
                                 .node = "TransposeBackward0",
                                 .flags = kBoth | kView,
                                 .domain = "self=real(a, b, c), dim0=0, dim1=2",
                                 .doc = "A view with two axes exchanged.",
                                 .example =
                                     ">>> torch.transpose(torch.tensor([[1, 2], [3, 4]]), 0, 1)\n"
                                     "tensor([[1, 3],\n"
                                     "        [2, 4]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int a = wrap_axis(attrs.dim0, x.ndim(), "transpose"), b = wrap_axis(attrs.dim1, x.ndim(), "transpose");
        out = alias(x, swapped_layout(x, a, b), x->offset);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) {
        return transpose(g, static_cast<int>(attrs.dim0), static_cast<int>(attrs.dim1));
    }};
};

struct T {
    static constexpr OpText text{
        .schema = "t(Tensor self)",
        .node = "TBackward0",
        .flags = kBoth | kView,
        .batching = BatchBy::MatrixTranspose,
        .domain = "real",
        .doc = "The transpose of a matrix, a view; vectors and numbers as they are. RuntimeError for more axes.",
        .example =
            ">>> torch.t(torch.tensor([[1, 2], [3, 4]]))\n"
            "tensor([[1, 3],\n"
            "        [2, 4]])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (x.ndim() > 2)
            fail(ErrorKind::Runtime, "t: expects a tensor with <= 2 dimensions, but self is %dD; use transpose or mT",
                 x.ndim());
        out = alias(x, x.ndim() == 2 ? swapped_layout(x, 0, 1) : x->layout, x->offset);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return t(g); }};
};

struct Permute {
    struct Attrs {
        Axes dims;
    };
    static constexpr auto fields = std::tuple{&Attrs::dims};
    static constexpr OpText text{.schema = "permute(Tensor self, int[] dims)",
                                 .node = "PermuteBackward0",
                                 .flags = kBoth | kView,
                                 .batching = BatchBy::Permute,
                                 .domain = "self=real(a, b, c), dims=(2, 0, 1)",
                                 .doc =
                                     "A view with the axes in the order dims: axis i of the result is axis dims[i] of "
                                     "self. RuntimeError unless dims names each axis once.",
                                 .example =
                                     ">>> torch.permute(torch.zeros(2, 3, 4), (2, 0, 1)).shape\n"
                                     "torch.Size([4, 2, 3])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int ndim = x.ndim();
        if (attrs.dims.size() != ndim)
            fail(ErrorKind::Runtime,
                 "permute: number of dimensions in the tensor input does not match the length of the desired ordering "
                 "of dimensions i.e. %d is not equal to %d",
                 ndim, attrs.dims.size());
        LayoutRef layout = Layout::permuted(x.layout(), Dims(attrs.dims));
        if (!layout)
            fail(ErrorKind::Runtime, "permute: duplicate dims are not allowed, got %s",
                 shape_text(Dims(attrs.dims)).c_str());
        out = alias(x, std::move(layout), x->offset);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) {
        Dims inverse;
        inverse.count = g.ndim();
        for (int i = 0; i < g.ndim(); ++i) inverse[wrap_axis(attrs.dims[i], g.ndim(), "permute")] = i;
        return permute(g, inverse);
    }};
};

struct Reversed {
    static constexpr OpText text{.schema = "T(Tensor self)",
                                 .flags = kProperty | kComposite,
                                 .domain = "real",
                                 .doc = "The transpose: a view with the order of the axes reversed.",
                                 .example = ">>> torch.tensor([[1, 2], [3, 4]]).T\ntensor([[1, 3],\n        [2, 4]])"};
    static void forward(const Tensor& x, Tensor& out) {
        static const Permute::Attrs kOfMatrix{.dims = {1, 0}};
        if (x.ndim() == 2) return permute(x, kOfMatrix, out);
        Permute::Attrs order;
        for (int axis = x.ndim() - 1; axis >= 0; --axis) order.dims.push_back(axis);
        permute(x, order, out);
    }
    static void permute(const Tensor& x, const Permute::Attrs& order, Tensor& out) {
        apply(definition<Permute>(), Tensors(&x, 1), &order, std::span<Tensor>(&out, 1));
    }
};

}  // namespace

Tensor transpose(const Tensor& x, int a, int b) { return run<Transpose>({a, b}, x); }
Tensor permute(const Tensor& x, const Dims& axes) { return run<Permute>({axes}, x); }
Tensor t(const Tensor& x) { return run<T>(x); }

static const Register<Transpose, T, Permute, Reversed> transpose_operations;

}  // namespace clew
