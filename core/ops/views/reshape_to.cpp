// reshape and expand, by the names that say to what.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

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

static const Register<Flatten, Ravel, Unflatten, ViewAs, ReshapeAs, ExpandAs, BroadcastTo> reshape_to_operations;

}  // namespace clew
