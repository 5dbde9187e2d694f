#include "core/kernels/matrix/gemm.h"

#include <algorithm>
#include <cstddef>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/matrix/complex_gemm.h"
#include "core/kernels/matrix/dots.h"
#include "core/kernels/matrix/integer_gemm.h"
#include "core/kernels/matrix/packed_gemm.h"
#include "core/kernels/matrix/small_gemm.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

Index parts_of(Index size, Index most) { return (size + most - 1) / most; }

template <class T>
struct Batch {
    Matrix<T> first;
    Index stride;
    Matrix<T> operator[](Index i) const { return {first.data + i * stride, first.row_stride, first.column_stride}; }
    Batch transposed() const { return {{first.data, first.column_stride, first.row_stride}, stride}; }
};

template <class T>
struct Products {  // out[i] (m x n) = alpha * a[i] @ b[i] + beta * out[i]
    Index count, m, n, k;
    Batch<const T> a, b;
    Batch<T> out;
    T alpha, beta;

    Products transposed() const {
        return {count, n, m, k, b.transposed(), a.transposed(), out.transposed(), alpha, beta};
    }
};

// Note [When packing pays]
// Measured on Zen 5. Where b's columns lie side by side, packing pays once there are many rows and a panel of b no
// longer fits the first-level cache as it lies; where they don't (x @ w.T), almost at once.
template <class T>
bool is_small(const Products<T>& p) {
    const Index work = p.m * p.n * p.k;
    return p.k == 0 || work <= 4096 || (p.b.first.column_stride == 1 && (work <= 1000000 || p.m <= 24));
}

template <class T>
void small_products(const Products<T>& p) {
    const SmallGemm<T> product = small_gemm().of<T>();
    const Index grain = (1 << 18) / (p.m * p.n * p.k + 64);
    parallel_for(p.count, grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) product(p.m, p.n, p.k, p.a[i], p.b[i], p.out[i], p.alpha, p.beta);
    });
}

// Note [Blocking of matrix products]
// Steps of the sum go in blocks of at most kSteps: a panel of each operand then fits a first-level cache. Panels of
// both operands are packed side by side by all threads, then tasks of some rows by some columns are worked off, whose
// part of a fits a second-level cache. All of that depends on sizes alone.
constexpr Index kSteps = 256, kMostRows = 3072, kMostColumns = 2048, kTaskRows = 192, kTaskColumns = 512;
constexpr Index kTaskWork = Index{1} << 20;  // multiplications that are worth another thread
constexpr Index kAround = 128;               // as many are worth what is done around one element

// The size of `parts` even parts, in multiples of `unit`.
Index part_size(Index size, Index parts, Index unit) { return parts_of(parts_of(size, parts), unit) * unit; }

// All panels of one operand: `lines` of it, k steps.
template <class T>
struct Panels {
    Index lines, k, width;
    const T* from;
    Index line_stride, step;
    typename PackedGemm<T>::Pack pack;
    T* to;

    Index count() const { return parts_of(lines, width); }
    void operator()(Index begin, Index end) const {
        for (Index i = begin; i < end; ++i)
            pack(std::min(width, lines - i * width), k, from + i * width * line_stride, line_stride, step,
                 to + i * width * k);
    }
};

// Where a block of steps stands in the whole: what is to be done before its result is begun, or once it is there.
struct Surroundings {
    const BlockWork* work;  // null: nothing
    Index row, column;
    bool first, last;
};

template <class T>
void packed_block(const PackedGemm<T>& loops, const Panels<T>& a, const Panels<T>& b, const Matrix<T>& out, T alpha,
                  T beta, const Surroundings& around) {
    const Index m = a.lines, n = b.lines, k = a.k;
    const Index down = parts_of(m, kTaskRows), rows = part_size(m, down, loops.rows);
    const Index wanted = std::max(parts_of(n, kTaskColumns), std::min<Index>(8, m * n * k / kTaskWork) / down);
    const Index columns = part_size(n, std::max<Index>(wanted, 1), loops.columns), across = parts_of(n, columns);
    const Index each = rows * columns * (around.work ? k + kAround : k);
    parallel_for(down * across, std::max<Index>(1, kTaskWork / each), [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index row = task / across * rows, column = task % across * columns;
            if (row >= m) return;
            const Index down = std::min(rows, m - row), along = std::min(columns, n - column);
            if (around.work && around.first) around.work->before(around.row + row, down, around.column + column, along);
            loops.product(
                down, along, k, a.to + row * k, b.to + column * k,
                {out.data + row * out.row_stride + column * out.column_stride, out.row_stride, out.column_stride},
                alpha, beta);
            if (around.work && around.last) around.work->after(around.row + row, down, around.column + column, along);
        }
    });
}

