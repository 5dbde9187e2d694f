// Walks in which some inputs run across the output (x.T + y) go tile by tile: of such an input, a tile is transposed
// into a buffer, from which the inner loop then takes it as if it had lain like the output.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/base/threads.h"
#include "core/kernels/matrix/transpose.h"
#include "core/kernels/memory/plan.h"

namespace clew::kernels {

inline constexpr std::int64_t kTileHeight = 32, kTileWidth = 64;  // along the axis below, and along axis 0

// The axis that a tile has beside axis 0: along it some input is contiguous that is not so along axis 0. 0 if there is
// none.
inline int tile_axis(const Plan& plan) {
    constexpr std::int64_t kLeast = 8;  // below which a tile is not worth its buffer
    if (plan.ndim < 2 || plan.strides[0][0] != plan.items[0] || plan.sizes[0] < kLeast) return 0;
    for (int k = 1; k < plan.operands; ++k) {
        if (plan.strides[0][k] == 0 || plan.strides[0][k] == plan.items[k]) continue;
        for (int axis = 1; axis < plan.ndim; ++axis)
            if (plan.strides[axis][k] == plan.items[k] && plan.sizes[axis] >= kLeast) return axis;
    }
    return 0;
}

// inner(data, strides, count) for every row of the tile with its corner at `corner`.
template <class Inner>
void run_tile(const Plan& plan, int axis, char* const* corner, std::int64_t height, std::int64_t width,
              const Inner& inner) {
    alignas(64) char buffers[kMaxInputs][kTileHeight * kTileWidth * 8];
    char* row[kMaxOperands];
    std::int64_t along[kMaxOperands], down[kMaxOperands];
    for (int k = 0; k < plan.operands; ++k) {
        row[k] = corner[k];
        along[k] = plan.strides[0][k];
        down[k] = plan.strides[axis][k];
        if (k == 0 || down[k] != plan.items[k] || along[k] == 0 || along[k] == plan.items[k]) continue;
        row[k] = buffers[k - 1];
        along[k] = plan.items[k];
        down[k] = kTileWidth * plan.items[k];
        transpose_loops().block(row[k], down[k], corner[k], plan.strides[0][k], height, width, plan.items[k]);
    }
    for (std::int64_t i = 0; i < height; ++i) {
        inner(row, along, width);
        for (int k = 0; k < plan.operands; ++k) row[k] += down[k];
    }
}

template <class Inner>
void run_in_tiles(const Plan& plan, int axis, const Inner& inner) {
    const auto tiles = [](std::int64_t size, std::int64_t side) { return (size + side - 1) / side; };
    const std::int64_t across = tiles(plan.sizes[0], kTileWidth), down = tiles(plan.sizes[axis], kTileHeight);
    std::int64_t count = across * down;
    for (int other = 1; other < plan.ndim; ++other)
        if (other != axis) count *= plan.sizes[other];
    constexpr std::int64_t kTilesAtOnce = 8;
    parallel_for(count, kTilesAtOnce, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t tile = begin; tile < end; ++tile) {
            const std::int64_t left = tile % across * kTileWidth, top = tile / across % down * kTileHeight;
            std::int64_t rest = tile / across / down;
            char* corner[kMaxOperands];
            for (int k = 0; k < plan.operands; ++k)
                corner[k] = plan.data[k] + left * plan.strides[0][k] + top * plan.strides[axis][k];
            for (int other = 1; other < plan.ndim; ++other) {
                if (other == axis) continue;
                const std::int64_t place = rest % plan.sizes[other];
                rest /= plan.sizes[other];
                for (int k = 0; k < plan.operands; ++k) corner[k] += place * plan.strides[other][k];
            }
            run_tile(plan, axis, corner, std::min(kTileHeight, plan.sizes[axis] - top),
                     std::min(kTileWidth, plan.sizes[0] - left), inner);
        }
    });
}

}  // namespace clew::kernels
