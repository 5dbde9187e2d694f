#include "core/kernels/gemm.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstddef>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/kernels/blas.h"
#include "core/kernels/integer_gemm.h"
#include "core/kernels/scratch.h"
#include "core/kernels/small_gemm.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

template <class T>
struct Batch {
    Matrix<T> first;
    Index stride;
    Matrix<T> operator[](Index i) const { return {first.data + i * stride, first.row_stride, first.column_stride}; }
    Batch turned() const { return {{first.data, first.column_stride, first.row_stride}, stride}; }
};

template <class T>
struct Products {  // out[i] (m x n) = alpha * a[i] @ b[i] + beta * out[i]
    Index count, m, n, k;
    Batch<const T> a, b;
    Batch<T> out;
    T alpha, beta;
};

// Note [Where our own loops stop]
// Measured on Zen 5. OpenBLAS has kernels for small products that are built for AVX-512: where b's columns lie side by
// side they win from 8 x 8 x 8 on. Where they don't (x @ w.T), or with its other kernels, it wins from 16 x 16 x 16 on.
bool is_small(Index m, Index n, Index k, Index b_column_stride) {
    static const bool has_small_kernels = active_isa() == Isa::v4;
    return m * n * k <= (has_small_kernels && b_column_stride == 1 ? 512 : 4096) || k == 0;
}

template <class T>
SmallGemm<T> small_loops();
template <>
SmallGemm<float> small_loops<float>() {
    return small_gemm().float32;
}
template <>
SmallGemm<double> small_loops<double>() {
    return small_gemm().float64;
}

template <class T>
void small_products(const Products<T>& p) {
    const SmallGemm<T> product = small_loops<T>();
    const Index grain = (1 << 18) / (p.m * p.n * p.k + 64);
    parallel_for(p.count, grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) product(p.m, p.n, p.k, p.a[i], p.b[i], p.out[i], p.alpha, p.beta);
    });
}

// What a BLAS takes: rows one after another at a fixed distance, or, turned, columns.
template <class T>
struct Operand {
    Batch<T> matrices;
    CblasTranspose transpose;
    int leading;

    T* at(Index i, Index row, Index column) const {
        return matrices[i].data + row * matrices.first.row_stride + column * matrices.first.column_stride;
    }
};

// The distance from row to row if `matrix` can be passed as rows, else 0.
template <class T>
Index leading_of(Index rows, Index columns, const Matrix<T>& matrix) {
    if (columns != 1 && matrix.column_stride != 1) return 0;
    if (rows == 1) return std::max<Index>(columns, 1);
    return matrix.row_stride >= columns && matrix.row_stride <= INT_MAX ? matrix.row_stride : 0;
}

template <class T>
bool as_operand(Index rows, Index columns, const Batch<T>& matrices, Operand<T>& operand) {
    if (const Index leading = leading_of(rows, columns, matrices.first)) {
        operand = {matrices, kNoTranspose, static_cast<int>(leading)};
        return true;
    }
    if (const Index leading = leading_of(columns, rows, matrices.turned().first)) {
        operand = {matrices, kTranspose, static_cast<int>(leading)};
        return true;
    }
    return false;
}

template <class To, class From>
void copy(Index rows, Index columns, const Matrix<To>& to, const Matrix<From>& from) {
    constexpr Index block = 16;  // so that neither side runs through memory by its long stride alone
    parallel_for((rows + block - 1) / block, std::max<Index>(1, (1 << 14) / (columns + 1)),
                 [&](Index begin, Index end) {
                     const Index last = std::min(end * block, rows);
                     for (Index j = 0; j < columns; j += block)
                         for (Index r = begin * block; r < last; ++r)
                             for (Index c = j; c < std::min(j + block, columns); ++c)
                                 to.data[r * to.row_stride + c * to.column_stride] =
                                     from.data[r * from.row_stride + c * from.column_stride];
                 });
}

// One input, copied into rows if a BLAS can't take it as it lies.
template <class T>
class Input {
public:
    Input(Index count, Index rows, Index columns, const Batch<const T>& matrices)
        : copied_(!as_operand(rows, columns, matrices, operand_)),
          memory_(copied_ ? static_cast<std::size_t>((matrices.stride == 0 ? 1 : count) * rows * columns) * sizeof(T)
                          : 0) {
        if (!copied_) return;
        if (columns > INT_MAX) fail(ErrorKind::NotImplemented, "matmul: expected fewer than 2**31 columns, got more");
        const Batch<T> dense{{memory_.template as<T>(), columns, 1}, matrices.stride == 0 ? 0 : rows * columns};
        for (Index i = 0; i < (matrices.stride == 0 ? 1 : count); ++i) copy(rows, columns, dense[i], matrices[i]);
        operand_ = {{{dense.first.data, columns, 1}, dense.stride}, kNoTranspose, static_cast<int>(columns)};
    }
    const Operand<const T>* operator->() const { return &operand_; }

private:
    Operand<const T> operand_{};
    bool copied_;
    Scratch memory_;
};

