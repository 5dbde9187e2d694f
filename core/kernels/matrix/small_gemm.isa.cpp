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

// What there is to do. All take it by reference: it would be copied by vectors, which wait for what has just been
// stored by parts.
template <class T>
struct Task {
    Index m, k;
    const T* a;
    Index a_row, a_column;
    const T* b;
    Index b_row, b_column;
    T* out;
    Index out_row, out_column;
    T alpha, beta;
};

// sums to Rows x (Vectors * Bytes) of the result.
template <class T, int Bytes, int Vectors, int Rows>
[[gnu::always_inline]] inline void store(const typename VectorOf<T, Bytes>::type (&sums)[Rows][Vectors], T* out,
                                         const Task<T>& task) {
    using Vector = typename VectorOf<T, Bytes>::type;
    using Loose = typename VectorOf<T, Bytes>::loose;
    constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    const Index out_row = task.out_row, out_column = task.out_column;
    if (out_column == 1) {
        for (int r = 0; r < Rows; ++r)
            for (int v = 0; v < Vectors; ++v) {
                Loose* to = reinterpret_cast<Loose*>(out + r * out_row + v * lanes);
                const Vector scaled = sums[r][v] * task.alpha;
                *to = task.beta == 0 ? scaled : scaled + *to * task.beta;
            }
        return;
    }
    for (int r = 0; r < Rows; ++r) {
        T row[Vectors * lanes];
        for (int v = 0; v < Vectors; ++v) *reinterpret_cast<Loose*>(row + v * lanes) = sums[r][v];
        for (int c = 0; c < Vectors * lanes; ++c) {
            T& to = out[r * out_row + c * out_column];
            to = task.beta == 0 ? row[c] * task.alpha : row[c] * task.alpha + to * task.beta;
        }
    }
}

// Rows x (Vectors * Bytes) of the result; b's columns are side by side.
template <class T, int Bytes, int Vectors, int Rows>
[[gnu::always_inline]] inline void tile(const Task<T>& task, const T* a, T* out) {
    using Vector = typename VectorOf<T, Bytes>::type;
    using Loose = typename VectorOf<T, Bytes>::loose;
    constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    const Index k = task.k, a_row = task.a_row, a_column = task.a_column, b_row = task.b_row;
    const T* b = task.b;
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
        b += b_row;
    }
    store<T, Bytes, Vectors, Rows>(sums, out, task);
}

// The same for one row with a long sum: in four parts, as each addition waits for the one before.
template <class T, int Bytes, int Vectors>
[[gnu::always_inline]] inline void long_row(const Task<T>& task) {
    using Vector = typename VectorOf<T, Bytes>::type;
    using Loose = typename VectorOf<T, Bytes>::loose;
    constexpr int lanes = Bytes / static_cast<int>(sizeof(T)), parts = 4;
    const Index k = task.k, a_column = task.a_column, b_row = task.b_row;
    const T* a = task.a;
    const T* b = task.b;
    Vector sums[parts][Vectors] = {};
    const auto add = [&](int part) {
        for (int v = 0; v < Vectors; ++v) sums[part][v] += *reinterpret_cast<const Loose*>(b + v * lanes) * *a;
        a += a_column;
        b += b_row;
    };
    Index step = 0;
    for (; step + parts <= k; step += parts)
#pragma GCC unroll 4
        for (int part = 0; part < parts; ++part) add(part);
    for (; step < k; ++step) add(0);
    Vector sum[1][Vectors];
    for (int v = 0; v < Vectors; ++v) sum[0][v] = (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]);
    store<T, Bytes, Vectors, 1>(sum, task.out, task);
}

