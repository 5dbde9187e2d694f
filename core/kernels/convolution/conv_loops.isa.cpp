#include "core/kernels/convolution/conv_loops.h"

#include "core/kernels/elementwise/vectors.h"
#include "core/kernels/matrix/transpose.h"

// A tile's sums stay in registers while the terms run; each step loads the vectors of b and one element of a for each
// row. Here a * b + c may be one fused instruction, as in small_gemm.isa.cpp.
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// 28 sums, two vectors of b and one element of a in 32 registers; or what fits 16.
constexpr int kRows = kVectorBytes == 64 ? 14 : 6;
static_assert(kRows <= kMostTileRows);

template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
[[gnu::always_inline]] inline Vector<T> load(const T* from) {
    return *reinterpret_cast<const typename VectorOf<T>::loose*>(from);
}
template <class T>
[[gnu::always_inline]] inline void store(T* to, const Vector<T>& value) {
    *reinterpret_cast<typename VectorOf<T>::loose*>(to) = value;
}

// ----------------------------------------------------------------------------------------------------------- products
template <class T, int Rows, int Vectors, bool kRowsAdjacent>
void tile(const ConvTile<T>& t) {
    constexpr int lanes = kLanes<T>;
    // Rows at a + r * stride by base registers three rows apart: an address has one index register.
    constexpr int bases = (Rows + 2) / 3;
    const Index stride = t.a_stride;
    Vector<T> sums[Rows][Vectors];
    const auto begin_with = [&](const T* from, Index row) __attribute__((always_inline)) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < Vectors; ++v) sums[r][v] = load(from + r * row + v * lanes);
    };
    static constexpr T zeros[2 * lanes] = {};
    if (t.accumulate)
        begin_with(t.out, t.out_stride);
    else
        begin_with(t.start != nullptr ? t.start : zeros, 0);
    const T* b = t.b;
    for (Index s = 0; s < t.segment_count; ++s) {
        const T* a[bases];
        for (int i = 0; i < bases; ++i) a[i] = t.a + t.segments[s] + (kRowsAdjacent ? 0 : 3 * i * stride);
        for (Index step = t.run; step > 0; --step) {
            Vector<T> right[Vectors];
            for (int v = 0; v < Vectors; ++v) right[v] = load(b + v * lanes);
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r) {
                const T left = kRowsAdjacent ? a[0][r] : a[r / 3][r % 3 * stride];
                for (int v = 0; v < Vectors; ++v) sums[r][v] += right[v] * left;
            }
            b += Vectors * lanes;
            if (kRowsAdjacent)
                a[0] += stride;
            else
                for (int i = 0; i < bases; ++i) ++a[i];
        }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) store(t.out + r * t.out_stride + v * lanes, sums[r][v]);
}

// ------------------------------------------------------------------------------------------------------ transposition
template <int... I>
struct Numbers {};
template <int N, int... I>
struct CountTo : CountTo<N - 1, N - 1, I...> {};
template <int... I>
struct CountTo<0, I...> {
    using type = Numbers<I...>;
};
// a[0] b[0] a[1] b[1] ... of the lower half of both vectors, or of the upper.
template <class T, bool kUpper, int... I>
[[gnu::always_inline]] inline Vector<T> interleave(const Vector<T>& a, const Vector<T>& b, Numbers<I...>) {
    constexpr int lanes = kLanes<T>;
    return __builtin_shufflevector(a, b, (I / 2 + (kUpper ? lanes / 2 : 0) + I % 2 * lanes)...);
}
// A square of vectors; interleaving the halves as often as the size can be halved exchanges rows and columns.
template <class T>
[[gnu::always_inline]] inline void transpose_square(T* out, Index out_stride, const T* in, Index in_stride) {
    constexpr int lanes = kLanes<T>;
    using All = typename CountTo<lanes>::type;
    Vector<T> rows[lanes], next[lanes];
    for (int i = 0; i < lanes; ++i) rows[i] = load(in + i * in_stride);
#pragma GCC unroll 8
    for (int round = 1; round < lanes; round *= 2) {
        for (int i = 0; i < lanes / 2; ++i) {
            next[2 * i] = interleave<T, false>(rows[i], rows[i + lanes / 2], All{});
            next[2 * i + 1] = interleave<T, true>(rows[i], rows[i + lanes / 2], All{});
        }
        for (int i = 0; i < lanes; ++i) rows[i] = next[i];
    }
    for (int i = 0; i < lanes; ++i) store(out + i * out_stride, rows[i]);
}

template <class T>
void transpose(T* out, Index out_stride, const T* in, Index in_stride, Index rows, Index columns) {
    constexpr Index lanes = kLanes<T>;
    constexpr Index size = sizeof(T);
    if (rows < lanes || columns < lanes)
        return CLEW_JOIN(transpose_loops, CLEW_ISA)
            .block(reinterpret_cast<char*>(out), out_stride * size, reinterpret_cast<const char*>(in), in_stride * size,
                   columns, rows, size);
    // The last square of a row or column overlaps the one before, and writes the same there.
    for (Index i = 0; i < rows; i += lanes) {
        const Index r = i + lanes <= rows ? i : rows - lanes;
        for (Index j = 0; j < columns; j += lanes) {
            const Index c = j + lanes <= columns ? j : columns - lanes;
            transpose_square(out + c * out_stride + r, out_stride, in + r * in_stride + c, in_stride);
        }
    }
}

