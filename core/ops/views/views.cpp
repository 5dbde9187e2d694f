// Views along diagonals, through windows and of any strides; and what puts a part back where it came from.
#include <algorithm>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/interpreter.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

struct Alias {
    static constexpr OpText text{.schema = "_alias(Tensor self)",
                                 .node = "AliasBackward0",
                                 .flags = kHidden | kView | kLeadingAxes,
                                 .domain = "real"};
    static void forward(const Tensor& x, Tensor& out) { out = alias(x, x->layout, x->offset); }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return g; }};
};

struct Diagonal {
    struct Attrs {
        std::int64_t offset, dim1, dim2;
    };
    static constexpr auto fields = std::tuple{&Attrs::offset, &Attrs::dim1, &Attrs::dim2};
    static constexpr OpText text{.schema = "diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1)",
                                 .node = "DiagonalBackward0",
                                 .flags = kBoth | kView,
                                 .domain = "real, offset=1",
                                 .doc =
                                     "A view of the diagonal of two axes, as a new last axis: out[..., i] = self[i, i "
                                     "+ offset]. Positive offsets lie above the main diagonal.",
                                 .example = ">>> torch.diagonal(torch.tensor([[1, 2], [3, 4]]))\ntensor([1, 4])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = view_part(x, diagonal_part(x.sizes(), x.strides(), attrs.offset, attrs.dim1, attrs.dim2));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        return embed(g, x, diagonal_part(x, contiguous_strides(x), attrs.offset, attrs.dim1, attrs.dim2));
    }};
};

struct Unfold {
    struct Attrs {
        std::int64_t dimension, size, step;
    };
    static constexpr auto fields = std::tuple{&Attrs::dimension, &Attrs::size, &Attrs::step};
    static constexpr OpText text{.schema = "unfold(Tensor self, int dimension, int size, int step)",
                                 .node = "UnfoldBackward0",
                                 .flags = kMethod | kView,
                                 .domain = "self=real(a, d), dimension=1, size=3, step=2",
                                 .doc =
                                     "A view of all windows of `size` positions along an axis, `step` apart, each "
                                     "window along a new last axis (overlapping windows share memory).",
                                 .example =
                                     ">>> torch.arange(4).unfold(0, 2, 1)\n"
                                     "tensor([[0, 1],\n"
                                     "        [1, 2],\n"
                                     "        [2, 3]])"};
    static Part part(Sizes sizes, Sizes strides, const Attrs& attrs) {
        Part windows{Dims(sizes), Dims(strides), 0};
        const int axis = wrap_axis(attrs.dimension, windows.sizes.size(), "unfold");
        const std::int64_t length = windows.sizes.empty() ? 1 : windows.sizes[axis];
        if (attrs.size < 0)
            fail(ErrorKind::Runtime, "unfold: size is %lld but must be >= 0", static_cast<long long>(attrs.size));
        if (attrs.size > length)
            fail(ErrorKind::Runtime, "unfold: maximum size for tensor at dimension %d is %lld but size is %lld", axis,
                 static_cast<long long>(length), static_cast<long long>(attrs.size));
        if (attrs.step <= 0)
            fail(ErrorKind::Runtime, "unfold: step is %lld but must be > 0", static_cast<long long>(attrs.step));
        const std::int64_t stride = windows.sizes.empty() ? 1 : windows.strides[axis];
        if (!windows.sizes.empty()) {
            windows.sizes[axis] = (length - attrs.size) / attrs.step + 1;
            windows.strides[axis] = stepped_stride(stride, attrs.step);
        }
        windows.sizes.push_back(attrs.size);
        windows.strides.push_back(stride);
        return windows;
    }
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = view_part(x, part(x.sizes(), x.strides(), attrs));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        return embed(g, x, part(x, contiguous_strides(x), attrs));  // windows that overlap add up
    }};
};

