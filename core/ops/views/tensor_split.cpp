// tensor_split: an axis cut into a number of parts, or at given places. Each part is a slice of its own.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

struct TensorSplit {
    struct Attrs {
        std::int64_t sections, dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::sections, &Attrs::dim};
    static constexpr OpText text{
        .schema = "tensor_split(Tensor self, int sections, int dim=0)",
        .flags = kBoth | kManyViews | kComposite,
        .domain = "self=real(d, a), sections=2",
        .doc = "Splits into `sections` views along an axis, the first n mod sections of which are longer by one.",
        .example =
            ">>> torch.tensor_split(torch.arange(5), 2)\n"
            "(tensor([0, 1, 2]), tensor([3, 4]))"};
    static int axis_of(const Tensor& x, std::int64_t dim) {
        if (x.ndim() == 0)
            fail(ErrorKind::Runtime,
                 "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims");
        return wrap_axis(dim, x.ndim(), "tensor_split");
    }
    static std::size_t outputs(Tensors inputs, const Attrs& attrs) {
        axis_of(inputs[0], attrs.dim);
        if (attrs.sections <= 0)
            fail(ErrorKind::Runtime, "tensor_split: number of sections must be larger than 0, got %lld",
                 static_cast<long long>(attrs.sections));
        return static_cast<std::size_t>(attrs.sections);
    }
    static void forward(const Tensor& x, const Attrs& attrs, std::span<Tensor> out) {
        const int axis = axis_of(x, attrs.dim);
        const std::int64_t each = x.size(axis) / attrs.sections, longer = x.size(axis) % attrs.sections;
        std::int64_t start = 0;
        for (std::int64_t i = 0; i < attrs.sections; ++i) {
            const std::int64_t length = each + (i < longer);
            out[static_cast<std::size_t>(i)] = narrow(x, axis, start, length);
            start += length;
        }
    }
};

struct TensorSplitAt {
    struct Attrs {
        Dims indices;
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::indices, &Attrs::dim};
    static constexpr OpText text{
        .schema = "tensor_split.indices(Tensor self, int[] indices, int dim=0)",
        .flags = kBoth | kManyViews | kComposite,
        .domain = "self=real(d, a), indices=(1, 3)",
        .doc = "Splits into views along an axis before each of the indices: self[:i], self[i:j], ..., self[k:].",
        .example =
            ">>> torch.tensor_split(torch.arange(5), (1, 3))\n"
            "(tensor([0]), tensor([1, 2]), tensor([3, 4]))"};
    static std::size_t outputs(Tensors, const Attrs& attrs) {
        return static_cast<std::size_t>(attrs.indices.size()) + 1;
    }
    static void forward(const Tensor& x, const Attrs& attrs, std::span<Tensor> out) {
        const int axis = TensorSplit::axis_of(x, attrs.dim);
        std::int64_t start = 0;
        for (std::size_t i = 0; i < out.size(); ++i) {
            const int at = static_cast<int>(i);
            const std::int64_t end = at < attrs.indices.size() ? attrs.indices[at] : x.size(axis);
            out[i] = slice(x, axis, start, end, 1);
            start = end;
        }
    }
};

struct TensorSplitByTensor {
    struct Attrs {
        std::int64_t dim;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim};
    static constexpr OpText text{
        .schema = "tensor_split.tensor(Tensor self, Tensor tensor_indices_or_sections, int dim=0)",
        .flags = kBoth | kManyViews | kComposite,
        .domain = "self=real(d, a), tensor_indices_or_sections=ascending(2).astype('int64') + 3",
        .doc = "tensor_split with the number of sections, or the indices, in an integer tensor."};
    static std::size_t outputs(Tensors inputs, const Attrs& attrs) {
        const Tensor& where = inputs[1];
        if (where.dtype() != DType::Int64 || where.ndim() > 1)
            fail(ErrorKind::Runtime,
                 "tensor_split: expected an int64 tensor with at most 1 dimension, got %s with shape %s",
                 dtype_name(where.dtype()), shape_text(where.sizes()).c_str());
        need_values("tensor_indices_or_sections");
        static_cast<void>(escape(where, Read::Other, "tensor_split"));
        if (where.ndim() == 1) return static_cast<std::size_t>(where.numel()) + 1;
        return TensorSplit::outputs(inputs, {read_integer(where), attrs.dim});
    }
    static void forward(const Tensor& x, const Tensor& where, const Attrs& attrs, std::span<Tensor> out) {
        if (where.ndim() == 0) return TensorSplit::forward(x, {read_integer(where), attrs.dim}, out);
        const int axis = TensorSplit::axis_of(x, attrs.dim);
        std::int64_t start = 0;
        for (std::int64_t i = 0; i <= where.numel(); ++i) {
            const std::int64_t end =
                i < where.numel() ? where.data_as<const std::int64_t>()[i * where.stride(0)] : x.size(axis);
            out[static_cast<std::size_t>(i)] = slice(x, axis, start, end, 1);
            start = end;
        }
    }
};

}  // namespace

static const Register<TensorSplitByTensor, TensorSplit, TensorSplitAt> tensor_split_operations;

}  // namespace clew
