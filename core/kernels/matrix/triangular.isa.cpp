#include "core/kernels/matrix/triangular.h"

#include "core/kernels/elementwise/loops.h"

#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

namespace clew::kernels {
namespace {

using Index = int64_t;

template <class T>
CLEW_INLINE void subtract(T* to, const T* from, T factor, Index count) {
    CLEW_VECTORISE
    for (Index i = 0; i < count; ++i) to[i] -= factor * from[i];
}
template <class T>
CLEW_INLINE void divide(T* row, T divisor, Index count) {
    CLEW_VECTORISE
    for (Index i = 0; i < count; ++i) row[i] /= divisor;
}
// Several sums, which do not wait for one another.
template <class T>
CLEW_INLINE T dot(const T* a, const T* b, Index count) {
    constexpr Index kSums = 32 / sizeof(T) * 2;
    T sum = 0;
    Index i = 0;
    if (count >= kSums) {
        T sums[kSums] = {};
        for (; i + kSums <= count; i += kSums)
            for (Index j = 0; j < kSums; ++j) sums[j] += a[i + j] * b[i + j];
        for (Index j = 0; j < kSums; ++j) sum += sums[j];
    }
    for (; i < count; ++i) sum += a[i] * b[i];
    return sum;
}

template <class T>
Index factor(T* a, Index rows, Index columns, Index stride, int32_t* pivots) {
    Index first_zero = 0;
    const Index steps = rows < columns ? rows : columns;
    for (Index k = 0; k < steps; ++k) {
        Index chosen = k;
        T largest = __builtin_fabs(a[k * stride + k]);
        for (Index i = k + 1; i < rows && largest == largest; ++i) {
            const T size = __builtin_fabs(a[i * stride + k]);
            if (!(size <= largest)) chosen = i, largest = size;
        }
        pivots[k] = static_cast<int32_t>(chosen + 1);
        T* const row = a + k * stride;
        if (chosen != k) {
            T* const other = a + chosen * stride;
            CLEW_VECTORISE
            for (Index j = 0; j < columns; ++j) {
                const T kept = row[j];
                row[j] = other[j];
                other[j] = kept;
            }
        }
        const T pivot = row[k];
        if (pivot == T(0)) {
            if (first_zero == 0) first_zero = k + 1;
            continue;
        }
        for (Index i = k + 1; i < rows; ++i) {
            T* const below = a + i * stride;
            const T share = below[k] /= pivot;
            subtract(below + k + 1, row + k + 1, share, columns - k - 1);
        }
    }
    return first_zero;
}

// Of few columns, each is worked out on its own, as a vector: by dots where rows of the triangle lie along memory, else
// by multiples of its columns. A row of more columns is a vector.
constexpr Index kFew = 4, kMost = 64;

template <class T, bool is_upper>
void solve(Strided<const T> a, Index n, bool unit, T* x, Index columns, Index stride) {
    const auto at = [&](Index step) { return is_upper ? n - 1 - step : step; };
    if (columns < kFew && n <= kMost && (a.row == 1 || a.column == 1)) {
        T values[kMost];
        for (Index j = 0; j < columns; ++j) {
            for (Index i = 0; i < n; ++i) values[i] = x[i * stride + j];
            for (Index step = 0; step < n; ++step) {
                const Index i = at(step), begin = is_upper ? i + 1 : 0;
                if (a.column == 1) values[i] -= dot(a.data + i * a.row + begin, values + begin, step);
                if (!unit) values[i] /= a.data[i * (a.row + a.column)];
                if (a.column == 1) continue;
                const Index from = is_upper ? 0 : i + 1;
                subtract(values + from, a.data + from + i * a.column, values[i], n - 1 - step);
            }
            for (Index i = 0; i < n; ++i) x[i * stride + j] = values[i];
        }
        return;
    }
    for (Index step = 0; step < n; ++step) {
        const Index i = at(step);
        T* const row = x + i * stride;
        for (Index before = 0; before < step; ++before) {
            const Index p = at(before);
            subtract(row, x + p * stride, a.data[i * a.row + p * a.column], columns);
        }
        if (!unit) divide(row, a.data[i * (a.row + a.column)], columns);
    }
}

}  // namespace

CLEW_EXPORT_TABLE(TriangularTable, triangular,
                  {
                      .float32 = {factor<float>, solve<float, false>, solve<float, true>},
                      .float64 = {factor<double>, solve<double, false>, solve<double, true>},
                  });

}  // namespace clew::kernels