// All rows of one panel of columns.
template <class T, int Bytes, int Vectors>
void panel(const Task<T>& task) {
    const T* a = task.a;
    T* out = task.out;
    Index m = task.m;
    if (m == 1 && task.k > kShortSum) return long_row<T, Bytes, Vectors>(task);
    const auto run = [&]<int Rows>() {
        tile<T, Bytes, Vectors, Rows>(task, a, out);
        a += Rows * task.a_row;
        out += Rows * task.out_row;
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
[[gnu::always_inline]] inline void packed_panel(const Task<T>& task) {
    constexpr int width = Vectors * Bytes / static_cast<int>(sizeof(T));
    constexpr Index size = sizeof(T);
    T packed[kPackedRows * width] __attribute__((aligned(64)));
    Task<T> part = task;
    part.b = packed;
    part.b_row = width;
    Index start = 0;
    do {  // once even for an empty sum, which is zero
        const Index rows = task.k - start < kPackedRows ? task.k - start : kPackedRows;
        const T* const from = task.b + start * task.b_row;
        if (task.b_row == 1)
            CLEW_JOIN(transpose_loops, CLEW_ISA)
                .block(reinterpret_cast<char*>(packed), width * size, reinterpret_cast<const char*>(from),
                       task.b_column * size, rows, width, size);
        else
            for (int c = 0; c < width; ++c)
                for (Index r = 0; r < rows; ++r) packed[r * width + c] = from[r * task.b_row + c * task.b_column];
        part.k = rows;
        part.a = task.a + start * task.a_column;
        panel<T, Bytes, Vectors>(part);
        part.beta = 1;
        start += kPackedRows;
    } while (start < task.k);
}

// What is left of the columns, as one panel that is filled up with zeros.
template <class T, int Bytes>
[[gnu::always_inline]] inline void padded_panel(const Task<T>& task, Index n) {
    constexpr int width = Bytes / static_cast<int>(sizeof(T));
    T packed[kPackedRows * width] __attribute__((aligned(64)));
    T sums[kPaddedRows * width] __attribute__((aligned(64)));
    for (Index row = 0; row < task.m; row += kPaddedRows) {
        const Index rows = task.m - row < kPaddedRows ? task.m - row : kPaddedRows;
        Task<T> part{rows, 0, nullptr, task.a_row, task.a_column, packed, width, 1, sums, width, 1, 1, 0};
        for (Index start = 0; start < task.k; start += kPackedRows) {
            const Index steps = task.k - start < kPackedRows ? task.k - start : kPackedRows;
            for (Index p = 0; p < steps; ++p) {
                const T* from = task.b + (start + p) * task.b_row;
                for (Index c = 0; c < n; ++c) packed[p * width + c] = from[c * task.b_column];
                for (Index c = n; c < width; ++c) packed[p * width + c] = 0;
            }
            part.k = steps;
            part.a = task.a + row * task.a_row + start * task.a_column;
            panel<T, Bytes, 1>(part);
            part.beta = 1;
        }
        for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < n; ++c) {
                T& out = task.out[(row + r) * task.out_row + c * task.out_column];
                const T sum = sums[r * width + c] * task.alpha;
                out = task.beta == 0 ? sum : sum + out * task.beta;
            }
    }
}

// As many panels of this width as fit into what is left of n; then half the width.
template <class T, int Bytes, int Vectors>
[[gnu::always_inline]] inline void columns_of_width(Task<T>& task, Index n) {
    constexpr int width = Vectors * Bytes / static_cast<int>(sizeof(T));
    for (; n >= width; n -= width) {
        if (width == 1 || task.b_column == 1)
            panel<T, Bytes, Vectors>(task);
        else
            packed_panel<T, Bytes, Vectors>(task);
        task.b += width * task.b_column;
        task.out += width * task.out_column;
    }
    if (n == 0) return;
    // Several narrow panels cost more than one that is partly zero.
    if (Vectors == 1 && width > 4 && n > width / 2 && task.m >= 8 && task.k > 0) return padded_panel<T, Bytes>(task, n);
    if constexpr (Vectors > 1)
        columns_of_width<T, Bytes, 1>(task, n);
    else if constexpr (Bytes > kNarrowest)
        columns_of_width<T, Bytes / 2, 1>(task, n);
    else if constexpr (Bytes > static_cast<int>(sizeof(T)))
        columns_of_width<T, sizeof(T), 1>(task, n);
}

template <class T>
void product(const SmallGemmShape& is, T* out, const T* a, const T* b, T alpha, T beta) {
    const bool on_its_side = is.out.column != 1 && is.out.row == 1 && is.m > 1;
    if (on_its_side || (is.n == 1 && is.m > 1)) {
        Task<T> task{is.n, is.k,          b,          is.b.column, is.b.row, a, is.a.column, is.a.row,
                     out,  is.out.column, is.out.row, alpha,       beta};
        columns_of_width<T, kVectorBytes, 2>(task, is.m);
    } else {
        Task<T> task{is.m,        is.k, a,          is.a.row,      is.a.column, b,   is.b.row,
                     is.b.column, out,  is.out.row, is.out.column, alpha,       beta};
        columns_of_width<T, kVectorBytes, 2>(task, is.n);
    }
}

}  // namespace

CLEW_EXPORT_TABLE(SmallGemmTable, small_gemm, {product<float>, product<double>});

}  // namespace clew::kernels
