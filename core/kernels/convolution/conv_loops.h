// The inner loops of convolution, for float32 and float64. Arrays are "channels last" here: the channels of one pixel
// are adjacent. Output channels go in panels of one or two vectors, padded with zeros.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"

namespace clew::kernels {

inline constexpr int kMostTileRows = 14;

// out[r][c] = start + sum of a(r, i) * b[i][c] for the c of one panel. The terms i come in segments of `run` terms; the
// terms of segment s start at a + segments[s], those of b follow each other.
template <class T>
struct ConvTile {
    const T* a;
    std::int64_t
        a_stride;  // between rows, where the terms are adjacent; else between terms: then the rows are adjacent
    const std::int64_t* segments;
    std::int64_t segment_count;
    std::int64_t run;
    const T* b;
    const T* start;   // what each row starts from: null for zeros
    bool accumulate;  // start from out instead
    T* out;
    std::int64_t out_stride;
};

// A grid of tiles of 4 x 4 pixels of the input, each two pixels from the last, and of 2 x 2 pixels of the output: see
// Note [Winograd]. The 16 transformed values of a tile are `plane` elements apart; the tiles follow each other.
template <class T>
struct WinogradGrid {
    T* pixels;
    std::int64_t pixel_stride, row_stride;
    T* transformed;
    std::int64_t tile_stride, plane;
    std::int64_t tile_rows, tile_columns;
    std::int64_t channels;  // a multiple of the lanes
};

template <class T>
struct ConvLoops {
    int lanes;  // of a vector
    int rows;   // of a tile, at most
    // By vectors in a panel less one, by whether rows are adjacent in a, by rows.
    void (*tile[2][2][kMostTileRows + 1])(const ConvTile<T>&);
    // out[c * out_stride + r] = in[r * in_stride + c]
    void (*transpose)(T* out, std::int64_t out_stride, const T* in, std::int64_t in_stride, std::int64_t rows,
                      std::int64_t columns);
    void (*winograd_input)(const WinogradGrid<T>&);
    // Adds start[c] to each pixel, if there is one.
    void (*winograd_output)(const WinogradGrid<T>&, const T* start);
    void (*winograd_gradient)(const WinogradGrid<T>&);
    bool (*all_finite)(const T* values, std::int64_t count);
};

struct ConvTable {
    ConvLoops<float> float32;
    ConvLoops<double> float64;
};
CLEW_DECLARE_TABLE(ConvTable, conv_loops)

}  // namespace clew::kernels
