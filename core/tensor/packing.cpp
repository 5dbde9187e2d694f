#include "core/tensor/packing.h"

#include <algorithm>
#include <utility>

namespace clew {
namespace {

constexpr int kMostOperands = 4;

enum class Side { Inside, Outside, Untold };

// Where axis a belongs beside axis b. Of equal strides the shorter axis goes inside: it has one element, or no memory
// of its own.
Side side_of(std::int64_t a, std::int64_t b, Sizes sizes, std::span<const Dims> strides) {
    for (const Dims& operand : strides) {
        const std::int64_t of_a = operand[static_cast<int>(a)], of_b = operand[static_cast<int>(b)];
        if (of_a == 0 || of_b == 0) continue;
        if (of_a != of_b) return of_a < of_b ? Side::Inside : Side::Outside;
        if (sizes[static_cast<std::size_t>(a)] < sizes[static_cast<std::size_t>(b)]) return Side::Inside;
    }
    return Side::Untold;
}

Dims broadcast_strides(const Layout& layout, Sizes sizes) {
    Dims strides;
    const int ndim = static_cast<int>(sizes.size()), lead = ndim - layout.ndim;
    for (int axis = 0; axis < ndim; ++axis) {
        const bool repeats =
            axis < lead || (layout.sizes()[axis - lead] == 1 && sizes[static_cast<std::size_t>(axis)] != 1);
        strides.push_back(repeats ? 0 : layout.strides()[axis - lead]);
    }
    return strides;
}

bool is_row_major(const Dims& order) {
    for (int i = 0; i < order.size(); ++i)
        if (order[i] != order.size() - 1 - i) return false;
    return true;
}

// No gaps, in that order. Row-major strides are those of Layout::make, also where there are no elements.
Dims strides_in(const Dims& order, Sizes sizes) {
    Dims strides(sizes);
    std::int64_t stride = 1;
    const bool row_major = is_row_major(order);
    for (const std::int64_t axis : order) {
        const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
        strides[static_cast<int>(axis)] = stride;
        // Sizes that are too large are refused where the layout is made.
        (void)__builtin_mul_overflow(stride, row_major ? std::max<std::int64_t>(size, 1) : size, &stride);
    }
    return strides;
}

bool has_no_gaps(const Layout& layout, const Dims& order) {
    std::int64_t expected = 1;
    for (const std::int64_t axis : order) {
        if (layout.sizes()[axis] == 1) continue;
        if (layout.strides()[axis] != expected) return false;
        expected *= layout.sizes()[axis];
    }
    return true;
}

}  // namespace

Dims memory_order(Sizes sizes, std::span<const Dims> strides) {
    Dims order;
    const int ndim = static_cast<int>(sizes.size());
    for (int axis = ndim - 1; axis >= 0; --axis) order.push_back(axis);
    // Sorted by insertion, which passes by axes that are not to be told apart.
    for (int i = 1; i < ndim; ++i) {
        int here = i;
        for (int inner = i - 1; inner >= 0; --inner) {
            const Side side = side_of(order[here], order[inner], sizes, strides);
            if (side == Side::Outside) break;
            if (side == Side::Untold) continue;
            std::swap(order[here], order[inner]);
            here = inner;
        }
    }
    return order;
}

Packing find_packing(const Layout& layout) {
    const Sizes sizes = layout.shape(), own = layout.strides();
    const auto lies_in = [&](const Dims& order) { return same_sizes(strides_in(order, sizes), own); };
    const Dims strides(own);
    Dims order;
    if (layout.contiguous)
        for (int axis = layout.ndim - 1; axis >= 0; --axis) order.push_back(axis);
    else
        order = memory_order(sizes, std::span(&strides, 1));
    const bool dense = layout.contiguous || has_no_gaps(layout, order);
    layout.packing = !dense ? Packing::Loose : lies_in(order) ? Packing::Packed : Packing::Dense;
    return layout.packing;
}

LayoutRef dense_layout(Sizes sizes, std::span<const Dims> strides) {
    const Dims order = memory_order(sizes, strides);
    return is_row_major(order) ? Layout::make(sizes) : Layout::make(sizes, strides_in(order, sizes));
}

LayoutRef result_layout(Sizes sizes, std::span<const Tensor> operands) {
    const LayoutRef& first = operands[0].layout_ref();
    const LayoutRef* whole = nullptr;  // that of the result, if that is row by row
    bool contiguous = true, alike = true, of_one_shape = true, packed = true;
    for (const Tensor& operand : operands) {
        const Layout& layout = operand.layout();
        const bool of_result = same_sizes(layout.shape(), sizes);
        of_one_shape = of_one_shape && of_result;
        // One element that was expanded to all does not decide, as a number does not.
        const bool expanded =
            !layout.contiguous && std::ranges::all_of(layout.strides(), [](std::int64_t step) { return step == 0; });
        contiguous = contiguous && (layout.contiguous || expanded);
        packed = packed && (expanded || is_packed(layout));
        alike = alike && of_result && (&layout == first.get() || same_sizes(layout.strides(), first->strides()));
        if (of_result && !whole && is_packed(layout)) whole = &operand.layout_ref();
    }
    // Where operands are broadcast, even the strides of axes of one element tell an order.
    if (contiguous && (of_one_shape || packed)) return whole ? *whole : Layout::make(sizes);
    if (alike && is_dense(*first)) return first;
    Dims strides[kMostOperands];
    std::size_t count = 0;
    for (const Tensor& operand : operands)
        if (operand.ndim() > 0) strides[count++] = broadcast_strides(operand.layout(), sizes);
    return dense_layout(sizes, std::span(strides, count));
}

LayoutRef like_layout(const Tensor& x) {
    if (is_dense(x.layout())) return x.layout_ref();
    const Dims strides(x.strides());
    return dense_layout(x.sizes(), std::span(&strides, 1));
}

}  // namespace clew
