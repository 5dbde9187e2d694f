// Arbitrary geometry: as_strided, its scatter, and embed, the inverse of taking a part.
#include <algorithm>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"
#include "core/ops/views/geometry.h"

namespace clew {
namespace {

// The geometry of the part; fails where it is none, or leaves x's memory.
LayoutRef inside(const Tensor& x, const Part& part, const char* op) {
    if (part.sizes.size() != part.strides.size())
        fail(ErrorKind::Runtime, "%s: mismatch in length of strides and shape", op);
    for (int i = 0; i < part.sizes.size(); ++i)
        if (part.strides[i] < 0 || part.sizes[i] < 0)
            fail(ErrorKind::Runtime, "%s: negative sizes and strides are not supported, got sizes %s and strides %s",
                 op, shape_text(part.sizes).c_str(), shape_text(part.strides).c_str());
    LayoutRef layout = Layout::make(part.sizes, part.strides);
    check_inside_storage(op, *layout, clipped_sum(x->offset, part.offset), x.dtype(), *x->storage);
    return layout;
}

// Elements of x, from `offset` on, as the layout says.
kernels::View view_of(const Tensor& x, const Layout& layout, std::int64_t offset) {
    char* const first = x.data() + offset * static_cast<std::int64_t>(item_size(x.dtype()));
    return {first, x.dtype(), layout.ndim, layout.sizes(), layout.strides().data()};
}

bool overlaps_itself(const Part& part) {
    // Sorted by stride, each axis must step over all that the smaller ones reach. Conservative for odd interleavings.
    int long_axes = 0, last = 0;
    for (int i = 0; i < part.sizes.size(); ++i)
        if (part.sizes[i] > 1) ++long_axes, last = i;
    if (long_axes < 2) return long_axes == 1 && part.strides[last] <= 0;
    std::vector<std::pair<std::int64_t, std::int64_t>> axes;
    for (int i = 0; i < part.sizes.size(); ++i)
        if (part.sizes[i] > 1) axes.emplace_back(part.strides[i], part.sizes[i]);
    std::sort(axes.begin(), axes.end());
    std::int64_t reach = 0;
    for (const auto& [stride, size] : axes) {
        if (stride <= reach) return true;
        reach += stride * (size - 1);
    }
    return false;
}

template <class Number>
void add_into(Number* out, const Part& part, const Number* values, int axis, std::int64_t& next) {
    if (axis == part.sizes.size()) {
        *out = static_cast<Number>(*out + values[next++]);
        return;
    }
    for (std::int64_t i = 0; i < part.sizes[axis]; ++i)
        add_into(out + i * part.strides[axis], part, values, axis + 1, next);
}

struct PartAttrs {
    Dims size, stride;
    std::int64_t offset;
    Part part() const { return {size, stride, offset}; }
};

struct StridedPart {
    using Attrs = PartAttrs;
    static constexpr auto fields = std::tuple{&Attrs::size, &Attrs::stride, &Attrs::offset};
    static constexpr OpText text{.schema = "_as_strided(Tensor self, int[] size, int[] stride, int offset)",
                                 .node = "AsStridedBackward0",
                                 .flags = kHidden | kView,
                                 .batching = BatchBy::Strided,
                                 .domain = "self=real(a, b), size=(b, a), stride=(1, b), offset=0"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = alias(x, inside(x, attrs.part(), "as_strided"), x->offset + attrs.offset);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        // The gradient is laid out as x's memory was, then seen through x's own geometry.
        const auto [whole, part, length] =
            in_one_block(x.layout, *Layout::make(attrs.size, attrs.stride), attrs.offset);
        Tensor flat = embed(g, Dims{length}, part);
        // Elements of x that share a place share its gradient.
        if (overlaps_itself(whole)) {
            const Tensor sharers = embed(ones(whole.sizes, g.dtype()), Dims{length}, whole);
            flat = div(flat, maximum(sharers, full(Dims{}, 1, g.dtype())));
        }
        return as_strided(flat, whole.sizes, whole.strides, whole.offset);
    }};
};

struct Embed {
    struct Attrs {
        Dims sizes, part_sizes, part_strides;
        std::int64_t offset;
        Part part() const { return {part_sizes, part_strides, offset}; }
    };
    static constexpr auto fields = std::tuple{&Attrs::sizes, &Attrs::part_sizes, &Attrs::part_strides, &Attrs::offset};
    static constexpr OpText text{
        .schema = "_embed(Tensor self, int[] sizes, int[] part_sizes, int[] part_strides, int offset)",
        .node = "EmbedBackward0",
        .flags = kHidden,
        .derivative = "self",
        .domain = "self=real(b), sizes=(a, b), part_sizes=(b,), part_strides=(1,), offset=b"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        need_fit("embed", are_sizes(attrs.sizes) && same_sizes(x.sizes(), attrs.part_sizes));
        out = empty(Layout::make(attrs.sizes), x.dtype());
        const Part part = attrs.part();
        const LayoutRef layout = inside(out, part, "embed");
        if (kernel_mode == KernelMode::Run &&
            x.numel() == 1) {  // an index's gradient: a kernel costs more than it does
            const std::size_t item = item_size(x.dtype());
            std::memset(out.data(), 0, static_cast<std::size_t>(out.numel()) * item);
            std::memcpy(out.data() + part.offset * static_cast<std::int64_t>(item), x.data(), item);
            return;
        }
        kernels::fill(out.view(), 0.0);
        if (!overlaps_itself(part)) {
            kernels::copy(view_of(out, *layout, part.offset), x.view());
            return;
        }
        if (kernels_skipped()) return;
        Tensor dense = empty(Layout::make(x.sizes()), x.dtype());
        kernels::copy(dense.view(), x.view());
        std::int64_t next = 0;
        with_any_type(x.dtype(), [&]<class T>() {
            add_into(out.data_as<T>() + part.offset, part, dense.data_as<const T>(), 0, next);
        });
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, const Attrs& attrs) {
        return as_strided(contiguous(g), attrs.part_sizes, attrs.part_strides, attrs.offset);
    }};
};

