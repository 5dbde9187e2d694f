// All lines along one axis of several views: what softmax, cumulative sums and searches for the largest walk over.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "core/base/threads.h"
#include "core/kernels/memory/plan.h"

namespace clew::kernels {

struct Lines {
    Plan plan;                         // of the other axes
    std::int64_t count;                // of lines
    std::int64_t length;               // of each
    std::int64_t steps[kMaxOperands];  // in bytes along a line
    bool side_by_side;  // elements at the same place of neighbouring lines are adjacent, those of a line are not
};

// The first view gives the sizes; the others have these too, or stride 0.
inline Lines make_lines(std::span<const View> views, int axis) {
    Lines lines;
    std::int64_t sizes[kMaxDims];
    const View& first = views[0];
    for (int i = 0; i < first.ndim; ++i) sizes[i] = i == axis ? 1 : first.sizes[i];
    lines.length = first.ndim == 0 ? 1 : first.sizes[axis];
    const View out{first.data, first.dtype, first.ndim, sizes, first.strides};
    lines.count = make_plan(lines.plan, out, views.subspan(1));
    lines.side_by_side = lines.count > 4 && lines.length > 1;
    for (std::size_t k = 0; k < views.size(); ++k) {
        const std::int64_t size = static_cast<std::int64_t>(item_size(views[k].dtype));
        lines.steps[k] = first.ndim == 0 ? 0 : views[k].strides[axis] * size;
        if (lines.count > 0) lines.side_by_side &= lines.plan.strides[0][k] == size;
    }
    if (lines.count > 0) lines.side_by_side &= lines.plan.sizes[0] > 4;
    return lines;
}

// Calls body(data, strides, count) for pieces of `count` lines, whose first elements are at data[k] + i * strides[k].
// `chunk`: how many elements are worth another thread; `least`: how many lines a piece has at least.
template <class Body>
void for_each_line(const Lines& lines, const Body& body, std::int64_t chunk = kChunk, std::int64_t least = 1) {
    if (lines.count == 0 || lines.length == 0) return;
    constexpr std::int64_t kNeighbours = 128;  // below which lines side by side would waste what the cache loads
    // Several pieces for each thread, if there is work for more than one.
    const bool few = lines.count * lines.length <= chunk;
    std::int64_t grain = (few ? chunk : chunk / 4) / lines.length;
    if (lines.side_by_side) least = std::max(least, kNeighbours);
    if (grain < least) grain = least;
    parallel_for(lines.count, grain, [&](std::int64_t begin, std::int64_t end) { run(lines.plan, begin, end, body); });
}

}  // namespace clew::kernels
