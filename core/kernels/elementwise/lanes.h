// Lanes: all elements along one axis, at one place of the others. What sorts works lane by lane.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/base/threads.h"
#include "core/kernels/memory/walk.h"

namespace clew::kernels {

template <class T>
struct Lane {
    T* data;  // null when nobody wants what would be written
    std::int64_t length;
    std::int64_t stride;  // in elements
    T& operator[](std::int64_t i) const { return data[i * stride]; }
};

// body(Room&, Lane of values, Lane of indices, Lane of in) for all lanes along `axis`, perhaps on several threads, each
// with a Room of its own that it keeps from lane to lane.
template <class T, class Room, class Body>
void for_each_lane(const View& values, const View& indices, const View& in, int axis, const Body& body) {
    std::int64_t sizes[kMaxDims];
    std::copy_n(in.sizes, in.ndim, sizes);
    if (in.ndim > 0) sizes[axis] = 1;  // one position for each lane
    Walk walk(in.ndim, sizes);
    constexpr std::int64_t no_strides[kMaxDims] = {};
    for (const View* view : {&values, &indices, &in})
        walk.add({view->data, view->dtype, in.ndim, sizes, view->data == nullptr ? no_strides : view->strides});
    walk.merge();
    const auto length = [axis](const View& view) { return view.ndim == 0 ? std::int64_t{1} : view.sizes[axis]; };
    const auto stride = [axis](const View& view) { return view.ndim == 0 ? std::int64_t{0} : view.strides[axis]; };
    if (length(in) == 0) return;
    std::int64_t steps[3];
    for (int v = 0; v < 3; ++v) steps[v] = walk.stride(walk.ndim() - 1, v);
    parallel_for(walk.count(), std::max<std::int64_t>(1, 8192 / length(in)), [&](std::int64_t begin, std::int64_t end) {
        Room room;
        walk.run(begin, end, [&](char* const* at, std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) {
                const auto place = [&](int v) { return at[v] + i * steps[v]; };
                const Lane<T> to{values.data == nullptr ? nullptr : reinterpret_cast<T*>(place(0)), length(values),
                                 stride(values)};
                const Lane<std::int64_t> places{
                    indices.data == nullptr ? nullptr : reinterpret_cast<std::int64_t*>(place(1)), length(indices),
                    stride(indices)};
                body(room, to, places, Lane<const T>{reinterpret_cast<const T*>(place(2)), length(in), stride(in)});
            }
        });
    });
}

}  // namespace clew::kernels