// How one product is cut. Tall tiles are best: OpenBLAS packs b anew for each, and a anew for each column of tiles.
struct Tiles {
    Index rows, columns;  // of a tile
    Index down, across;   // number of tiles
    Index count() const { return down * across; }
};

Tiles cut(Index count, Index m, Index n, Index k) {
    const Index parts = std::clamp<Index>(m * n * k / (Index{2} << 20) / count, 1, 1024);
    const Index wanted = n >= 512 ? n / 256 : n / 128;
    const Index across =
        std::clamp<Index>(static_cast<Index>(std::bit_ceil(static_cast<std::uint64_t>(wanted))), 1, parts);
    const Index down = across > 1 ? (m + 1023) / 1024 : std::clamp<Index>(m / 128, 1, parts);
    const auto share = [](Index size, Index among) { return ((size + among - 1) / among + 15) / 16 * 16; };
    Tiles tiles{share(m, down), share(n, across), 0, 0};
    tiles.down = (m + tiles.rows - 1) / tiles.rows;
    tiles.across = (n + tiles.columns - 1) / tiles.columns;
    return tiles;
}

template <class T>
void blas_products(const Products<T>& p) {
    Operand<T> out;
    if (!as_operand(p.m, p.n, p.out, out)) {
        const Scratch memory(static_cast<std::size_t>(p.count * p.m * p.n) * sizeof(T));
        Products<T> dense = p;
        dense.out = {{memory.as<T>(), p.n, 1}, p.m * p.n};
        if (p.beta != 0)
            for (Index i = 0; i < p.count; ++i) copy(p.m, p.n, dense.out[i], p.out[i]);
        blas_products(dense);
        for (Index i = 0; i < p.count; ++i) copy(p.m, p.n, p.out[i], dense.out[i]);
        return;
    }
    if (out.transpose == kTranspose)
        return blas_products<T>({p.count, p.n, p.m, p.k, p.b.turned(), p.a.turned(), p.out.turned(), p.alpha, p.beta});
    if (p.k > INT_MAX) fail(ErrorKind::NotImplemented, "matmul: expected fewer than 2**31 terms in a sum, got more");
    const Input<T> a(p.count, p.m, p.k, p.a);
    const Input<T> b(p.count, p.k, p.n, p.b);
    const auto gemm = blas().of<T>().gemm;
    const Tiles tiles = cut(p.count, p.m, p.n, p.k);
    const Index grain = std::max<Index>(1, (1 << 20) / (tiles.rows * tiles.columns * p.k));
    parallel_for(p.count * tiles.count(), grain, [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index i = task / tiles.count();
            const Index row = task % tiles.down * tiles.rows,
                        column = task % tiles.count() / tiles.down * tiles.columns;
            const Index rows = std::min(tiles.rows, p.m - row), columns = std::min(tiles.columns, p.n - column);
            gemm(kRowMajor, a->transpose, b->transpose, static_cast<int>(rows), static_cast<int>(columns),
                 static_cast<int>(p.k), p.alpha, a->at(i, row, 0), a->leading, b->at(i, 0, column), b->leading, p.beta,
                 out.at(i, row, column), out.leading);
        }
    });
}

template <class T>
void products(Products<T> p) {
    const Index a_rows = p.a.first.row_stride, out_rows = p.out.first.row_stride;
    if (p.count > 1 && p.b.stride == 0 && p.a.stride == p.m * a_rows && p.out.stride == p.m * out_rows) {
        p.m *= p.count;  // one b for all, and the rows of the others follow each other: one tall product
        p.count = 1;
    }
    if (is_small(p.m, p.n, p.k, p.b.first.column_stride)) return small_products(p);
    blas_products(p);
}

template <class T>
Products<T> products_of(const View& out, const View& a, const View& b, double alpha, double beta) {
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
            static_cast<T>(alpha),
            static_cast<T>(beta)};
}

}  // namespace

void bgemm(const View& out, const View& a, const View& b, double alpha, double beta) {
    for (int axis = 0; axis < out.ndim; ++axis)
        if (out.sizes[axis] == 0) return;
    if (out.dtype == DType::Float32)
        products(products_of<float>(out, a, b, alpha, beta));
    else if (out.dtype == DType::Float64)
        products(products_of<double>(out, a, b, alpha, beta));
    else
        integer_gemm(out, a, b, alpha, beta);
}

void gemm(const View& out, const View& a, const View& b, double alpha, double beta) { bgemm(out, a, b, alpha, beta); }

}  // namespace clew::kernels
