// The axes of a reduction, kept or reduced, and walks over them.
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

// Axes of one group, kept or reduced, innermost first; strides in bytes.
struct Axes {
    Axes() {}  // the arrays are filled as axes are added
    int ndim = 0;
    std::int64_t count = 1;
    std::int64_t sizes[kMaxDims];
    std::int64_t in[kMaxDims];
    std::int64_t out[kMaxDims];      // zero for reduced axes
    std::int64_t centers[kMaxDims];  // of the array of centers, for deviations
};

struct Places {
    const char* in;
    char* out;
    const char* center;
};

inline void move(Places& places, const Axes& axes, int axis, std::int64_t steps) {
    places.in += steps * axes.in[axis];
    places.out += steps * axes.out[axis];
    places.center += steps * axes.centers[axis];
}

inline std::int64_t magnitude_of(std::int64_t x) { return x < 0 ? -x : x; }

// Adds an axis outside all others, then lets it sink to where its stride belongs and joins it with its neighbours.
inline void add_axis(Axes& axes, std::int64_t size, std::int64_t in, std::int64_t out, std::int64_t center) {
    axes.count *= size;
    if (size == 1) return;
    int at = axes.ndim++;
    for (; at > 0 && magnitude_of(axes.in[at - 1]) > magnitude_of(in); --at) {
        axes.sizes[at] = axes.sizes[at - 1];
        axes.in[at] = axes.in[at - 1];
        axes.out[at] = axes.out[at - 1];
        axes.centers[at] = axes.centers[at - 1];
    }
    axes.sizes[at] = size;
    axes.in[at] = in;
    axes.out[at] = out;
    axes.centers[at] = center;
}

inline void join_neighbours(Axes& axes) {
    int last = 0;
    for (int axis = 1; axis < axes.ndim; ++axis) {
        const std::int64_t size = axes.sizes[last];
        if (axes.in[axis] == axes.in[last] * size && axes.out[axis] == axes.out[last] * size &&
            axes.centers[axis] == axes.centers[last] * size) {
            axes.sizes[last] *= axes.sizes[axis];
            continue;
        }
        ++last;
        axes.sizes[last] = axes.sizes[axis];
        axes.in[last] = axes.in[axis];
        axes.out[last] = axes.out[axis];
        axes.centers[last] = axes.centers[axis];
    }
    if (axes.ndim == 0) {  // so that there always is an innermost axis
        axes.sizes[0] = 1;
        axes.in[0] = axes.out[0] = axes.centers[0] = 0;
    }
    axes.ndim = last + 1;
}

// Calls body(places, index along the innermost axis, count) for elements [begin, end) of `axes`, piece by piece.
template <class Body>
void walk(const Axes& axes, Places places, std::int64_t begin, std::int64_t end, const Body& body) {
    if (begin >= end) return;
    std::int64_t index[kMaxDims];
    std::int64_t rest = begin;
    for (int axis = 0; axis < axes.ndim; ++axis) {
        index[axis] = rest % axes.sizes[axis];
        rest /= axes.sizes[axis];
        move(places, axes, axis, index[axis]);
    }
    std::int64_t left = end - begin;
    while (left > 0) {
        const std::int64_t row = axes.sizes[0] - index[0];
        const std::int64_t count = row < left ? row : left;
        body(places, count);
        left -= count;
        move(places, axes, 0, -index[0]);
        index[0] = 0;
        for (int axis = 1; axis < axes.ndim; ++axis) {
            move(places, axes, axis, 1);
            if (++index[axis] < axes.sizes[axis]) break;
            move(places, axes, axis, -axes.sizes[axis]);
            index[axis] = 0;
        }
    }
}

}  // namespace clew::kernels
