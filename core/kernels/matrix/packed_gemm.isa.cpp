#include "core/kernels/matrix/packed_gemm.h"

#include "core/kernels/elementwise/vectors.h"

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

template <class T>
constexpr int kColumns = kVectors * kLanes<T>;

// to[i][c] = alpha * (a @ b)[i][c] + beta * to[i][c], for a tile of Rows x Vectors vectors.
template <class T, int Rows, int Vectors>
[[gnu::noinline]] void tile(Index k, const T* a, const T* b, T* to, Index row_stride, T alpha, T beta) {
    using Vector = typename VectorOf<T>::type;
    using Loose = typename VectorOf<T>::loose;
    Vector sums[Rows][Vectors] = {};
#pragma GCC unroll 2
    for (Index step = 0; step < k; ++step) {
        Vector right[Vectors];
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) right[v] = *reinterpret_cast<const Loose*>(b + v * kLanes<T>);
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
            const T left = a[r];
#pragma GCC unroll 2
            for (int v = 0; v < Vectors; ++v) sums[r][v] += right[v] * left;
        }
        a += kRows;
        b += kColumns<T>;
    }
#pragma GCC unroll 12
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) {
            Loose* out = reinterpret_cast<Loose*>(to + r * row_stride + v * kLanes<T>);
            const Vector scaled = sums[r][v] * alpha;
            *out = beta == 0 ? scaled : scaled + *out * beta;
        }
}

// The same where the result is smaller than the tile, or its columns don't lie side by side.
template <class T, int Rows, int Vectors>
void loose_tile(Index m, Index n, Index k, const T* a, const T* b, const Matrix<T>& out, T alpha, T beta) {
    T sums[Rows * kColumns<T>] __attribute__((aligned(64)));
    tile<T, Rows, Vectors>(k, a, b, sums, kColumns<T>, alpha, T(0));
    for (Index r = 0; r < m; ++r)
        for (Index c = 0; c < n; ++c) {
            T& to = out.data[r * out.row_stride + c * out.column_stride];
            const T sum = sums[r * kColumns<T> + c];
            to = beta == 0 ? sum : sum + to * beta;
        }
}

template <class T, int Rows, int Vectors>
void any_tile(Index m, Index n, Index k, const T* a, const T* b, const Matrix<T>& out, T alpha, T beta) {
    if (m == Rows && n == Vectors * kLanes<T> && out.column_stride == 1) {
        // The sums take long enough for it to arrive, and would push it out of the first-level cache.
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v) __builtin_prefetch(out.data + r * out.row_stride + v * kLanes<T>, 1, 2);
        tile<T, Rows, Vectors>(k, a, b, out.data, out.row_stride, alpha, beta);
    } else
        loose_tile<T, Rows, Vectors>(m, n, k, a, b, out, alpha, beta);
}

template <class T, int Vectors>
void panel(Index m, Index n, Index k, const T* a, const T* b, Matrix<T> out, T alpha, T beta) {
    for (; m >= kRows; m -= kRows) {
        any_tile<T, kRows, Vectors>(kRows, n, k, a, b, out, alpha, beta);
        a += kRows * k;
        out.data += kRows * out.row_stride;
    }
    constexpr int third = kRows / 3;
    if (m > 2 * third)
        any_tile<T, kRows, Vectors>(m, n, k, a, b, out, alpha, beta);
    else if (m > third)
        any_tile<T, 2 * third, Vectors>(m, n, k, a, b, out, alpha, beta);
    else if (m > 0)
        any_tile<T, third, Vectors>(m, n, k, a, b, out, alpha, beta);
}

template <class T>
void product(Index m, Index n, Index k, const T* a, const T* b, Matrix<T> out, T alpha, T beta) {
    for (; n > 0; n -= kColumns<T>) {
        if (n > kLanes<T>)
            panel<T, 2>(m, n < kColumns<T> ? n : kColumns<T>, k, a, b, out, alpha, beta);
        else
            panel<T, 1>(m, n, k, a, b, out, alpha, beta);
        b += kColumns<T> * k;
        out.data += kColumns<T> * out.column_stride;
    }
}

// Four lines of four steps become four steps of four lines.
template <class T, int Width>
inline void transpose(const T* from, Index line_stride, T* to) {
    using Four = typename VectorOf<T, 4 * sizeof(T)>::type;
    using Loose = typename VectorOf<T, 4 * sizeof(T)>::loose;
    const Four a = *reinterpret_cast<const Loose*>(from);
    const Four b = *reinterpret_cast<const Loose*>(from + line_stride);
    const Four c = *reinterpret_cast<const Loose*>(from + 2 * line_stride);
    const Four d = *reinterpret_cast<const Loose*>(from + 3 * line_stride);
    const Four ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5), ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Four cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5), cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *reinterpret_cast<Loose*>(to) = __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5);
    *reinterpret_cast<Loose*>(to + Width) = __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7);
    *reinterpret_cast<Loose*>(to + 2 * Width) = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
    *reinterpret_cast<Loose*>(to + 3 * Width) = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}

template <class T, int Width>
void pack(Index lines, Index k, const T* from, Index line_stride, Index step, T* to) {
    if (lines == Width && line_stride == 1) {
        for (Index p = 0; p < k; ++p)
            for (int i = 0; i < Width; ++i) to[p * Width + i] = from[p * step + i];
        return;
    }
    // Whole fours of lines whose steps lie side by side, then what is left.
    Index done = 0;
    if (step == 1)
        for (; done + 4 <= lines; done += 4) {
            const T* four = from + done * line_stride;
            Index p = 0;
            for (; p + 4 <= k; p += 4) transpose<T, Width>(four + p, line_stride, to + p * Width + done);
            for (; p < k; ++p)
                for (Index i = 0; i < 4; ++i) to[p * Width + done + i] = four[i * line_stride + p];
        }
    for (Index p = 0; p < k; ++p) {
        for (Index i = done; i < lines; ++i) to[p * Width + i] = from[i * line_stride + p * step];
        for (Index i = lines; i < Width; ++i) to[p * Width + i] = 0;
    }
}

template <class T>
constexpr PackedGemm<T> loops() {
    return {kRows, kColumns<T>, pack<T, kRows>, pack<T, kColumns<T>>, product<T>};
}

}  // namespace

CLEW_EXPORT_TABLE(PackedGemmTable, packed_gemm, {loops<float>(), loops<double>()});

}  // namespace clew::kernels