// ----------------------------------------------------------------------------------------------------------- Winograd
// Note [Winograd]
// F(2 x 2, 3 x 3) of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (arXiv:1509.09308): the 2 x 2
// outputs of a tile are A' ((G w G') . (B' x B)) A with the 4 x 4 inputs x under it: 16 products for 36. All entries of
// A and B are 0, 1 and -1, those of G 0, 1 and 1/2, so it is about as exact as the plain sum. The gradient of w
// is G' (sum of (A y A') . (B' x B)) G, by the chain rule.
template <class T, class Body>
[[gnu::always_inline]] inline void for_each_tile(const WinogradGrid<T>& g, const Body& body) {
    T* transformed = g.transformed;
    for (Index i = 0; i < g.tile_rows; ++i)
        for (Index j = 0; j < g.tile_columns; ++j) {
            T* pixels = g.pixels + 2 * i * g.row_stride + 2 * j * g.pixel_stride;
            for (Index c = 0; c < g.channels; c += kLanes<T>) body(pixels + c, transformed + c, c);
            transformed += g.tile_stride;
        }
}

template <class T>
[[gnu::always_inline]] inline void input_side(const Vector<T> (&x)[4], Vector<T> (&out)[4]) {
    out[0] = x[0] - x[2];
    out[1] = x[1] + x[2];
    out[2] = x[2] - x[1];
    out[3] = x[1] - x[3];
}
template <class T>
void winograd_input(const WinogradGrid<T>& g) {
    for_each_tile(g, [&](const T* pixels, T* to, Index) {
        Vector<T> half[4][4];  // by column, then row
        for (int j = 0; j < 4; ++j) {
            Vector<T> x[4];
            for (int i = 0; i < 4; ++i) x[i] = load(pixels + i * g.row_stride + j * g.pixel_stride);
            input_side<T>(x, half[j]);
        }
        for (int i = 0; i < 4; ++i) {
            const Vector<T> row[4] = {half[0][i], half[1][i], half[2][i], half[3][i]};
            Vector<T> out[4];
            input_side<T>(row, out);
            for (int j = 0; j < 4; ++j) store(to + (4 * i + j) * g.plane, out[j]);
        }
    });
}

template <class T>
void winograd_output(const WinogradGrid<T>& g, const T* start) {
    for_each_tile(g, [&](T* pixels, const T* from, Index c) {
        Vector<T> half[2][4];
        for (int j = 0; j < 4; ++j) {
            Vector<T> m[4];
            for (int i = 0; i < 4; ++i) m[i] = load(from + (4 * i + j) * g.plane);
            half[0][j] = m[0] + m[1] + m[2];
            half[1][j] = m[1] - m[2] - m[3];
        }
        const Vector<T> first = start == nullptr ? Vector<T>{} : load(start + c);
        for (int i = 0; i < 2; ++i) {
            store(pixels + i * g.row_stride, half[i][0] + half[i][1] + half[i][2] + first);
            store(pixels + i * g.row_stride + g.pixel_stride, half[i][1] - half[i][2] - half[i][3] + first);
        }
    });
}

template <class T>
[[gnu::always_inline]] inline void gradient_side(const Vector<T>& a, const Vector<T>& b, Vector<T> (&out)[4]) {
    out[0] = a;
    out[1] = a + b;
    out[2] = a - b;
    out[3] = -b;
}
template <class T>
void winograd_gradient(const WinogradGrid<T>& g) {
    for_each_tile(g, [&](const T* pixels, T* to, Index) {
        Vector<T> half[2][4];
        for (int j = 0; j < 2; ++j)
            gradient_side<T>(load(pixels + j * g.pixel_stride), load(pixels + g.row_stride + j * g.pixel_stride),
                             half[j]);
        for (int i = 0; i < 4; ++i) {
            Vector<T> out[4];
            gradient_side<T>(half[0][i], half[1][i], out);
            for (int j = 0; j < 4; ++j) store(to + (4 * i + j) * g.plane, out[j]);
        }
    });
}

template <class T>
bool all_finite(const T* values, Index count) {
    constexpr Index lanes = kLanes<T>;
    Vector<T> zeros = {};
    Index i = 0;
    for (; i + lanes <= count; i += lanes) zeros += load(values + i) * T(0);
    T total = 0;
    for (int k = 0; k < lanes; ++k) total += zeros[k];
    for (; i < count; ++i) total += values[i] * T(0);
    return total == T(0);
}

// -------------------------------------------------------------------------------------------------------------- table
template <class T, int Vectors, bool kRowsAdjacent, int... I>
constexpr void fill(ConvLoops<T>& loops, Numbers<I...>) {
    ((loops.tile[Vectors - 1][kRowsAdjacent][I + 1] = tile<T, I + 1, Vectors, kRowsAdjacent>), ...);
}
template <class T>
constexpr ConvLoops<T> make_loops() {
    ConvLoops<T> loops{
        kLanes<T>, kRows, {}, transpose<T>, winograd_input<T>, winograd_output<T>, winograd_gradient<T>, all_finite<T>};
    using Rows = typename CountTo<kRows>::type;
    fill<T, 1, false>(loops, Rows{});
    fill<T, 1, true>(loops, Rows{});
    fill<T, 2, false>(loops, Rows{});
    fill<T, 2, true>(loops, Rows{});
    return loops;
}

}  // namespace

CLEW_EXPORT_TABLE(ConvTable, conv_loops, {make_loops<float>(), make_loops<double>()});

}  // namespace clew::kernels