template <class T>
void packed_product(Index m, Index n, Index k, const Matrix<const T>& a, const Matrix<const T>& b, const Matrix<T>& out,
                    T alpha, T beta, const BlockWork* work) {
    const PackedGemm<T>& loops = packed_gemm().of<T>();
    const Index steps = part_size(k, parts_of(k, kSteps), 1);
    const Index rows = part_size(m, parts_of(m, kMostRows), loops.rows),
                columns = part_size(n, parts_of(n, kMostColumns), loops.columns);
    const Scratch memory(static_cast<std::size_t>((rows + columns) * steps) * sizeof(T));
    T* const packed_b = memory.as<T>();
    T* const packed_a = packed_b + columns * steps;
    for (Index column = 0; column < n; column += columns)
        for (Index step = 0; step < k; step += steps) {
            const Index terms = std::min(steps, k - step);
            const Panels<T> right{std::min(columns, n - column),
                                  terms,
                                  loops.columns,
                                  b.data + step * b.row_stride + column * b.column_stride,
                                  b.column_stride,
                                  b.row_stride,
                                  loops.pack_b,
                                  packed_b};
            for (Index row = 0; row < m; row += rows) {
                const Panels<T> left{std::min(rows, m - row),
                                     terms,
                                     loops.rows,
                                     a.data + row * a.row_stride + step * a.column_stride,
                                     a.row_stride,
                                     a.column_stride,
                                     loops.pack_a,
                                     packed_a};
                const Index to_pack = row == 0 ? right.count() : 0;
                // A panel of b is about three of a.
                const Index grain = std::max<Index>(1, (Index{1} << 16) / (terms * loops.rows));
                parallel_for(left.count(), grain, left);
                parallel_for(to_pack, std::max<Index>(1, grain / 3), right);
                packed_block(
                    loops, left, right,
                    {out.data + row * out.row_stride + column * out.column_stride, out.row_stride, out.column_stride},
                    alpha, step == 0 ? beta : T(1), {work, row, column, step == 0, step + steps >= k});
            }
        }
}

template <class T>
void packed_products(const Products<T>& p, const BlockWork* work) {
    const auto some = [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
            packed_product<T>(p.m, p.n, p.k, p.a[i], p.b[i], p.out[i], p.alpha, p.beta, work);
    };
    const Index each = p.m * p.n * p.k;
    if (each >= 8 * kTaskWork)
        some(0, p.count);  // each is enough for all threads
    else
        parallel_for(p.count, std::max<Index>(1, kTaskWork / each), some);
}

// Note [Skinny matrix products]
// With few rows or columns, packing the other operand costs as much as the product. Where both have their terms side
// by side, each element is a sum along memory.
constexpr Index kThin = 8;

template <class T>
bool is_thin(const Products<T>& p) {
    return p.a.first.column_stride == 1 && p.b.first.row_stride == 1 && p.k >= 128 &&
           (std::min(p.m, p.n) <= kThin || (p.k >= 1024 && p.m * p.n <= 1024));
}

template <class T>
void thin_products(const Products<T>& p) {
    const auto loops = dots().of<T>();
    const bool by_rows = p.m >= p.n;
    const Index lines = by_rows ? p.m : p.n, work = p.m * p.n * p.k;
    const Index grain = std::max<Index>(16, (Index{1} << 18) / (work / lines)) / 4 * 4;
    const Index parts = parts_of(lines, grain);
    const auto some = [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index i = task / parts, line = task % parts * grain, count = std::min(grain, lines - line);
            const T* a = p.a[i].data;
            const T* b = p.b[i].data;
            Matrix<T> out = p.out[i];
            (by_rows ? a : b) += line * (by_rows ? p.a.first.row_stride : p.b.first.column_stride);
            out.data += line * (by_rows ? out.row_stride : out.column_stride);
            loops(by_rows ? count : p.m, by_rows ? p.n : count, p.k, a, p.a.first.row_stride, b,
                  p.b.first.column_stride, out, p.alpha, p.beta);
        }
    };
    parallel_for(p.count * parts, parts > 1 ? 1 : std::max<Index>(1, (Index{1} << 18) / work), some);
}

