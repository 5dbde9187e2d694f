#include "core/ops/views/geometry.h"

#include <algorithm>

#include "core/base/error.h"

namespace clew {

Dims infer_sizes(const Tensor& x, const Dims& wanted, const char* op) {
    Dims sizes = wanted;
    int unknown = -1;
    std::int64_t known = 1;
    for (int i = 0; i < sizes.size(); ++i) {
        if (sizes[i] == -1) {
            if (unknown >= 0)
                fail(ErrorKind::Runtime, "%s: only one dimension can be inferred, got %s", op,
                     shape_text(wanted).c_str());
            unknown = i;
        } else if (sizes[i] < 0) {
            fail(ErrorKind::Runtime, "%s: invalid shape dimension %lld in %s; sizes are 0 or more, or one -1", op,
                 static_cast<long long>(sizes[i]), shape_text(wanted).c_str());
        } else {
            known = count_elements(Dims{known, sizes[i]});
        }
    }
    if (unknown >= 0) {
        if (known == 0)
            fail(ErrorKind::Runtime,
                 "%s: cannot reshape tensor of 0 elements into shape %s because the unspecified dimension size -1 can "
                 "be any value and is ambiguous",
                 op, shape_text(wanted).c_str());
        sizes[unknown] = x.numel() / known;
        known *= sizes[unknown];
    }
    if (known != x.numel())
        fail(ErrorKind::Runtime, "%s: shape '%s' is invalid for input of size %lld", op, shape_text(wanted).c_str(),
             static_cast<long long>(x.numel()));
    return sizes;
}

LayoutRef view_layout(const Layout& from, Sizes sizes) {
    if (from.contiguous) return Layout::make(sizes);
    // Blocks of axes that are contiguous among themselves are cut up again by the new sizes, from the last to the
    // first.
    Dims strides(sizes);
    int to = static_cast<int>(sizes.size()) - 1;
    std::int64_t from_block = 1, to_block = 1;
    std::int64_t base = from.ndim ? from.strides()[from.ndim - 1] : 1;
    for (int axis = from.ndim - 1; axis >= 0; --axis) {
        from_block *= from.sizes()[axis];
        const bool ends = axis == 0 || (from.sizes()[axis - 1] != 1 && from.strides()[axis - 1] != from_block * base);
        if (!ends) continue;
        while (to >= 0 && (to_block < from_block || sizes[static_cast<std::size_t>(to)] == 1)) {
            strides[to] = to_block * base;
            to_block *= sizes[static_cast<std::size_t>(to)];
            --to;
        }
        if (to_block != from_block) return {};
        if (axis > 0) {
            base = from.strides()[axis - 1];
            from_block = to_block = 1;
        }
    }
    return to < 0 ? Layout::make(sizes, strides) : LayoutRef();
}

LayoutRef expanded_layout(const Tensor& x, const Dims& wanted) {
    const int lead = wanted.size() - x.ndim();
    if (lead < 0)
        fail(ErrorKind::Runtime,
             "expand: the number of sizes provided (%d) must be greater or equal to the number of dimensions in the "
             "tensor (%d)",
             wanted.size(), x.ndim());
    Dims sizes = wanted, strides = wanted;
    for (int i = 0; i < wanted.size(); ++i) {
        const std::int64_t own = i < lead ? 1 : x.size(i - lead);
        if (wanted[i] == -1) {
            if (i < lead)
                fail(ErrorKind::Runtime, "expand: size -1 isn't allowed in a leading, non-existing dimension %d", i);
            sizes[i] = own;
        } else if (wanted[i] < 0) {
            fail(ErrorKind::Runtime, "expand: invalid size %lld in %s", static_cast<long long>(wanted[i]),
                 shape_text(wanted).c_str());
        } else if (own != wanted[i] && own != 1) {
            fail(ErrorKind::Runtime,
                 "expand: The expanded size of the tensor (%lld) must match the existing size (%lld) at non-singleton "
                 "dimension %d. Target "
                 "sizes: %s. Tensor sizes: %s",
                 static_cast<long long>(wanted[i]), static_cast<long long>(own), i, shape_text(wanted).c_str(),
                 shape_text(x.sizes()).c_str());
        }
        strides[i] = i < lead || own != sizes[i] ? 0 : x.stride(i - lead);
    }
    // An axis of size 1 before the others steps over all of them, as if the tensor had been reshaped.
    for (int i = lead - 1; i >= 0 && x.ndim(); --i)
        if (sizes[i] == 1) strides[i] = sizes[i + 1] * strides[i + 1];
    return Layout::make(sizes, strides);
}

LayoutRef swapped_layout(const Tensor& x, int a, int b) {
    if (x.ndim() == 0) return x->layout;
    Dims sizes(x.sizes()), strides(x.strides());
    std::swap(sizes[a], sizes[b]);
    std::swap(strides[a], strides[b]);
    return Layout::make(sizes, strides);
}

Dims contiguous_strides(Sizes sizes) {
    Dims strides(sizes);
    std::int64_t stride = 1;
    for (int i = strides.size() - 1; i >= 0; --i) {
        strides[i] = stride;
        stride = count_elements(Dims{stride, std::max<std::int64_t>(sizes[static_cast<std::size_t>(i)], 1)});
    }
    return strides;
}

std::int64_t stepped_stride(std::int64_t stride, std::int64_t step) {
    // A step that reaches so far is never taken, and its bytes could not be counted.
    constexpr std::int64_t kFar = INT64_MAX / 16;
    const std::int64_t stepped = clipped_product(stride, step);
    return stepped > kFar || stepped < -kFar ? stride : stepped;
}

InOneBlock in_one_block(const Layout& whole, const Layout& part, std::int64_t offset) {
    int repeating = 0;
    while (repeating < std::min<int>(whole.ndim, part.ndim) && whole.strides()[repeating] == 0 &&
           part.strides()[repeating] == 0 && whole.sizes()[repeating] == part.sizes()[repeating])
        ++repeating;
    const Extent own = extent(whole), other = extent(part);
    const std::int64_t low = std::min(own.low, offset + other.low), high = std::max(own.high, offset + other.high);
    InOneBlock block{{Dims(whole.shape()), Dims(whole.strides()), -low},
                     {Dims(part.shape()), Dims(part.strides()), offset - low},
                     high - low + 1};
    for (int axis = repeating - 1; axis >= 0; --axis) {
        block.whole.strides[axis] = block.part.strides[axis] = block.length;
        block.length = clipped_product(block.length, whole.sizes()[axis]);
    }
    return block;
}

Tensor view_part(const Tensor& x, const Part& part) {
    return alias(x, Layout::make(part.sizes, part.strides), x->offset + part.offset);
}

}  // namespace clew
