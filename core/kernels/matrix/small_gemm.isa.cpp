#include "core/kernels/matrix/small_gemm.h"

#include "core/kernels/elementwise/vectors.h"
#include "core/kernels/matrix/transpose.h"

// Note [Small matrix products]
// Nothing is packed. The result is made in tiles of up to 12 rows by 2 vectors, whose sums stay in registers while k
// runs: each step loads two vectors of b and single elements of a. So b and out want their columns side by side, a may
// lie any way. A product whose result lies the other way is transposed (out' = b' @ a'); a panel of b that lies the
// other way is first packed into a buffer on the stack. What is left of the columns goes to narrower and narrower
// vectors, at last to single columns; what is left of the rows to lower tiles.
//
// Here, and in the other loops of products, a * b + c may be one fused instruction: it is twice as fast.
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

namespace clew::kernels {
namespace {

using Index = std::int64_t;

constexpr int kRows = kVectorBytes == 64 ? 12 : 6;  // 32 vector registers, or 16
constexpr int kNarrowest = 16;                      // bytes of a vector: what is narrower goes by single columns
constexpr Index kPackedRows = 64;                   // of b, at a time
constexpr Index kPaddedRows = 96;                   // of the result, at a time

template <class T>
struct VectorOf<T, sizeof(T)> {  // one lane: the compiler keeps a "vector" of one in memory
    using type = T;
    using loose = T;
};

// Where a tile's result goes.
template <class T>
struct Target {
    Matrix<T> out;
    T alpha, beta;
};

// Rows x (Vectors * Bytes) of the result; b's columns are side by side.
template <class T, int Bytes, int Vectors, int Rows>
[[gnu::always_inline]] inline void tile(Index k, const T* a, Index a_row, Index a_column, const T* b, Index b_stride,
                                        T* out, const Target<T>& target) {
    using Vector = typename VectorOf<T, Bytes>::type;
    using Loose = typename VectorOf<T, Bytes>::loose;
    constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    Vector sums[Rows][Vectors] = {};
    // An address can hold one, two or four times a register, not eleven times: so a pointer to every fourth row.
    const T* fours[(Rows + 3) / 4];
    for (int i = 0; i < (Rows + 3) / 4; ++i) fours[i] = a + 4 * i * a_row;
    for (Index step = 0; step < k; ++step) {
        Vector right[Vectors];
        for (int v = 0; v < Vectors; ++v) right[v] = *reinterpret_cast<const Loose*>(b + v * lanes);
#pragma GCC unroll 12
        for (int r = 0; r < Rows; ++r) {
            const T left = fours[r / 4][r % 4 * a_row];
            for (int v = 0; v < Vectors; ++v) sums[r][v] += right[v] * left;
        }
        for (int i = 0; i < (Rows + 3) / 4; ++i) fours[i] += a_column;
        b += b_stride;
    }
    const Index out_row = target.out.row_stride, out_column = target.out.column_stride;
    if (out_column == 1) {
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v) {
                Loose* to = reinterpret_cast<Loose*>(out + r * out_row + v * lanes);
                const Vector scaled = sums[r][v] * target.alpha;
                *to = target.beta == 0 ? scaled : scaled + *to * target.beta;
            }
        return;
    }
    for (int r = 0; r < Rows; ++r) {
        T row[Vectors * lanes];
        for (int v = 0; v < Vectors; ++v) *reinterpret_cast<Loose*>(row + v * lanes) = sums[r][v];
        for (int c = 0; c < Vectors * lanes; ++c) {
            T& to = out[r * out_row + c * out_column];
            to = target.beta == 0 ? row[c] * target.alpha : row[c] * target.alpha + to * target.beta;
        }
    }
}

// All rows of one panel of columns.
template <class T, int Bytes, int Vectors>
void panel(Index m, Index k, const Matrix<const T>& left, const T* b, Index b_stride, const Target<T>& target) {
    // Not copies of the structs: the compiler would load them as vectors just after they were stored by parts.
    const T* a = left.data;
    T* out = target.out.data;
    const auto run = [&]<int Rows>() {
        tile<T, Bytes, Vectors, Rows>(k, a, left.row_stride, left.column_stride, b, b_stride, out, target);
        a += Rows * left.row_stride;
        out += Rows * target.out.row_stride;
        m -= Rows;
    };
    while (m >= kRows) run.template operator()<kRows>();
    if (kRows > 8 && m >= 8) run.template operator()<8>();
    if (m >= 4) run.template operator()<4>();
    if (m >= 2) run.template operator()<2>();
    if (m == 1) run.template operator()<1>();
}

// The same for a b that has to be packed, kPackedRows of it at a time.
template <class T, int Bytes, int Vectors>
[[gnu::always_inline]] inline void packed_panel(Index m, Index k, Matrix<const T> a, Matrix<const T> b,
                                                Target<T> target) {
    constexpr int width = Vectors * Bytes / static_cast<int>(sizeof(T));
    constexpr Index size = sizeof(T);
    T packed[kPackedRows * width] __attribute__((aligned(64)));
    Index start = 0;
    do {  // once even for an empty sum, which is zero
        const Index rows = k - start < kPackedRows ? k - start : kPackedRows;
        const T* const from = b.data + start * b.row_stride;
        if (b.row_stride == 1)
            CLEW_JOIN(transpose_loops, CLEW_ISA)
                .block(reinterpret_cast<char*>(packed), width * size, reinterpret_cast<const char*>(from),
                       b.column_stride * size, rows, width, size);
        else
            for (int c = 0; c < width; ++c)
                for (Index r = 0; r < rows; ++r) packed[r * width + c] = from[r * b.row_stride + c * b.column_stride];
        const Matrix<const T> part{a.data + start * a.column_stride, a.row_stride, a.column_stride};
        panel<T, Bytes, Vectors>(m, rows, part, packed, width, target);
        target.beta = 1;
        start += kPackedRows;
    } while (start < k);
}

// What is left of the columns, as one panel that is filled up with zeros.
template <class T, int Bytes>
[[gnu::always_inline]] inline void padded_panel(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b,
                                                Target<T> target) {
    constexpr int width = Bytes / static_cast<int>(sizeof(T));
    T packed[kPackedRows * width] __attribute__((aligned(64)));
    T sums[kPaddedRows * width] __attribute__((aligned(64)));
    for (; m > 0; m -= kPaddedRows) {
        const Index rows = m < kPaddedRows ? m : kPaddedRows;
        Target<T> to{{sums, width, 1}, 1, 0};
        for (Index start = 0; start < k; start += kPackedRows) {
            const Index steps = k - start < kPackedRows ? k - start : kPackedRows;
            for (Index p = 0; p < steps; ++p) {
                const T* from = b.data + (start + p) * b.row_stride;
                for (Index c = 0; c < n; ++c) packed[p * width + c] = from[c * b.column_stride];
                for (Index c = n; c < width; ++c) packed[p * width + c] = 0;
            }
            const Matrix<const T> part{a.data + start * a.column_stride, a.row_stride, a.column_stride};
            panel<T, Bytes, 1>(rows, steps, part, packed, width, to);
            to.beta = 1;
        }
        for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < n; ++c) {
                T& out = target.out.data[r * target.out.row_stride + c * target.out.column_stride];
                const T sum = sums[r * width + c] * target.alpha;
                out = target.beta == 0 ? sum : sum + out * target.beta;
            }
        a.data += rows * a.row_stride;
        target.out.data += rows * target.out.row_stride;
    }
}

