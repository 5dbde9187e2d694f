// One tensor seen as several views. Their gradients come back joined; a part that nobody used counts as zeros.
#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

constexpr std::size_t kMaxOutputs = 0xffff;  // of a node

int split_axis(const Tensor& x, std::int64_t dim, const char* op) {
    if (x.ndim() == 0) fail(ErrorKind::Runtime, "%s expects at least a 1-dimensional tensor", op);
    return wrap_axis(dim, x.ndim(), op);
}

std::size_t checked_count(std::int64_t count, const Tensor& x, const char* op) {
    if (static_cast<std::size_t>(count) > kMaxOutputs && x.requires_grad())
        fail(ErrorKind::NotImplemented,
             "%s: at most %zu differentiable parts are supported, got %lld; index the tensor instead", op, kMaxOutputs,
             static_cast<long long>(count));
    return static_cast<std::size_t>(count);
}

Tensor part_of(const Tensor& x, int axis, std::int64_t start, std::int64_t length) {
    Part part{Dims(x.sizes()), Dims(x.strides()), start * x.stride(axis)};
    part.sizes[axis] = length;
    return view_part(x, part);
}

// What arrived for each output, zeros where nothing did.
std::vector<Tensor> incoming_or_zeros(BackwardCall& call) {
    std::vector<Tensor> parts(call.incoming.begin(), call.incoming.end());
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (!parts[i]) parts[i] = zeros(output_layout(call, static_cast<int>(i)).shape(), input_dtype(call, 0));
    return parts;
}

void join_gradients(BackwardCall& call, std::int64_t dim) {
    const int axis = wrap_axis(dim, input_layout(call, 0).ndim, "split");
    call.results[0] = cat(incoming_or_zeros(call), axis);
}

struct Along {
    std::int64_t dim;
};

struct Split {
    struct Attrs {
        std::int64_t split_size, dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::split_size, &Attrs::dim};
    static constexpr OpText text{
        .schema = "split(Tensor self, int split_size, int dim=0)",
        .node = "SplitBackward0",
        .flags = kBoth | kView | kManyViews,
        .domain = "self=real(d, a), split_size=2",
        .doc = "Views of consecutive parts of split_size along an axis; the last may be smaller.",
        .example =
            ">>> torch.split(torch.arange(5), 2)\n"
            "(tensor([0, 1]), tensor([2, 3]), tensor([4]))"};
    static std::size_t outputs(Tensors inputs, const Attrs& attrs) {
        const Tensor& x = inputs[0];
        const std::int64_t size = x.size(split_axis(x, attrs.dim, "split"));
        if (attrs.split_size < 0)
            fail(ErrorKind::Runtime, "split expects split_size be non-negative, but got split_size=%lld",
                 static_cast<long long>(attrs.split_size));
        if (attrs.split_size == 0 && size != 0)
            fail(ErrorKind::Runtime,
                 "split: split_size can only be 0 if dimension size is 0, but got dimension size of %lld",
                 static_cast<long long>(size));
        if (size == 0) return 1;
        return checked_count((size - 1) / attrs.split_size + 1, x, "split");
    }
    static void forward(const Tensor& x, const Attrs& attrs, std::span<Tensor> out) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "split");
        std::int64_t start = 0;
        for (Tensor& part : out) {
            const std::int64_t length = std::min(attrs.split_size, x.size(axis) - start);
            part = part_of(x, axis, start, length);
            start += length;
        }
    }
    static void backward(BackwardCall& call) { join_gradients(call, attributes_of<Attrs>(call).dim); }
};