struct AsStrided {
    struct Attrs {
        Dims size, stride;
        std::optional<std::int64_t> storage_offset;
    };
    static constexpr auto fields = std::tuple{&Attrs::size, &Attrs::stride, &Attrs::storage_offset};
    static constexpr OpText text{
        .schema = "as_strided(Tensor self, int[] size, int[] stride, int? storage_offset=None)",
        .flags = kBoth | kComposite,
        .domain = "real, size=(b, a), stride=(1, b)",
        .doc =
            "A view of self's storage with the given sizes and strides (in elements), from storage_offset on: element "
            "i, j is at storage_offset + i * stride[0] + j * stride[1]. RuntimeError where it would leave the storage.",
        .example =
            ">>> torch.as_strided(torch.arange(6), (2, 3), (1, 2))\n"
            "tensor([[0, 2, 4],\n"
            "        [1, 3, 5]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (attrs.storage_offset) Interpreter::tell({.event = Event::PlaceRead, .tensors = Tensors(&x, 1)});
        out = as_strided(x, attrs.size, attrs.stride,
                         clipped_difference(attrs.storage_offset.value_or(x->offset), x->offset));
    }
};

struct Narrow {
    struct Attrs {
        std::int64_t dim, start, length;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::start, &Attrs::length};
    static constexpr OpText text{.schema = "narrow(Tensor self, int dim, int start, int length)",
                                 .flags = kBoth | kComposite,
                                 .domain = "real, dim=1, start=1, length=2",
                                 .doc =
                                     "A view of `length` positions along an axis, from `start` on: self[start : start "
                                     "+ length]. RuntimeError where it passes the end.",
                                 .example = ">>> torch.narrow(torch.arange(5), 0, 1, 3)\ntensor([1, 2, 3])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (x.ndim() == 0) fail(ErrorKind::Runtime, "narrow() cannot be applied to a 0-dim tensor.");
        if (attrs.length < 0) fail(ErrorKind::Runtime, "narrow(): length must be non-negative.");
        const int axis = wrap_axis(attrs.dim, x.ndim(), "narrow");
        const std::int64_t size = x.size(axis);
        if (attrs.start < -size || attrs.start > size)
            fail(ErrorKind::Index, "narrow: start out of range (expected to be in range of [%lld, %lld], but got %lld)",
                 static_cast<long long>(-size), static_cast<long long>(size), static_cast<long long>(attrs.start));
        const std::int64_t start = attrs.start < 0 ? attrs.start + size : attrs.start;
        if (attrs.length > size - start)
            fail(ErrorKind::Runtime, "narrow: start (%lld) + length (%lld) exceeds dimension size (%lld).",
                 static_cast<long long>(start), static_cast<long long>(attrs.length), static_cast<long long>(size));
        out = narrow(x, axis, start, attrs.length);
    }
};

}  // namespace

Part diagonal_part(Sizes sizes, Sizes strides, std::int64_t offset, std::int64_t dim1, std::int64_t dim2) {
    const int ndim = static_cast<int>(sizes.size());
    const int a = wrap_axis(dim1, ndim, "diagonal"), b = wrap_axis(dim2, ndim, "diagonal");
    if (a == b) fail(ErrorKind::Runtime, "diagonal: diagonal dimensions cannot be identical %d, %d", a, b);
    Part part{Dims(sizes), Dims(strides), 0};
    const std::int64_t down = offset < 0 ? clipped_difference(0, offset) : 0, right = std::max<std::int64_t>(offset, 0);
    const std::int64_t length = std::max<std::int64_t>(0, std::min(part.sizes[a] - down, part.sizes[b] - right));
    if (length > 0) part.offset = down * part.strides[a] + right * part.strides[b];
    const std::int64_t stride = part.strides[a] + part.strides[b];
    for (const int axis : {std::max(a, b), std::min(a, b)}) {
        part.sizes.erase(axis);
        part.strides.erase(axis);
    }
    part.sizes.push_back(length);
    part.strides.push_back(stride);
    return part;
}

Tensor view_alias(const Tensor& x) { return run<Alias>(x); }
Tensor diagonal(const Tensor& x, std::int64_t offset, int a, int b) { return run<Diagonal>({offset, a, b}, x); }

static const Register<Alias, Diagonal, Unfold, AsStrided, Narrow> view_operations;

}  // namespace clew
