#include "core/tensor/layout.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"

namespace clew {

void Dims::too_many() {
    fail(ErrorKind::NotImplemented, "tensor: at most %d dimensions are supported, got more", kMaxDims);
}
void Dims::insert(int position, std::int64_t value) {
    push_back(0);
    for (int i = count - 1; i > position; --i) values[i] = values[i - 1];
    values[position] = value;
}
void Dims::erase(int position) {
    for (int i = position; i + 1 < count; ++i) values[i] = values[i + 1];
    --count;
}
bool Dims::operator==(const Dims& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

namespace {

[[noreturn]] void too_large(Sizes sizes) {
    fail(ErrorKind::Runtime, "tensor: the elements of shape %s are too many to count; make it smaller",
         shape_text(sizes).c_str());
}

std::size_t bytes_of(int ndim) { return sizeof(Layout) + 2 * sizeof(std::int64_t) * static_cast<std::size_t>(ndim); }

Layout* allocate(int ndim) {
    auto* layout = static_cast<Layout*>(pool_take(bytes_of(ndim)));
    layout->references = 1;
    layout->ndim = static_cast<std::int16_t>(ndim);
    layout->packing = Packing::Unknown;
    return layout;
}

}  // namespace

[[gnu::hot]] LayoutRef Layout::make(Sizes sizes) {
    const int ndim = static_cast<int>(sizes.size());
    if (ndim == 0) return scalar();
    if (ndim > kMaxDims)
        fail(ErrorKind::NotImplemented, "tensor: at most %d dimensions are supported, got %d", kMaxDims, ndim);
    LayoutRef made = LayoutRef::steal(allocate(ndim));
    Layout* layout = made.get();
    std::int64_t numel = 1, stride = 1;
    bool overflow = false;
    for (int i = ndim - 1; i >= 0; --i) {
        const std::int64_t size = sizes[static_cast<std::size_t>(i)];
        layout->sizes()[i] = size;
        layout->mutable_strides()[i] = stride;
        overflow |= __builtin_mul_overflow(numel, size, &numel);
        overflow |= __builtin_mul_overflow(stride, std::max<std::int64_t>(size, 1), &stride);
    }
    if (overflow) [[unlikely]]
        too_large(sizes);
    layout->numel = numel;
    layout->contiguous = true;
    layout->packing = Packing::Packed;
    return made;
}

[[gnu::hot]] LayoutRef Layout::make(Sizes sizes, Sizes strides) {
    const int ndim = static_cast<int>(sizes.size());
    if (ndim == 0) return scalar();
    if (ndim > kMaxDims)
        fail(ErrorKind::NotImplemented, "tensor: at most %d dimensions are supported, got %d", kMaxDims, ndim);
    LayoutRef made = LayoutRef::steal(allocate(ndim));
    Layout* layout = made.get();
    std::int64_t numel = 1;
    bool contiguous = true, overflow = false;
    for (int i = ndim - 1; i >= 0; --i) {
        const std::int64_t size = sizes[static_cast<std::size_t>(i)], stride = strides[static_cast<std::size_t>(i)];
        layout->sizes()[i] = size;
        layout->mutable_strides()[i] = stride;
        contiguous = contiguous && (size == 1 || stride == numel);
        overflow |= __builtin_mul_overflow(numel, size, &numel);
    }
    if (overflow) [[unlikely]]
        too_large(sizes);
    layout->numel = numel;
    layout->contiguous = contiguous || numel == 0;
    return made;
}

namespace {

// The most common one: a matrix, transposed.
Layout* transposed(const Layout& from) {
    const std::int64_t rows = from.sizes()[0], columns = from.sizes()[1];
    const std::int64_t row_step = from.strides()[0], column_step = from.strides()[1];
    Layout* layout = allocate(2);
    layout->numel = from.numel;
    layout->contiguous = ((rows == 1 || row_step == 1) && (columns == 1 || column_step == rows)) || from.numel == 0;
    if (from.packing == Packing::Packed && rows > 1 && columns > 1) layout->packing = Packing::Packed;
    layout->sizes()[0] = columns;
    layout->sizes()[1] = rows;
    layout->sizes()[2] = column_step;  // the strides follow the sizes
    layout->sizes()[3] = row_step;
    return layout;
}

}  // namespace

LayoutRef Layout::permuted(const Layout& from, Sizes axes) {
    const int ndim = from.ndim;
    if (ndim == 0) return scalar();
    if (ndim == 2 && axes[0] == 1 && axes[1] == 0) return LayoutRef::steal(transposed(from));
    int order[kMaxDims];
    std::uint32_t seen = 0;
    for (int i = 0; i < ndim; ++i) {
        order[i] = wrap_axis(axes[static_cast<std::size_t>(i)], ndim, "permute");
        seen |= 1u << order[i];
    }
    if (seen + 1 != 1u << ndim) return {};
    Layout* layout = allocate(ndim);
    const std::int64_t *from_sizes = from.sizes(), *from_strides = from.strides().data();
    std::int64_t *sizes = layout->sizes(), *strides = layout->mutable_strides(), expected = 1;
    bool contiguous = true;
    for (int i = ndim - 1; i >= 0; --i) {
        const std::int64_t size = from_sizes[order[i]], stride = from_strides[order[i]];
        sizes[i] = size;
        strides[i] = stride;
        contiguous &= (size == 1) | (stride == expected);
        expected *= size;
    }
    layout->numel = from.numel;
    layout->contiguous = contiguous || from.numel == 0;
    return LayoutRef::steal(layout);
}

const LayoutRef& Layout::scalar() {
    static LayoutRef* const shared = [] {
        Layout* layout = allocate(0);
        layout->numel = 1;
        layout->contiguous = true;
        layout->packing = Packing::Packed;
        return new LayoutRef(LayoutRef::steal(layout));
    }();
    return *shared;
}

void destroy(Layout* layout) { pool_give(layout, bytes_of(layout->ndim)); }

Extent extent(const Layout& layout) {
    Extent span{0, 0};
    if (layout.numel == 0) return span;
    if (layout.contiguous) return {0, layout.numel - 1};
    bool overflow = false;
    for (int i = 0; i < layout.ndim; ++i) {
        std::int64_t reach;
        overflow |= __builtin_mul_overflow(layout.sizes()[i] - 1, layout.strides()[i], &reach);
        std::int64_t& end = reach < 0 ? span.low : span.high;
        overflow |= __builtin_add_overflow(end, reach, &end);
    }
    if (overflow) [[unlikely]]
        fail(ErrorKind::Runtime, "tensor: sizes %s with strides %s reach further than memory can; make them smaller",
             shape_text(layout.shape()).c_str(), shape_text(layout.strides()).c_str());
    return span;
}

std::string shape_text(Sizes sizes) {
    std::string text = "[";
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (i) text += ", ";
        text += std::to_string(sizes[i]);
    }
    return text + "]";
}

Dims broadcast_sizes(Sizes a, Sizes b, const char* op) {
    const int na = static_cast<int>(a.size()), nb = static_cast<int>(b.size());
    Dims result;
    result.count = std::max(na, nb);
    for (int i = 0; i < result.count; ++i) {
        const int ia = i - (result.count - na), ib = i - (result.count - nb);
        const std::int64_t sa = ia < 0 ? 1 : a[static_cast<std::size_t>(ia)];
        const std::int64_t sb = ib < 0 ? 1 : b[static_cast<std::size_t>(ib)];
        if (sa != sb && sa != 1 && sb != 1)
            fail(
                ErrorKind::Runtime,
                "%s: The size of tensor a (%lld) must match the size of tensor b (%lld) at non-singleton dimension %d; "
                "got shapes %s and %s, reshape or expand one of them",
                op, static_cast<long long>(sa), static_cast<long long>(sb), i, shape_text(a).c_str(),
                shape_text(b).c_str());
        result[i] = sa == 1 ? sb : sa;
    }
    return result;
}

bool can_expand(Sizes from, Sizes to) {
    if (from.size() > to.size()) return false;
    for (std::size_t i = 0; i < from.size(); ++i) {
        const std::int64_t size = from[from.size() - 1 - i];
        if (size != 1 && size != to[to.size() - 1 - i]) return false;
    }
    return true;
}

void fail_axis(std::int64_t axis, int bound, const char* op) {
    fail(ErrorKind::Index, "%s: Dimension out of range (expected to be in range of [%d, %d], but got %lld)", op, -bound,
         bound - 1, static_cast<long long>(axis));
}

std::int64_t count_elements(Sizes sizes) {
    std::int64_t numel = 1;
    for (auto size : sizes)
        if (__builtin_mul_overflow(numel, size, &numel)) too_large(sizes);
    return numel;
}

}  // namespace clew
