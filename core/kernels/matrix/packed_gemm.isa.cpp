#include "core/kernels/matrix/packed_gemm.h"

#include "core/kernels/elementwise/vectors.h"
#include "core/kernels/matrix/transpose.h"

// Note [Tiles]
// With 32 vector registers a tile has 12 rows by 2 vectors: 24 sums, two vectors of b, and single elements of a that
// come straight from memory. With 16 registers it has 6 rows. That is 98 % of the machine's peak while the panels stay
// in the caches. a * b + c may be one fused instruction here: it is twice as fast.
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

namespace clew::kernels {
namespace {

using Index = int64_t;

constexpr int kRows = kVectorBytes == 64 ? 12 : 6;  // 32 vector registers, or 16
constexpr int kVectors = 2;
constexpr int kThird = kRows / 3;  // of a panel that is not full, one, two or three thirds are read

template <class T>
constexpr int kColumns = kVectors * kLanes<T>;

// One panel of each operand.
template <class T>
struct Pair {
    const T* a;
    Index a_line, a_step;
    const T* b;
    Index b_step;
};

// to = alpha * a @ b + added.factor * added, for a tile of Rows x Vectors vectors. kSideBySide: a_line is 1.
template <class T, int Rows, int Vectors, bool kSideBySide>
[[gnu::noinline]] void tile(Index k, const Pair<T>& pair, T* to, Index row_stride, T alpha, const Added<T>& added) {
    using Vector = typename VectorOf<T>::type;
    using Loose = typename VectorOf<T>::loose;
    const Index a_line = kSideBySide ? 1 : pair.a_line, a_step = pair.a_step, b_step = pair.b_step;
    const T* b = pair.b;
    // An address can hold one, two or four times a register, not eleven times: so a pointer to every fourth row.
    constexpr int kFours = kSideBySide ? 1 : (Rows + 3) / 4, kEach = kSideBySide ? Rows : 4;
    const T* fours[kFours];
    for (int i = 0; i < kFours; ++i) fours[i] = pair.a + kEach * i * a_line;
    Vector sums[Rows][Vectors] = {};
#pragma GCC unroll 2
    for (Index step = 0; step < k; ++step) {
        Vector right[Vectors];
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) right[v] = *reinterpret_cast<const Loose*>(b + v * kLanes<T>);
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
            const T left = fours[r / kEach][r % kEach * a_line];
#pragma GCC unroll 2
            for (int v = 0; v < Vectors; ++v) sums[r][v] += right[v] * left;
        }
        for (int i = 0; i < kFours; ++i) fours[i] += a_step;
        b += b_step;
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) {
            const Vector scaled = sums[r][v] * alpha;
            const auto* const more = reinterpret_cast<const Loose*>(added.data + r * added.row_stride + v * kLanes<T>);
            *reinterpret_cast<Loose*>(to + r * row_stride + v * kLanes<T>) =
                added.factor == 0 ? scaled : scaled + *more * added.factor;
        }
}

// The same where the result is smaller than the tile, or its columns don't lie side by side.
template <class T, int Rows, int Vectors, bool kSideBySide>
void loose_tile(Index m, Index n, Index k, const Pair<T>& pair, const Matrix<T>& out, T alpha, const Added<T>& added) {
    T sums[Rows * kColumns<T>] __attribute__((aligned(64)));
    tile<T, Rows, Vectors, kSideBySide>(k, pair, sums, kColumns<T>, alpha, Added<T>{});
    for (Index r = 0; r < m; ++r)
        for (Index c = 0; c < n; ++c) {
            T& to = out.data[r * out.row_stride + c * out.column_stride];
            const T sum = sums[r * kColumns<T> + c];
            to =
                added.factor == 0 ? sum : sum + added.data[r * added.row_stride + c * out.column_stride] * added.factor;
        }
}

