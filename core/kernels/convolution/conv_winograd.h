// What the ways over transformed tiles share: see conv_winograd.cpp.
#pragma once
#include "core/base/threads.h"
#include "core/kernels/convolution/conv_plan.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels::convolution {

inline constexpr Index kElements = 16;  // of a transformed tile
inline constexpr Index kZero[1] = {0};

// The grid of tiles that covers a result, and how it is cut into blocks of whole rows.
struct Blocks {
    Index tile_rows, tile_columns;  // of the grid
    Index rows;                     // of tiles in a block
    Index count;                    // of blocks
    Blocks(Index height, Index width) : tile_rows((height + 1) / 2), tile_columns((width + 1) / 2) {
        constexpr Index kTiles = 64;
        rows = std::clamp<Index>(kTiles / tile_columns, 1, tile_rows);
        count = (tile_rows + rows - 1) / rows;
    }
    Index tiles() const { return rows * tile_columns; }
    Index rows_of(Index block) const { return std::min(rows, tile_rows - block * rows); }
    Index band_columns() const { return 2 * tile_columns + 2; }
    Index band_pixels() const { return (2 * rows + 2) * band_columns(); }
};

// The pixels under one block of tiles, transformed: V by element, tile, channel.
template <class T>
void load_tiles(T* transformed, T* band, const Blocks& blocks, Index block, const PlaneOf<T>& image, Index padded,
                const Index* padding) {
    const Index rows = blocks.rows_of(block), columns = blocks.band_columns();
    const Index pixels = (2 * rows + 2) * columns;
    if (padded != image.channels) std::fill_n(band, pixels * padded, T(0));
    load_pixels(band, padded, image, 2 * block * blocks.rows - padding[0], 2 * rows + 2, -padding[1], columns);
    loops<T>().winograd_input({band, padded, columns * padded, transformed, padded, blocks.tiles() * padded, rows,
                               blocks.tile_columns, padded});
}

}  // namespace clew::kernels::convolution