struct SplitSizes {
    struct Attrs {
        Dims split_sizes;
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::split_sizes, &Attrs::dim};
    static constexpr OpText text{
        .schema = "split.sizes(Tensor self, int[] split_size, int dim=0)",
        .node = "SplitWithSizesBackward0",
        .flags = kBoth | kView | kManyViews,
        .domain = "self=real(d, a), split_size=(2, d - 2)",
        .doc =
            "Views of consecutive parts of the given sizes along an axis; RuntimeError unless they add up to its size.",
        .example =
            ">>> torch.split(torch.arange(5), [1, 4])\n"
            "(tensor([0]), tensor([1, 2, 3, 4]))"};
    static std::size_t outputs(Tensors inputs, const Attrs& attrs) {
        const std::int64_t size = inputs[0].size(split_axis(inputs[0], attrs.dim, "split_with_sizes"));
        std::int64_t sum = 0;
        for (const auto part : attrs.split_sizes) {
            if (part < 0)
                fail(ErrorKind::Runtime,
                     "split_with_sizes expects split_sizes have only non-negative entries, but got split_sizes=%s",
                     shape_text(attrs.split_sizes).c_str());
            sum = clipped_sum(sum, part);
        }
        if (sum != size)
            fail(ErrorKind::Runtime,
                 "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %lld), "
                 "but got "
                 "split_sizes=%s",
                 static_cast<long long>(size), static_cast<long long>(attrs.dim),
                 shape_text(attrs.split_sizes).c_str());
        return static_cast<std::size_t>(attrs.split_sizes.size());
    }
    static void forward(const Tensor& x, const Attrs& attrs, std::span<Tensor> out) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "split");
        std::int64_t start = 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::int64_t length = attrs.split_sizes[static_cast<int>(i)];
            out[i] = part_of(x, axis, start, length);
            start += length;
        }
    }
    static void backward(BackwardCall& call) { join_gradients(call, attributes_of<Attrs>(call).dim); }
};

struct SplitWithSizes : SplitSizes {
    static constexpr OpText text{.schema = "split_with_sizes(Tensor self, int[] split_sizes, int dim=0)",
                                 .node = "SplitWithSizesBackward0",
                                 .flags = kBoth | kView | kManyViews,
                                 .domain = "self=real(d, a), split_sizes=(2, d - 2)",
                                 .doc = "split with a list of sizes.",
                                 .example =
                                     ">>> torch.split_with_sizes(torch.arange(5), [1, 4])\n"
                                     "(tensor([0]), tensor([1, 2, 3, 4]))"};
};

// The same for more parts than attributes have room for: the sizes come as an int64 tensor. Python's split() calls it.
struct SplitLong {
    using Attrs = Along;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{.schema = "_split_long(Tensor self, Tensor split_sizes, int dim)",
                                 .node = "SplitWithSizesBackward0",
                                 .flags = kHidden | kView | kManyViews,
                                 .domain = "self=real(d, a), split_sizes=order(1, 1) + 5, dim=0"};
    static std::size_t outputs(Tensors inputs, const Attrs& attrs) {
        const Tensor &x = inputs[0], &sizes = inputs[1];
        need_fit("split", is_packed(sizes, DType::Int64, sizes.numel()));
        need_values("split_sizes");
        static_cast<void>(escape(sizes, Read::Other, "split"));
        const std::int64_t size = x.size(split_axis(x, attrs.dim, "split_with_sizes"));
        std::int64_t sum = 0;
        for (std::int64_t i = 0; i < sizes.numel(); ++i) {
            const std::int64_t part = sizes.data_as<const std::int64_t>()[i];
            if (part < 0)
                fail(ErrorKind::Runtime,
                     "split_with_sizes expects split_sizes have only non-negative entries, but got %lld",
                     static_cast<long long>(part));
            sum = clipped_sum(sum, part);
        }
        if (sum != size)
            fail(ErrorKind::Runtime,
                 "split_with_sizes expects split_sizes to sum exactly to %lld (input tensor's size at dimension %lld), "
                 "but their sum is "
                 "%lld",
                 static_cast<long long>(size), static_cast<long long>(attrs.dim), static_cast<long long>(sum));
        return checked_count(sizes.numel(), x, "split");
    }
    static void forward(const Tensor& x, const Tensor& sizes, const Attrs& attrs, std::span<Tensor> out) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "split");
        std::int64_t start = 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::int64_t length = sizes.data_as<const std::int64_t>()[i];
            out[i] = part_of(x, axis, start, length);
            start += length;
        }
    }
    static void backward(BackwardCall& call) { join_gradients(call, attributes_of<Attrs>(call).dim); }
};

