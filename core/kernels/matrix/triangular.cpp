#include "core/kernels/matrix/triangular.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/matrix/gemm.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;
constexpr Index kPanel = 32;  // columns of a panel
constexpr Index kWhole = 64;  // rows and columns up to which there are no panels

template <class T>
const TriangularLoops<T>& loops() {
    if constexpr (sizeof(T) == sizeof(float))
        return triangular().float32;
    else
        return triangular().float64;
}

template <class T>
struct Part {
    Index sizes[2], strides[2];
    View view;

    Part(const T* data, DType dtype, Index rows, Index columns, Index row, Index column)
        : sizes{rows, columns}, strides{row, column}, view{const_cast<T*>(data), dtype, 2, sizes, strides} {}
    Part(const Part&) = delete;
};

// to -= a @ b
template <class T>
void subtract_product(DType dtype, T* to, Index stride, Strided<const T> a, const T* b, Index b_stride, Index rows,
                      Index inner, Index columns) {
    if (rows == 0 || columns == 0) return;
    const Part<T> out(to, dtype, rows, columns, stride, 1), left(a.data, dtype, rows, inner, a.row, a.column),
        right(b, dtype, inner, columns, b_stride, 1);
    gemm(out.view, left.view, right.view, {-1.0, -1, 0}, {1.0, 1, 0});
}

template <class T>
void solve(DType dtype, Strided<const T> a, Index n, bool upper, bool unit, T* x, Index columns, Index stride) {
    if (n <= kWhole) return (upper ? loops<T>().upper : loops<T>().lower)(a, n, unit, x, columns, stride);
    const Index half = (n / 2 + kPanel - 1) / kPanel * kPanel, rest = n - half;
    const Strided<const T> end{a.data + half * (a.row + a.column), a.row, a.column};
    T* const below = x + half * stride;
    if (upper) {
        solve(dtype, end, rest, upper, unit, below, columns, stride);
        subtract_product<T>(dtype, x, stride, {a.data + half * a.column, a.row, a.column}, below, stride, half, rest,
                            columns);
        solve(dtype, a, half, upper, unit, x, columns, stride);
    } else {
        solve(dtype, a, half, upper, unit, x, columns, stride);
        subtract_product<T>(dtype, below, stride, {a.data + half * a.row, a.row, a.column}, x, stride, rest, half,
                            columns);
        solve(dtype, end, rest, upper, unit, below, columns, stride);
    }
}

template <class T>
void exchange(T* x, Index columns, Index stride, const std::int32_t* pivots, Index first, Index last, bool back) {
    for (Index step = first; step < last; ++step) {
        const Index k = back ? first + last - 1 - step : step, other = pivots[k] - 1;
        if (other != k) std::swap_ranges(x + k * stride, x + k * stride + columns, x + other * stride);
    }
}

template <class T>
std::int32_t factor(DType dtype, T* a, Index rows, Index columns, std::int32_t* pivots) {
    const Index steps = std::min(rows, columns);
    if (steps <= kWhole) return static_cast<std::int32_t>(loops<T>().factor(a, rows, columns, columns, pivots));
    Index first_zero = 0;
    for (Index begin = 0; begin < steps; begin += kPanel) {
        const Index end = std::min(begin + kPanel, steps), width = end - begin;
        T* const panel = a + begin * columns + begin;
        const Index zero = loops<T>().factor(panel, rows - begin, width, columns, pivots + begin);
        if (zero && first_zero == 0) first_zero = begin + zero;
        for (Index k = begin; k < end; ++k) pivots[k] += static_cast<std::int32_t>(begin);
        exchange(a, begin, columns, pivots, begin, end, false);
        if (end == columns) continue;
        exchange(a + end, columns - end, columns, pivots, begin, end, false);
        T* const right = panel + width;
        loops<T>().lower({panel, columns, 1}, width, true, right, columns - end, columns);
        subtract_product<T>(dtype, right + width * columns, columns, {panel + width * columns, columns, 1}, right,
                            columns, rows - end, width, columns - end);
    }
    return static_cast<std::int32_t>(first_zero);
}

// How many matrices are worth a thread; those of products, which use threads themselves, go one by one.
Index grain(Index batch, Index n, Index work) {
    return n > kWhole ? batch : std::max<Index>(1, kChunk * 4 / (work + 1));
}

}  // namespace

void lu_factor(const View& a, std::int32_t* pivots, std::int32_t* info) {
    CLEW_KERNEL();
    const Index batch = a.sizes[0], rows = a.sizes[1], columns = a.sizes[2], steps = std::min(rows, columns);
    const auto run = [&]<class T>() {
        T* const data = static_cast<T*>(a.data);
        parallel_for(batch, grain(batch, steps, rows * columns * steps), [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i)
                info[i] = factor<T>(a.dtype, data + i * rows * columns, rows, columns, pivots + i * steps);
        });
    };
    a.dtype == DType::Float32 ? run.operator()<float>() : run.operator()<double>();
}

void solve_triangle(const View& a, const View& x, bool upper, bool unit) {
    CLEW_KERNEL();
    const Index batch = x.sizes[0], n = x.sizes[1], columns = x.sizes[2];
    const auto run = [&]<class T>() {
        parallel_for(batch, grain(batch, n, n * n * columns), [&](Index begin, Index end) {
            for (Index i = begin; i < end; ++i)
                solve<T>(x.dtype, {static_cast<const T*>(a.data) + i * a.strides[0], a.strides[1], a.strides[2]}, n,
                         upper, unit, static_cast<T*>(x.data) + i * n * columns, columns, columns);
        });
    };
    x.dtype == DType::Float32 ? run.operator()<float>() : run.operator()<double>();
}

void exchange_rows(const View& x, const std::int32_t* pivots, std::int64_t step, std::int64_t count, bool back) {
    CLEW_KERNEL();
    const Index size = x.sizes[1] * x.sizes[2];
    const auto run = [&]<class T>() {
        for (Index i = 0; i < x.sizes[0]; ++i)
            exchange(static_cast<T*>(x.data) + i * size, x.sizes[2], x.sizes[2], pivots + i * step, 0, count, back);
    };
    x.dtype == DType::Float32 ? run.operator()<float>() : run.operator()<double>();
}

}  // namespace clew::kernels
