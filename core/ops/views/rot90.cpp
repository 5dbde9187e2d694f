// Turns by right angles.
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

struct Rot90 {
    struct Attrs {
        std::int64_t k;
        Axes dims;
    };
    static constexpr auto fields = std::tuple{&Attrs::k, &Attrs::dims};
    static constexpr OpText text{
        .schema = "rot90(Tensor self, int k=1, int[] dims=[0, 1])",
        .node = "Rot90Backward0",
        .flags = kBoth | kAnyDType,
        .derivative = "self",
        .domain = "real; real, k=2; real, k=-1; self=real(a, b, c), k=1, dims=(2, 0); real, k=0",
        .doc = "Rotates by k * 90 degrees in the plane of two axes, from the first toward the second. A copy.",
        .example =
            ">>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))\n"
            "tensor([[2, 4],\n"
            "        [1, 3]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.dims.size() != 2)
            fail(ErrorKind::Runtime, "rot90: expected total rotation dims == 2, but got dims = %d", attrs.dims.size());
        if (x.ndim() < 2)
            fail(ErrorKind::Runtime, "rot90: expected total dims >= 2, but got total dims = %d", x.ndim());
        const int a = wrap_axis(attrs.dims[0], x.ndim(), "rot90"), b = wrap_axis(attrs.dims[1], x.ndim(), "rot90");
        if (a == b)
            fail(ErrorKind::Runtime, "rot90: expected two different axes, got dims %s for a %d-D tensor",
                 shape_text(Dims(attrs.dims)).c_str(), x.ndim());
        // Where out[i, j] lies in x: x[i, j], x[j, -i], x[-i, -j], x[-j, i], each counted from the end where negative.
        const std::int64_t turns = ((attrs.k % 4) + 4) % 4;
        const bool swapped = turns % 2 == 1;
        Dims sizes(x.sizes()), steps(x.strides());
        if (swapped) {
            std::swap(sizes[a], sizes[b]);
            std::swap(steps[a], steps[b]);
        }
        std::int64_t first = 0;
        const auto reverse = [&](int axis) {
            first += (sizes[axis] - 1) * steps[axis];
            steps[axis] = -steps[axis];
        };
        if (turns == 1 || turns == 2) reverse(a);
        if (turns == 2 || turns == 3) reverse(b);
        // The memory keeps the order of x's axes, as if x had been flipped and then transposed.
        const LayoutRef dense = turns == 0 ? Layout::make(x.sizes()) : like_layout(x);
        Dims strides(dense->strides());
        if (swapped) std::swap(strides[a], strides[b]);
        out = empty(swapped ? Layout::make(sizes, strides) : dense, x.dtype());
        if (x.numel() == 0) return;
        kernels::copy(out.view(), {x.data() + first * static_cast<std::int64_t>(item_size(x.dtype())), x.dtype(),
                                   x.ndim(), sizes.values, steps.values});
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, const Attrs& attrs) { return run<Rot90>({-(attrs.k % 4), attrs.dims}, g); }};
};

}  // namespace

static const Register<Rot90> rot90_operations;

}  // namespace clew