struct Chunk {
    struct Attrs {
        std::int64_t chunks, dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::chunks, &Attrs::dim};
    static constexpr OpText text{.schema = "chunk(Tensor self, int chunks, int dim=0)",
                                 .flags = kBoth | kManyViews | kComposite,
                                 .domain = "real, chunks=2, dim=1",
                                 .doc =
                                     "Splits into at most `chunks` views along an axis, each of size ceil(n / chunks) "
                                     "but the last, which may be smaller.",
                                 .example = ">>> torch.chunk(torch.arange(5), 2)\n(tensor([0, 1, 2]), tensor([3, 4]))"};
    static Split::Attrs split(const Tensor& x, const Attrs& attrs) {
        const std::int64_t size = x.size(split_axis(x, attrs.dim, "chunk"));
        if (attrs.chunks <= 0)
            fail(ErrorKind::Runtime, "chunk expects `chunks` to be greater than 0, got: %lld",
                 static_cast<long long>(attrs.chunks));
        return {divided_up(size, attrs.chunks), attrs.dim};
    }
    static std::size_t outputs(Tensors inputs, const Attrs& attrs) {
        const Split::Attrs parts = split(inputs[0], attrs);
        return parts.split_size == 0 ? checked_count(attrs.chunks, inputs[0], "chunk") : Split::outputs(inputs, parts);
    }
    static void forward(const Tensor& x, const Attrs& attrs, std::span<Tensor> out) {
        const Split::Attrs parts = split(x, attrs);
        if (parts.split_size == 0 && attrs.chunks <= kMaxDims) {
            SplitSizes::Attrs nothing{{}, attrs.dim};
            while (nothing.split_sizes.size() < static_cast<int>(attrs.chunks)) nothing.split_sizes.push_back(0);
            return apply(definition<SplitSizes>(), Tensors(&x, 1), &nothing, out);
        }
        if (parts.split_size == 0) {
            const Tensor sizes = empty({attrs.chunks}, DType::Int64);
            std::fill_n(sizes.data_as<std::int64_t>(), attrs.chunks, std::int64_t{0});
            const Tensor inputs[] = {x, sizes};
            const SplitLong::Attrs along{attrs.dim};
            return apply(definition<SplitLong>(), inputs, &along, out);
        }
        apply(definition<Split>(), Tensors(&x, 1), &parts, out);
    }
};

struct Unbind {
    using Attrs = Along;
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "unbind(Tensor self, int dim=0)",
        .node = "UnbindBackward0",
        .flags = kBoth | kView | kManyViews,
        .domain = "real",
        .doc = "Views of all positions along an axis, without that axis: self[0], self[1], ... for dim=0.",
        .example =
            ">>> torch.unbind(torch.tensor([[1, 2], [3, 4]]))\n"
            "(tensor([1, 2]), tensor([3, 4]))"};
    static std::size_t outputs(Tensors inputs, const Attrs& attrs) {
        const Tensor& x = inputs[0];
        if (x.ndim() == 0)
            fail(ErrorKind::Index, "unbind: Dimension specified as %lld but tensor has no dimensions",
                 static_cast<long long>(attrs.dim));
        return checked_count(x.size(wrap_axis(attrs.dim, x.ndim(), "unbind")), x, "unbind");
    }
    static void forward(const Tensor& x, const Attrs& attrs, std::span<Tensor> out) {
        const int axis = wrap_axis(attrs.dim, x.ndim(), "unbind");
        Dims sizes(x.sizes()), strides(x.strides());
        sizes.erase(axis);
        strides.erase(axis);
        const LayoutRef layout = Layout::make(sizes, strides);
        for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = alias(x, layout, x->offset + static_cast<std::int64_t>(i) * x.stride(axis));
    }
    static void backward(BackwardCall& call) {
        const int axis = wrap_axis(attributes_of<Attrs>(call).dim, input_layout(call, 0).ndim, "unbind");
        call.results[0] = stack(incoming_or_zeros(call), axis);
    }
};

}  // namespace

static const Register<Split, SplitSizes, SplitWithSizes, SplitLong, Chunk, Unbind> split_operations;

}  // namespace clew