struct AsStridedScatter {
    using Attrs = PartAttrs;
    static constexpr auto fields = std::tuple{&Attrs::size, &Attrs::stride, &Attrs::offset};
    static constexpr OpText text{
        .schema = "_as_strided_scatter(Tensor self, Tensor src, int[] size, int[] stride, int offset)",
        .node = "AsStridedScatterBackward0",
        .flags = kHidden | kAnyDType,
        .derivative = "self + src",
        .domain = "self=real(a, b), src=real(b, a), size=(b, a), stride=(1, b), offset=0"};
    static void forward(const Tensor& base, const Tensor& value, const Attrs& attrs, Tensor& out) {
        out = empty(Layout::make(base.sizes()), base.dtype());
        kernels::copy(out.view(), base.view());
        need_fit("as_strided_scatter", same_sizes(value.sizes(), attrs.size));
        const LayoutRef layout = inside(out, attrs.part(), "as_strided_scatter");
        kernels::copy(view_of(out, *layout, attrs.offset), value.view());
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, const Attrs& attrs) {
            return as_strided_scatter(g, zeros(attrs.size, g.dtype()), attrs.size, attrs.stride, attrs.offset);
        },
        [](const Tensor& g, const Attrs& attrs) {
            return as_strided(contiguous(g), attrs.size, attrs.stride, attrs.offset);
        },
    };
};

}  // namespace

Tensor embed(const Tensor& x, Sizes sizes, const Part& part) {
    return run<Embed>({Dims(sizes), part.sizes, part.strides, part.offset}, x);
}
Tensor as_strided(const Tensor& x, Sizes sizes, Sizes strides, std::int64_t offset) {
    return run<StridedPart>({Dims(sizes), Dims(strides), offset}, x);
}
bool is_as_strided(const NodeKind& kind) { return &kind == &definition<StridedPart>(); }
Tensor as_strided_scatter(const Tensor& base, const Tensor& value, Sizes sizes, Sizes strides, std::int64_t offset) {
    return run<AsStridedScatter>({Dims(sizes), Dims(strides), offset}, base, value);
}

static const Register<StridedPart, Embed, AsStridedScatter> strided_operations;

}  // namespace clew