template <class T, int Rows, int Vectors, bool kSideBySide = true>
void any_tile(Index m, Index n, Index k, const Pair<T>& pair, const Matrix<T>& out, T alpha, const Added<T>& added) {
    if (m == Rows && n == Vectors * kLanes<T> && out.column_stride == 1) {
        // The sums take long enough for it to arrive, and would push it out of the first-level cache.
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v) __builtin_prefetch(out.data + r * out.row_stride + v * kLanes<T>, 1, 2);
        tile<T, Rows, Vectors, kSideBySide>(k, pair, out.data, out.row_stride, alpha, added);
    } else
        loose_tile<T, Rows, Vectors, kSideBySide>(m, n, k, pair, out, alpha, added);
}

template <class T, int Vectors>
void panel(Index m, Index n, Index k, const PanelsOf<T>& a, const T* b, Index b_step, Matrix<T> out, T alpha,
           Added<T> added) {
    Pair<T> pair = {a.data, a.line, a.step, b, b_step};
    for (; m >= kRows; m -= kRows) {
        if (a.line == 1)
            any_tile<T, kRows, Vectors>(kRows, n, k, pair, out, alpha, added);
        else
            any_tile<T, kRows, Vectors, false>(kRows, n, k, pair, out, alpha, added);
        pair.a += a.panel;
        out.data += kRows * out.row_stride;
        added.data += kRows * added.row_stride;
    }
    pair = {a.last, 1, kRows, b, b_step};
    if (m > 2 * kThird)
        any_tile<T, kRows, Vectors>(m, n, k, pair, out, alpha, added);
    else if (m > kThird)
        any_tile<T, 2 * kThird, Vectors>(m, n, k, pair, out, alpha, added);
    else if (m > 0)
        any_tile<T, kThird, Vectors>(m, n, k, pair, out, alpha, added);
}

template <class T>
void product(Index m, Index n, Index k, PanelsOf<T> a, PanelsOf<T> b, Matrix<T> out, T alpha, Added<T> added) {
    for (; n >= kColumns<T>; n -= kColumns<T>) {
        panel<T, 2>(m, kColumns<T>, k, a, b.data, b.step, out, alpha, added);
        b.data += b.panel;
        out.data += kColumns<T> * out.column_stride;
        added.data += kColumns<T> * out.column_stride;
    }
    if (n > kLanes<T>)
        panel<T, 2>(m, n, k, a, b.last, kColumns<T>, out, alpha, added);
    else if (n > 0)
        panel<T, 1>(m, n, k, a, b.last, kColumns<T>, out, alpha, added);
}

// A panel that is not full is read up to a multiple of kUnit lines.
template <class T, int Width, int kUnit>
void pack(Index lines, Index k, const T* from, Index line_stride, Index step, T* to) {
    if (lines == Width && line_stride == 1) {
        for (Index p = 0; p < k; ++p)
            for (int i = 0; i < Width; ++i) to[p * Width + i] = from[p * step + i];
        return;
    }
    constexpr Index size = sizeof(T);
    if (step == 1)
        CLEW_JOIN(transpose_loops, CLEW_ISA)
            .block(reinterpret_cast<char*>(to), Width * size, reinterpret_cast<const char*>(from), line_stride * size,
                   k, lines, size);
    else
        for (Index p = 0; p < k; ++p)
            for (Index i = 0; i < lines; ++i) to[p * Width + i] = from[i * line_stride + p * step];
    const Index read = (lines + kUnit - 1) / kUnit * kUnit;
    if (lines == read) return;
    for (Index p = 0; p < k; ++p)
        for (Index i = lines; i < read; ++i) to[p * Width + i] = 0;
}

template <class T>
constexpr PackedGemm<T> loops() {
    return {kRows, kColumns<T>, pack<T, kRows, kThird>, pack<T, kColumns<T>, kLanes<T>>, product<T>};
}

}  // namespace

CLEW_EXPORT_TABLE(PackedGemmTable, packed_gemm, {loops<float>(), loops<double>()});

}  // namespace clew::kernels
