// Sizes and strides, immutable and shared: the result of `x * y` has the very Layout of x, and so has what the graph
// saves.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "core/base/allocator.h"
#include "core/base/object.h"
#include "core/kernels/view.h"

namespace clew {

inline constexpr int kMaxDims = kernels::kMaxDims;
using Sizes = std::span<const std::int64_t>;

struct Axes;
[[noreturn]] void fail_axis(std::int64_t axis, int bound, const char* op);

// A short list of numbers by value: sizes, strides.
struct Dims {
    std::int64_t values[kMaxDims];
    int count = 0;

    Dims() {}  // leaves the values as they are: zeros would cost every call
    Dims(const Axes& axes);
    Dims(std::initializer_list<std::int64_t> list) {
        for (auto value : list) push_back(value);
    }
    explicit Dims(Sizes list) {
        for (auto value : list) push_back(value);
    }
    void push_back(std::int64_t value) {
        if (count == kMaxDims) too_many();
        values[count++] = value;
    }
    void insert(int position, std::int64_t value);
    void erase(int position);
    std::int64_t& operator[](int i) { return values[i]; }
    std::int64_t operator[](int i) const { return values[i]; }
    std::int64_t* begin() { return values; }
    std::int64_t* end() { return values + count; }
    const std::int64_t* begin() const { return values; }
    const std::int64_t* end() const { return values + count; }
    int size() const { return count; }
    bool empty() const { return count == 0; }
    operator Sizes() const { return {values, static_cast<std::size_t>(count)}; }
    bool operator==(const Dims& other) const;

    [[noreturn]] static void too_many();
};

// A list of axes as a call names them: negative ones count from the end. In the attributes of operations: a node that
// keeps them has a byte for each, and Dims eight. IndexError for what needs more, and no tensor has.
struct Axes {
    std::int8_t values[kMaxDims];
    std::uint8_t count = 0;

    Axes() = default;
    Axes(std::initializer_list<std::int64_t> list) : Axes(Dims(list)) {}
    Axes(const Dims& list) {
        for (const std::int64_t axis : list) push_back(axis);
    }
    void push_back(std::int64_t axis) {
        if (axis != static_cast<std::int8_t>(axis)) fail_axis(axis, kMaxDims, "dim");
        if (count == kMaxDims) Dims::too_many();
        values[count++] = static_cast<std::int8_t>(axis);
    }
    int operator[](int i) const { return values[i]; }
    const std::int8_t* begin() const { return values; }
    const std::int8_t* end() const { return values + count; }
    int size() const { return count; }
    bool empty() const { return count == 0; }
    bool operator==(const Axes& other) const { return Dims(*this) == Dims(other); }
};
inline Dims::Dims(const Axes& axes) {
    for (const int axis : axes) values[count++] = axis;
}

// How elements and places of memory correspond: Note [The layout of results] in packing.h. Dense layouts that are not
// packed have axes of size 1 with strides of their own.
enum class Packing : std::uint8_t { Unknown, Packed, Dense, Loose };

struct Layout {
    std::uint32_t references = 1;
    std::int16_t ndim;
    bool contiguous;
    mutable Packing packing;  // found when it is asked for
    std::int64_t numel;

    std::int64_t* sizes() { return reinterpret_cast<std::int64_t*>(this + 1); }
    std::int64_t* mutable_strides() { return sizes() + ndim; }
    const std::int64_t* sizes() const { return reinterpret_cast<const std::int64_t*>(this + 1); }
    Sizes shape() const { return {sizes(), static_cast<std::size_t>(ndim)}; }
    Sizes strides() const { return {sizes() + ndim, static_cast<std::size_t>(ndim)}; }

    // Both fail where the elements, of any tensor that could have these sizes, are too many for 64 bits.
    static Ref<Layout> make(Sizes sizes);  // row-major
    static Ref<Layout> make(Sizes sizes, Sizes strides);
    // With the axes in another order: each axis of `from` once, negative ones counted from the end; null otherwise.
    static Ref<Layout> permuted(const Layout& from, Sizes axes);
    static const Ref<Layout>& scalar();  // no axes, one element
};
using LayoutRef = Ref<Layout>;

void destroy(Layout* layout);
inline void retain(Layout* layout) { ++layout->references; }
inline void release(Layout* layout) {
    if (--layout->references == 0) destroy(layout);
}

inline bool same_sizes(Sizes a, Sizes b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i] != b[i]) return false;
    return true;
}
inline bool same_shape(const Layout& a, const Layout& b) { return &a == &b || same_sizes(a.shape(), b.shape()); }
// The first and the last element that a view can touch, relative to its offset; both 0 if it has none. Fails where they
// are further away than 64 bits can tell.
struct Extent {
    std::int64_t low, high;
};
Extent extent(const Layout& layout);

std::string shape_text(Sizes sizes);                     // "[2, 3]"
Dims broadcast_sizes(Sizes a, Sizes b, const char* op);  // fails when they do not fit
bool can_expand(Sizes from, Sizes to);
// Negative axes count from the end; IndexError outside.
inline int wrap_axis(std::int64_t axis, int ndim, const char* op) {
    const int bound = ndim > 0 ? ndim : 1;
    if (axis < -bound || axis >= bound) fail_axis(axis, bound, op);
    return static_cast<int>(axis < 0 ? axis + bound : axis);
}
std::int64_t count_elements(Sizes sizes);  // fails if they are too many for 64 bits

}  // namespace clew
