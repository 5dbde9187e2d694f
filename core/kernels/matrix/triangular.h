// LU factors and triangular systems of matrices whose rows lie one after another.
//
// Small matrices are worked out row by row. Of larger ones, panels and triangles of kPanel are, and the rest is
// products of matrices (Golub and Van Loan, Matrix Computations, 3.2.11).
#pragma once
#include <stdint.h>

#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

// A matrix of which one of the strides, in elements, is mostly 1.
template <class T>
struct Strided {
    T* data;
    int64_t row, column;
};

template <class T>
struct TriangularLoops {
    // Rows of `columns` elements, `stride` apart: in step k the largest of column k from row k on is exchanged into it,
    // pivots[k] is its row, from 1, and what lies right of column k and below is eliminated. The first zero pivot's
    // place, from 1, or 0. NaN counts as the largest.
    int64_t (*factor)(T* a, int64_t rows, int64_t columns, int64_t stride, int32_t* pivots);
    // x (n rows of `columns` elements, `stride` apart) is b, and then the solution of a x = b.
    void (*lower)(Strided<const T> a, int64_t n, bool unit, T* x, int64_t columns, int64_t stride);
    void (*upper)(Strided<const T> a, int64_t n, bool unit, T* x, int64_t columns, int64_t stride);
};
struct TriangularTable {
    TriangularLoops<float> float32;
    TriangularLoops<double> float64;
};
CLEW_DECLARE_TABLE(TriangularTable, triangular)

// Each matrix of the batch, in place: a is (batch, rows, columns) and contiguous, as pivots (batch, min(rows, columns))
// and info (batch) are, of int32.
void lu_factor(const View& a, int32_t* pivots, int32_t* info);

// x (batch, n, columns) is contiguous and becomes the solution of a x = x; a is (batch, n, n), of any strides.
void solve_triangle(const View& a, const View& x, bool upper, bool unit);

// The exchanges of rows that lu_factor made, in each matrix of x (batch, n, columns); or back again. `step` is from one
// row of pivots to the next, which may be 0.
void exchange_rows(const View& x, const int32_t* pivots, int64_t step, int64_t count, bool back);

}  // namespace clew::kernels
