// Axes exchanged and moved, under all the names that they have.
#include <algorithm>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

struct SwapAxes {
    struct Attrs {
        std::int64_t axis0, axis1;
    };
    static constexpr auto fields = std::tuple{&Attrs::axis0, &Attrs::axis1};
    static constexpr OpText text{.schema = "swapaxes(Tensor self, int axis0, int axis1)",
                                 .flags = kBoth | kComposite,
                                 .domain = "real, axis0=0, axis1=1",
                                 .doc = "Alias of transpose, NumPy's name.",
                                 .example =
                                     ">>> torch.swapaxes(torch.tensor([[1, 2], [3, 4]]), 0, 1)\n"
                                     "tensor([[1, 3],\n"
                                     "        [2, 4]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int a = wrap_axis(attrs.axis0, x.ndim(), "swapaxes"), b = wrap_axis(attrs.axis1, x.ndim(), "swapaxes");
        out = transpose(x, a, b);
    }
};

struct SwapDims : SwapAxes {
    static constexpr OpText text{.schema = "swapdims(Tensor self, int dim0, int dim1)",
                                 .flags = kBoth | kComposite,
                                 .domain = "real, dim0=0, dim1=1",
                                 .doc = "Alias of transpose.",
                                 .example =
                                     ">>> torch.swapdims(torch.tensor([[1, 2], [3, 4]]), 0, 1)\n"
                                     "tensor([[1, 3],\n"
                                     "        [2, 4]])"};
};

struct MoveDim {
    struct Attrs {
        Dims source, destination;
    };
    static constexpr auto fields = std::tuple{&Attrs::source, &Attrs::destination};
    static constexpr OpText text{
        .schema = "movedim(Tensor self, int[] source, int[] destination)",
        .flags = kBoth | kComposite,
        .domain = "self=real(a, b, c), source=(0, 1), destination=(2, 0)",
        .doc = "A view with the axes `source` moved to the positions `destination`; the others keep their order.",
        .example =
            ">>> torch.movedim(torch.zeros(2, 3, 4), 0, -1).shape\n"
            "torch.Size([3, 4, 2])"};
    static Dims wrapped(const Dims& axes, int ndim, const char* which) {
        Dims result;
        for (const auto axis : axes) {
            result.push_back(wrap_axis(axis, ndim, "movedim"));
            if (std::count(result.begin(), result.end(), result[result.size() - 1]) > 1)
                fail(ErrorKind::Runtime, "movedim: repeated dim in `%s` (%s)", which, shape_text(axes).c_str());
        }
        return result;
    }
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.source.size() != attrs.destination.size())
            fail(ErrorKind::Runtime,
                 "movedim: Invalid source or destination dims: source (%s dims) should contain the same number of dims "
                 "as destination (%s "
                 "dims)",
                 shape_text(attrs.source).c_str(), shape_text(attrs.destination).c_str());
        const Dims from = wrapped(attrs.source, x.ndim(), "source"),
                   to = wrapped(attrs.destination, x.ndim(), "destination");
        if (x.ndim() == 0) {
            out = view_alias(x);
            return;
        }
        Dims order;
        order.count = x.ndim();
        std::fill(order.begin(), order.end(), -1);
        for (int i = 0; i < from.size(); ++i) order[static_cast<int>(to[i])] = from[i];
        std::int64_t next = 0;
        for (auto& axis : order) {
            if (axis >= 0) continue;
            while (std::find(from.begin(), from.end(), next) != from.end()) ++next;
            axis = next++;
        }
        out = permute(x, order);
    }
};

struct MoveAxis : MoveDim {
    static constexpr OpText text{.schema = "moveaxis(Tensor self, int[] source, int[] destination)",
                                 .flags = kBoth | kComposite,
                                 .domain = "self=real(a, b, c), source=(0, 1), destination=(2, 0)",
                                 .doc = "Alias of movedim, NumPy's name.",
                                 .example =
                                     ">>> torch.moveaxis(torch.zeros(2, 3, 4), 0, -1).shape\n"
                                     "torch.Size([3, 4, 2])"};
};

Tensor transposed_matrices(const Tensor& x, const char* name) {
    if (x.ndim() == 0) return x;
    if (x.ndim() < 2)
        fail(ErrorKind::Runtime, "tensor.%s is only supported on matrices or batches of matrices. Got %d-D tensor.",
             name, x.ndim());
    return transpose(x, x.ndim() - 2, x.ndim() - 1);
}

struct MatrixTranspose {
    static constexpr OpText text{.schema = "mT(Tensor self)",
                                 .flags = kProperty | kComposite,
                                 .domain = "real",
                                 .doc = "The transpose of each matrix: a view with the last two axes exchanged.",
                                 .example =
                                     ">>> torch.tensor([[[1, 2], [3, 4]]]).mT\n"
                                     "tensor([[[1, 3],\n"
                                     "         [2, 4]]])"};
    static void forward(const Tensor& x, Tensor& out) { out = transposed_matrices(x, "mT"); }
};

struct Adjoint {
    static constexpr OpText text{
        .schema = "mH(Tensor self)",
        .flags = kProperty | kComposite,
        .domain = "real",
        .doc = "The conjugate transpose of each matrix in the last two axes, a view; of real ones the transpose.",
        .example =
            ">>> torch.tensor([[[1, 2], [3, 4]]]).mH\n"
            "tensor([[[1, 3],\n"
            "         [2, 4]]])"};
    static void forward(const Tensor& x, Tensor& out) { out = conj(transposed_matrices(x, "mH")); }
};

struct MatrixAdjoint {
    static constexpr OpText text{.schema = "H(Tensor self)",
                                 .flags = kProperty | kComposite,
                                 .domain = "real",
                                 .doc =
                                     "The conjugate transpose of a matrix, a view; of a real one the transpose. "
                                     "RuntimeError unless it has two axes (or none).",
                                 .example = ">>> torch.tensor([[1, 2], [3, 4]]).H\ntensor([[1, 3],\n        [2, 4]])"};
    static void forward(const Tensor& x, Tensor& out) {
        if (x.ndim() != 2 && x.ndim() != 0)
            fail(ErrorKind::Runtime,
                 "tensor.H is only supported on matrices (2-D tensors). Got %d-D tensor. For batches of matrices, use "
                 "mH",
                 x.ndim());
        out = conj(transposed_matrices(x, "H"));
    }
};

}  // namespace

static const Register<SwapAxes, SwapDims, MoveDim, MoveAxis, MatrixTranspose, Adjoint, MatrixAdjoint> axes_operations;

}  // namespace clew
