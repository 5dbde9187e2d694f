// Views of a part: one position of an axis, or a range of them. Their gradients put values back where they came from.
#include <algorithm>

#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

struct Select {
    struct Attrs {
        std::int64_t dim, index;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::index};
    static constexpr OpText text{.schema = "select(Tensor self, int dim, int index)",
                                 .node = "SelectBackward0",
                                 .flags = kBoth | kView,
                                 .domain = "real, dim=1, index=2",
                                 .doc =
                                     "A view of one position along an axis, without that axis: self[index] for dim=0. "
                                     "IndexError for an index out of range.",
                                 .example = ">>> torch.select(torch.tensor([[1, 2], [3, 4]]), 1, 0)\ntensor([1, 3])"};
    static Part part(Sizes sizes, Sizes strides, const Attrs& attrs) {
        const int axis = wrap_axis(attrs.dim, static_cast<int>(sizes.size()), "select");
        if (sizes.empty()) fail(ErrorKind::Index, "select(): cannot be applied to a 0-dim tensor; use item()");
        const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
        if (attrs.index < -size || attrs.index >= size)
            fail(ErrorKind::Index, "select(): index %lld out of range for tensor of size %s at dimension %d",
                 static_cast<long long>(attrs.index), shape_text(sizes).c_str(), axis);
        Part result{Dims(sizes), Dims(strides), 0};
        result.offset = (attrs.index < 0 ? attrs.index + size : attrs.index) * strides[static_cast<std::size_t>(axis)];
        result.sizes.erase(axis);
        result.strides.erase(axis);
        return result;
    }
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = view_part(x, part(x.sizes(), x.strides(), attrs));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        return embed(g, x, part(x, contiguous_strides(x), attrs));
    }};
};

struct Slice {
    struct Attrs {
        std::int64_t dim;
        std::optional<std::int64_t> start, end;
        std::int64_t step;
    };
    static constexpr auto fields = std::tuple{&Attrs::dim, &Attrs::start, &Attrs::end, &Attrs::step};
    static constexpr OpText text{.schema = "_slice(Tensor self, int dim=0, int? start=None, int? end=None, int step=1)",
                                 .node = "SliceBackward0",
                                 .flags = kHidden | kView,
                                 .domain = "real, dim=1, start=1"};
    static Part part(Sizes sizes, Sizes strides, const Attrs& attrs) {
        const int axis = wrap_axis(attrs.dim, static_cast<int>(sizes.size()), "slice");
        if (sizes.empty()) fail(ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
        if (attrs.step <= 0)
            fail(ErrorKind::Value, "slice: step must be greater than zero, got %lld; use flip",
                 static_cast<long long>(attrs.step));
        const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
        const auto clip = [size](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + size : i, 0, size); };
        const std::int64_t start = clip(attrs.start.value_or(0)), end = std::max(start, clip(attrs.end.value_or(size)));
        Part result{Dims(sizes), Dims(strides), start * strides[static_cast<std::size_t>(axis)]};
        result.sizes[axis] = divided_up(end - start, attrs.step);
        result.strides[axis] = stepped_stride(result.strides[axis], attrs.step);
        return result;
    }
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = view_part(x, part(x.sizes(), x.strides(), attrs));
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        return embed(g, x, part(x, contiguous_strides(x), attrs));
    }};
};

}  // namespace

Tensor select(const Tensor& x, int axis, std::int64_t index) { return run<Select>({axis, index}, x); }
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t end, std::int64_t step) {
    return run<Slice>({axis, start, end, step}, x);
}
Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length) {
    return slice(x, axis, start, start + length, 1);
}

static const Register<Select, Slice> part_operations;

}  // namespace clew
