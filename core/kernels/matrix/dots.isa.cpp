#include "core/kernels/matrix/dots.h"

#include "core/kernels/elementwise/vectors.h"

// Note [Dot-product kernels]
// A tile of up to 4 lines by 4 keeps one vector of partial sums for each pair, a smaller one several, since one fused
// instruction has to wait for the one before it. The lanes are added up at the end. a * b + c may be fused here.
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

namespace clew::kernels {
namespace {

using Index = int64_t;

template <class T, int Count>
struct Few {
    typedef T type __attribute__((vector_size(Count * sizeof(T))));
};

// Halves are added while they are vectors; the last four lanes one by one.
template <class T, int Count>
[[gnu::always_inline]] inline T sum_of(const typename Few<T, Count>::type& v) {
    if constexpr (Count == 16) {
        const typename Few<T, 8>::type half = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                                              __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
        return sum_of<T, 8>(half);
    } else if constexpr (Count == 8) {
        const typename Few<T, 4>::type half =
            __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
        return sum_of<T, 4>(half);
    } else if constexpr (Count == 4) {
        return (v[0] + v[2]) + (v[1] + v[3]);
    } else {
        return v[0] + v[1];
    }
}

template <class T, int Rows, int Columns>
[[gnu::noinline]] void tile(Index k, const T* a, Index a_line, const T* b, Index b_line, const Matrix<T>& out, T alpha,
                            T beta) {
    using Vector = typename VectorOf<T>::type;
    using Loose = typename VectorOf<T>::loose;
    constexpr int kParts = Rows * Columns >= 8 ? 1 : 8 / (Rows * Columns);
    constexpr Index kStep = kParts * kLanes<T>;
    Vector sums[kParts][Rows][Columns] = {};
    const Index whole = k / kStep * kStep;
    for (Index p = 0; p < whole; p += kStep)
#pragma GCC unroll 8
        for (int part = 0; part < kParts; ++part) {
            Vector right[Columns];
            const Index at = p + part * kLanes<T>;
#pragma GCC unroll 4
            for (int c = 0; c < Columns; ++c) right[c] = *reinterpret_cast<const Loose*>(b + c * b_line + at);
#pragma GCC unroll 4
            for (int r = 0; r < Rows; ++r) {
                const Vector left = *reinterpret_cast<const Loose*>(a + r * a_line + at);
#pragma GCC unroll 4
                for (int c = 0; c < Columns; ++c) sums[part][r][c] += left * right[c];
            }
        }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
        for (int c = 0; c < Columns; ++c) {
            Vector lanes = sums[0][r][c];
#pragma GCC unroll 8
            for (int part = 1; part < kParts; ++part) lanes += sums[part][r][c];
            T sum = sum_of<T, kLanes<T>>(lanes);
            for (Index p = whole; p < k; ++p) sum += a[r * a_line + p] * b[c * b_line + p];
            T& to = out.data[r * out.row_stride + c * out.column_stride];
            to = beta == 0 ? sum * alpha : sum * alpha + to * beta;
        }
}

template <class T, int Rows>
void rows(Index n, Index k, const T* a, Index a_line, const T* b, Index b_line, Matrix<T> out, T alpha, T beta) {
    const auto run = [&]<int Columns>() {
        tile<T, Rows, Columns>(k, a, a_line, b, b_line, out, alpha, beta);
        b += Columns * b_line;
        out.data += Columns * out.column_stride;
        n -= Columns;
    };
    while (n >= 4) run.template operator()<4>();
    if (n >= 2) run.template operator()<2>();
    if (n == 1) run.template operator()<1>();
}

template <class T>
void all(Index m, Index n, Index k, const T* a, Index a_line, const T* b, Index b_line, Matrix<T> out, T alpha,
         T beta) {
    const auto run = [&]<int Rows>() {
        rows<T, Rows>(n, k, a, a_line, b, b_line, out, alpha, beta);
        a += Rows * a_line;
        out.data += Rows * out.row_stride;
        m -= Rows;
    };
    while (m >= 4) run.template operator()<4>();
    if (m >= 2) run.template operator()<2>();
    if (m == 1) run.template operator()<1>();
}

}  // namespace

CLEW_EXPORT_TABLE(DotsTable, dots, {all<float>, all<double>});

}  // namespace clew::kernels