// As many panels of this width as fit into what is left of n; then half the width.
template <class T, int Bytes, int Vectors>
[[gnu::always_inline]] inline void columns_of_width(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b,
                                                    Target<T> target) {
    constexpr int width = Vectors * Bytes / static_cast<int>(sizeof(T));
    for (; n >= width; n -= width) {
        if (width == 1 || b.column_stride == 1)
            panel<T, Bytes, Vectors>(m, k, a, b.data, b.row_stride, target);
        else
            packed_panel<T, Bytes, Vectors>(m, k, a, b, target);
        b.data += width * b.column_stride;
        target.out.data += width * target.out.column_stride;
    }
    if (n == 0) return;
    // Several narrow panels cost more than one that is partly zero.
    if (Vectors == 1 && width > 4 && n > width / 2 && m >= 8 && k > 0)
        return padded_panel<T, Bytes>(m, n, k, a, b, target);
    if constexpr (Vectors > 1)
        columns_of_width<T, Bytes, 1>(m, n, k, a, b, target);
    else if constexpr (Bytes > kNarrowest)
        columns_of_width<T, Bytes / 2, 1>(m, n, k, a, b, target);
    else if constexpr (Bytes > static_cast<int>(sizeof(T)))
        columns_of_width<T, sizeof(T), 1>(m, n, k, a, b, target);
}

template <class T>
void product(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, Matrix<T> out, T alpha, T beta) {
    const bool on_its_side = out.column_stride != 1 && out.row_stride == 1 && m > 1;
    if (on_its_side || (n == 1 && m > 1)) {
        const Matrix<const T> left{b.data, b.column_stride, b.row_stride};
        const Matrix<const T> right{a.data, a.column_stride, a.row_stride};
        const Matrix<T> transposed{out.data, out.column_stride, out.row_stride};
        columns_of_width<T, kVectorBytes, 2>(n, m, k, left, right, {transposed, alpha, beta});
    } else {
        columns_of_width<T, kVectorBytes, 2>(m, n, k, a, b, {out, alpha, beta});
    }
}

}  // namespace

CLEW_EXPORT_TABLE(SmallGemmTable, small_gemm, {product<float>, product<double>});

}  // namespace clew::kernels