// `work` is of one product, whose result lies row by row.
template <class T>
void products(Products<T> p, const BlockWork* work) {
    const Index a_rows = p.a.first.row_stride, out_rows = p.out.first.row_stride;
    if (p.count > 1 && p.b.stride == 0 && p.a.stride == p.m * a_rows && p.out.stride == p.m * out_rows) {
        p.m *= p.count;  // one b for all, and the rows of the others follow each other: one tall product
        p.count = 1;
    }
    const bool thin = is_thin(p);
    if (!thin && !is_small(p)) {
        if (p.out.first.column_stride != 1 && p.out.first.row_stride == 1) p = p.transposed();
        return packed_products(p, work);
    }
    const auto by_rows = [&](auto part) {
        parallel_for(p.m, std::max<Index>(1, kChunk / p.n),
                     [&](Index begin, Index end) { (work->*part)(begin, end - begin, 0, p.n); });
    };
    if (work) by_rows(&BlockWork::before);
    thin ? thin_products(p) : small_products(p);
    if (work) by_rows(&BlockWork::after);
}

template <class T>
Products<T> products_of(const View& out, const View& a, const View& b, Number alpha, Number beta) {
    const auto batch_of = [](const View& view) {
        const Index* strides = view.strides + (view.ndim - 2);
        return Batch<T>{{static_cast<T*>(view.data), strides[0], strides[1]}, view.ndim == 3 ? view.strides[0] : 0};
    };
    const auto input_of = [&](const View& view) {
        const Batch<T> batch = batch_of(view);
        return Batch<const T>{{batch.first.data, batch.first.row_stride, batch.first.column_stride}, batch.stride};
    };
    const Index* sizes = out.sizes + (out.ndim - 2);
    return {out.ndim == 3 ? out.sizes[0] : 1,
            sizes[0],
            sizes[1],
            a.sizes[a.ndim - 1],
            input_of(a),
            input_of(b),
            batch_of(out),
            static_cast<T>(alpha.real),
            static_cast<T>(beta.real)};
}

void multiply(const View& out, const View& a, const View& b, Number alpha, Number beta, const BlockWork* work) {
    for (int axis = 0; axis < out.ndim; ++axis)
        if (out.sizes[axis] == 0) return;
    if (is_complex(out.dtype)) return complex_gemm(out, a, b, {alpha.real, alpha.imag}, {beta.real, beta.imag});
    if (out.dtype == DType::Float32)
        products(products_of<float>(out, a, b, alpha, beta), work);
    else if (out.dtype == DType::Float64)
        products(products_of<double>(out, a, b, alpha, beta), work);
    else
        integer_gemm(out, a, b, alpha.integer, beta.integer);
}

constexpr auto kProduct = [](const View& out, const View& a, const View& b, Number alpha, Number beta) {
    multiply(out, a, b, alpha, beta, nullptr);
};

class ProductCall final : public CallOf<1, decltype(kProduct), View, View, View, Number, Number> {
public:
    using CallOf::CallOf;
    std::optional<ProductShape> product() const override {
        const View& out = argument<0>();
        const bool plain = out.dtype == DType::Float32 || out.dtype == DType::Float64;
        if (!plain || out.ndim != 2 || out.strides[1] != 1 || out.strides[0] != out.sizes[1]) return std::nullopt;
        return ProductShape{out.sizes[0], out.sizes[1], static_cast<Index>(item_size(out.dtype))};
    }
    void run_with(const BlockWork& work) const override {
        CLEW_ASSERT_FRAME();
        multiply(argument<0>(), argument<1>(), argument<2>(), argument<3>(), argument<4>(), &work);
    }
};

}  // namespace

void bgemm(const View& out, const View& a, const View& b, Number alpha, Number beta) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<ProductCall>(kProduct, out, a, b, alpha, beta)) return;
    multiply(out, a, b, alpha, beta, nullptr);
}

void gemm(const View& out, const View& a, const View& b, Number alpha, Number beta) { bgemm(out, a, b, alpha, beta); }

}  // namespace clew::kernels
