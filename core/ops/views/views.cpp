// More views: the ones made of simpler views, diagonals, windows.
#include <algorithm>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

struct Alias {
    static constexpr OpText text{
        .schema = "_alias(Tensor self)", .node = "AliasBackward0", .flags = kHidden | kView, .domain = "real"};
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

struct Flatten {
    struct Attrs {
        std::int64_t start_dim, end_dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::start_dim, &Attrs::end_dim};
    static constexpr OpText text{.schema = "flatten(Tensor self, int start_dim=0, int end_dim=-1)",
                                 .flags = kBoth | kComposite,
                                 .domain = "real; self=real(a, b, c), start_dim=1",
                                 .doc =
                                     "Merges the axes from start_dim to end_dim (all by default) into one: a view "
                                     "where strides permit, else a copy.",
                                 .example =
                                     ">>> torch.flatten(torch.tensor([[[1, 2], [3, 4]]]), start_dim=1)\n"
                                     "tensor([[1, 2, 3, 4]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const int first = wrap_axis(attrs.start_dim, x.ndim(), "flatten"),
                  last = wrap_axis(attrs.end_dim, x.ndim(), "flatten");
        if (first > last) fail(ErrorKind::Runtime, "flatten() has invalid args: start_dim cannot come after end_dim");
        Dims sizes;
        std::int64_t product = 1;
        for (int i = 0; i < x.ndim(); ++i) {
            if (i < first || i > last) {
                sizes.push_back(x.size(i));
                continue;
            }
            product = count_elements(Dims{product, x.size(i)});
            if (i == last) sizes.push_back(product);
        }
        out = reshape(x, x.ndim() == 0 ? Dims{1} : sizes);
    }
};

struct Ravel {
    static constexpr OpText text{.schema = "ravel(Tensor self)",
                                 .flags = kBoth | kComposite,
                                 .domain = "real",
                                 .doc = "Flattens into one axis: a view where self is contiguous, else a copy.",
                                 .example = ">>> torch.ravel(torch.tensor([[1, 2], [3, 4]]))\ntensor([1, 2, 3, 4])"};
    static void forward(const Tensor& x, Tensor& out) { out = view(contiguous(x), Dims{x.numel()}); }
};

struct Unflatten {
    struct Attrs {
        std::int64_t dim;
        Dims sizes;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::sizes};
    static constexpr OpText text{
        .schema = "unflatten(Tensor self, int dim, int[] sizes)",
        .flags = kBoth | kComposite,
        .domain = "self=real(a, 6), dim=1, sizes=(2, 3)",
        .doc = "Splits one axis into several of the given sizes, one of which may be -1; a view where strides permit.",
        .example =
            ">>> torch.unflatten(torch.arange(6), 0, (2, -1))\n"
            "tensor([[0, 1, 2],\n"
            "        [3, 4, 5]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        if (x.ndim() == 0) fail(ErrorKind::Runtime, "unflatten: expected a tensor with axes, got one without");
        const int axis = wrap_axis(attrs.dim, x.ndim(), "unflatten");
        if (attrs.sizes.empty()) fail(ErrorKind::Runtime, "unflatten: sizes must be non-empty");
        const std::int64_t length = x.ndim() ? x.size(axis) : 1;
        Dims parts = attrs.sizes;
        std::int64_t known = 1, unknown = -1;
        for (int i = 0; i < parts.size(); ++i) {
            if (parts[i] == -1 && unknown >= 0)
                fail(ErrorKind::Runtime, "unflatten: only one dimension can be inferred, got %s",
                     shape_text(attrs.sizes).c_str());
            if (parts[i] == -1)
                unknown = i;
            else
                known = count_elements(Dims{known, parts[i]});
        }
        if (unknown >= 0 && known > 0) parts[static_cast<int>(unknown)] = length / known, known *= length / known;
        if (known != length || (unknown >= 0 && parts[static_cast<int>(unknown)] < 0))
            fail(ErrorKind::Runtime,
                 "unflatten: Provided sizes %s don't multiply up to the size of dim %d (%lld) in the input tensor",
                 shape_text(attrs.sizes).c_str(), axis, static_cast<long long>(length));
        Dims sizes(x.sizes());
        if (!sizes.empty()) sizes.erase(axis);
        for (int i = 0; i < parts.size(); ++i) sizes.insert(axis + i, parts[i]);
        out = view(x, sizes);
    }
};

struct ViewAs {
    static constexpr OpText text{.schema = "view_as(Tensor self, Tensor other)",
                                 .flags = kMethod | kComposite,
                                 .domain = "real",
                                 .doc = "self.view(other.shape).",
                                 .example =
                                     ">>> torch.arange(4).view_as(torch.zeros(2, 2))\n"
                                     "tensor([[0, 1],\n"
                                     "        [2, 3]])"};
    static void forward(const Tensor& x, const Tensor& other, Tensor& out) {
        const Dims sizes = infer_sizes(x, Dims(other.sizes()), "view_as");
        if (!view_layout(x.layout(), sizes))
            fail(
                ErrorKind::Runtime,
                "view_as: size %s is not compatible with input tensor's size and stride. Use .reshape_as(...) instead.",
                shape_text(sizes).c_str());
        out = view(x, sizes);
    }
};

struct ReshapeAs {
    static constexpr OpText text{.schema = "reshape_as(Tensor self, Tensor other)",
                                 .flags = kMethod | kComposite,
                                 .domain = "real",
                                 .doc = "self.reshape(other.shape).",
                                 .example =
                                     ">>> torch.arange(4).reshape_as(torch.zeros(2, 2))\n"
                                     "tensor([[0, 1],\n"
                                     "        [2, 3]])"};
    static void forward(const Tensor& x, const Tensor& other, Tensor& out) {
        out = reshape_anew(x, infer_sizes(x, Dims(other.sizes()), "reshape_as"));
    }
};

struct ExpandAs {
    static constexpr OpText text{.schema = "expand_as(Tensor self, Tensor other)",
                                 .flags = kMethod | kComposite,
                                 .domain = "real",
                                 .doc = "self.expand(other.shape): a view.",
                                 .example =
                                     ">>> torch.tensor([[1], [2]]).expand_as(torch.zeros(2, 2))\n"
                                     "tensor([[1, 1],\n"
                                     "        [2, 2]])"};
    static void forward(const Tensor& x, const Tensor& other, Tensor& out) {
        out = expand_view(x, Dims(other.sizes()));
    }
};

struct BroadcastTo {
    struct Attrs {
        Dims size;
    };
    static constexpr auto fields = std::tuple{&Attrs::size};
    static constexpr OpText text{.schema = "broadcast_to(Tensor self, int[] size)",
                                 .flags = kBoth | kComposite,
                                 .domain = "real, size=(c, a, b)",
                                 .doc = "A view of self broadcast to the given shape, as expand.",
                                 .example =
                                     ">>> torch.broadcast_to(torch.tensor([1, 2]), (2, 2))\n"
                                     "tensor([[1, 2],\n"
                                     "        [1, 2]])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) { out = expand_view(x, attrs.size); }
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

static const Register<Alias, Diagonal, Unfold, AsStrided, Narrow, Flatten, Ravel, Unflatten, ViewAs, ReshapeAs,
                      ExpandAs, BroadcastTo>
    view_operations;

}  // namespace clew
