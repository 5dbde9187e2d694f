#include "core/kernels/matrix/panels.h"

#include "core/kernels/elementwise/vectors.h"
#include "core/kernels/matrix/transpose.h"

// Note [Panels]
// As in Note [Small matrix products], but b is packed once for many products, so that all its loads follow each other,
// and a tile of the result may be as tall as there are registers: 8 rows of a panel's 128 bytes with AVX-512.
//
// Here too a * b + c may be one fused instruction.
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

namespace clew::kernels {
namespace {

using Index = std::int64_t;

constexpr int kTileRows = kVectorBytes == 64 ? 8 : 6, kTileVectors = 2;
constexpr int kTilesInPanel = static_cast<int>(kPanelBytes) / (kVectorBytes * kTileVectors);

template <class T>
constexpr int kWidth = static_cast<int>(panel_width<T>);

template <class T>
struct Target {
    T* out;
    Index row;  // stride
    T alpha;
    bool accumulate;
};

// Rows of one tile; `columns` of it are wanted.
template <class T, int Rows>
[[gnu::always_inline]] inline void tile(Index k, const T* a, Index a_row, Index a_column, const T* b,
                                        const Target<T>& to, T* out, Index columns) {
    using Vector = typename VectorOf<T>::type;
    using Loose = typename VectorOf<T>::loose;
    constexpr int lanes = kLanes<T>;
    Vector sums[Rows][kTileVectors] = {};  // in registers, which takes that all loops over them are unrolled
    for (Index step = 0; step < k; ++step) {
        Vector right[kTileVectors];
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) right[v] = *reinterpret_cast<const Loose*>(b + v * lanes);
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
            const T left = a[r * a_row];
#pragma GCC unroll 2
            for (int v = 0; v < kTileVectors; ++v) sums[r][v] += right[v] * left;
        }
        a += a_column;
        b += kWidth<T>;
    }
    if (columns >= kTileVectors * lanes) {
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < kTileVectors; ++v) {
                Loose* place = reinterpret_cast<Loose*>(out + r * to.row + v * lanes);
                const Vector scaled = sums[r][v] * to.alpha;
                *place = to.accumulate ? *place + scaled : scaled;
            }
        return;
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
        T row[kTileVectors * lanes];
#pragma GCC unroll 2
        for (int v = 0; v < kTileVectors; ++v) *reinterpret_cast<Loose*>(row + v * lanes) = sums[r][v] * to.alpha;
        for (Index c = 0; c < columns; ++c) {
            T& place = out[r * to.row + c];
            place = to.accumulate ? place + row[c] : row[c];
        }
    }
}

template <class T>
void multiply(Index m, Index n, Index k, Matrix<const T> left, Packed<T> right, T* out, Index out_row, T alpha,
              bool accumulate) {
    const Target<T> to{out, out_row, alpha, accumulate};
    constexpr int width = kWidth<T>, tile_width = kTileVectors * kLanes<T>;
    for (Index panel = 0; panel < n; panel += width) {
        for (int part = 0; part < kTilesInPanel; ++part) {
            const Index column = panel + part * tile_width;
            if (column >= n) break;
            const T* const b = right.data + panel * right.rows + part * tile_width;
            const T* a = left.data;
            T* place = out + column;
            Index rest = m;
            const auto run = [&]<int Rows>() {
                tile<T, Rows>(k, a, left.row_stride, left.column_stride, b, to, place, n - column);
                a += Rows * left.row_stride;
                place += Rows * out_row;
                rest -= Rows;
            };
            while (rest >= kTileRows) run.template operator()<kTileRows>();
            if (rest >= 4) run.template operator()<4>();
            if (rest >= 2) run.template operator()<2>();
            if (rest == 1) run.template operator()<1>();
        }
    }
}

// Squares of 8 columns, so that neither side runs through memory by its long stride alone.
template <class T>
void pack_across(Index k, Index columns, const T* from, Index row, Index column, T* to) {
    constexpr int width = kWidth<T>, block = 8;
    Index r = 0;
    for (; r + block <= k; r += block)
        for (Index c = 0; c < columns; ++c) {
            const T* source = from + r * row + c * column;
            T* place = to + r * width + c;
            for (int i = 0; i < block; ++i) place[i * width] = source[i * row];
        }
    for (; r < k; ++r)
        for (Index c = 0; c < columns; ++c) to[r * width + c] = from[r * row + c * column];
}

template <class T>
void pack(Index k, Index n, Matrix<const T> b, T* packed) {
    constexpr int width = kWidth<T>;
    for (Index panel = 0; panel < n; panel += width, packed += k * width) {
        const Index columns = n - panel < width ? n - panel : width;
        const T* from = b.data + panel * b.column_stride;
        if (b.column_stride == 1 && columns == width) {
            for (Index r = 0; r < k; ++r)
                __builtin_memcpy(packed + r * width, from + r * b.row_stride, width * sizeof(T));
            continue;
        }
        if (columns < width) __builtin_memset(packed, 0, static_cast<std::uint64_t>(k * width) * sizeof(T));
        if (b.column_stride == 1) {
            for (Index r = 0; r < k; ++r)
                for (Index c = 0; c < columns; ++c) packed[r * width + c] = from[r * b.row_stride + c];
        } else if (b.row_stride == 1) {
            constexpr Index size = sizeof(T);
            CLEW_JOIN(transpose_loops, CLEW_ISA)
                .block(reinterpret_cast<char*>(packed), width * size, reinterpret_cast<const char*>(from),
                       b.column_stride * size, k, columns, size);
        } else {
            pack_across(k, columns, from, b.row_stride, b.column_stride, packed);
        }
    }
}

}  // namespace

CLEW_EXPORT_TABLE(PanelTable, panels, {{pack<float>, multiply<float>}, {pack<double>, multiply<double>}});

}  // namespace clew::kernels
