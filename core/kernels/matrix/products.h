// Products of two matrices, or of several pairs of one size, as gemm.cpp sees them; and which way they go.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/kernels/matrix/matrix.h"
#include "core/kernels/matrix/small_gemm.h"
#include "core/kernels/view.h"

namespace clew::kernels {

template <class T>
struct Batch {
    Matrix<T> first;
    std::int64_t stride;
    Matrix<T> operator[](std::int64_t i) const {
        return {first.data + i * stride, first.row_stride, first.column_stride};
    }
    Batch transposed() const { return {{first.data, first.column_stride, first.row_stride}, stride}; }
};

template <class T>
struct Products {  // out[i] (m x n) = alpha * a[i] @ b[i] + beta * out[i]
    std::int64_t count, m, n, k;
    Batch<const T> a, b;
    Batch<T> out;
    T alpha, beta;

    Products transposed() const {
        return {count, n, m, k, b.transposed(), a.transposed(), out.transposed(), alpha, beta};
    }
};

template <class T>
SmallGemmShape shape_of(const Products<T>& p) {
    const auto strides = [](const auto& matrix) {
        return SmallGemmShape::Strides{matrix.row_stride, matrix.column_stride};
    };
    return {p.m, p.n, p.k, strides(p.a.first), strides(p.b.first), strides(p.out.first)};
}

// Note [When packing pays]
// Measured on Zen 5. Where b's columns lie side by side, packing pays once there are many rows and a panel of b no
// longer fits the first-level cache as it lies; where they don't (x @ w.T), almost at once.
template <class T>
bool is_small(const Products<T>& p) {
    const std::int64_t work = p.m * p.n * p.k;
    return p.k == 0 || work <= 4096 || (p.b.first.column_stride == 1 && (work <= 1000000 || p.m <= 24));
}

// Note [Skinny matrix products]
// With few rows or columns, packing the other operand costs as much as the product. Where both have their terms side
// by side, each element is a sum along memory.
inline constexpr std::int64_t kThin = 8;

template <class T>
bool is_thin(const Products<T>& p) {
    return p.a.first.column_stride == 1 && p.b.first.row_stride == 1 && p.k >= 128 &&
           (std::min(p.m, p.n) <= kThin || (p.k >= 1024 && p.m * p.n <= 1024));
}

template <class T>
Products<T> products_of(const View& out, const View& a, const View& b, Number alpha, Number beta) {
    const auto batch_of = [](const View& view) {
        const std::int64_t* strides = view.strides + (view.ndim - 2);
        return Batch<T>{{static_cast<T*>(view.data), strides[0], strides[1]}, view.ndim == 3 ? view.strides[0] : 0};
    };
    const auto input_of = [&](const View& view) {
        const Batch<T> batch = batch_of(view);
        return Batch<const T>{{batch.first.data, batch.first.row_stride, batch.first.column_stride}, batch.stride};
    };
    const std::int64_t* sizes = out.sizes + (out.ndim - 2);
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

}  // namespace clew::kernels
