// The inner loops of large matrix products: packing, and products of packed blocks.
#pragma once
#include <stdint.h>

#include "core/kernels/isa.h"
#include "core/kernels/matrix/matrix.h"

namespace clew::kernels {

// Note [Packed panels]
// A panel of `a` is a few of its rows, a panel of `b` a few of its columns, laid out so that what one step of the sum
// needs lies together: [k][width]. What is missing from the last panel is zero, as far as it is read. The product of a
// panel of each is one tile, whose sums stay in registers while k runs; a panel of b stays in the first-level cache
// while all panels of a pass. So it does not matter how the operands lay in memory, and a panel may just as well be
// packed from something that never was a matrix (a convolution's windows).
//
// Note [Panels in place]
// Packing an element costs as much as multiplying it some ten times. What meets few panels of the other operand is
// taken where it lies, if that is as good: the columns of b have to lie side by side, and the rows of a, or its steps.
// The last panel is packed even then if it is not full, since the loops read whole vectors.
template <class T>
struct PanelsOf {
    const T* data;              // element i of step p of panel j: data[j * panel + i * line + p * step]
    int64_t panel, line, step;  // packed: line is 1, step the width
    const T* last;              // the packed panel that is not full, if there is one
};

// What is added to the product: the result as it was, or one row for all of its rows, whose row_stride is 0.
template <class T>
struct Added {
    const T* data;
    int64_t row_stride;  // its columns lie as the result's
    T factor;            // 0: nothing is read
};

template <class T>
struct PackedGemm {
    int64_t rows;     // of a panel of a
    int64_t columns;  // of a panel of b

    // to[p][i] = from[i * line_stride + p * step], for `lines` of the panel's rows (or columns) and k steps.
    using Pack = void (*)(int64_t lines, int64_t k, const T* from, int64_t line_stride, int64_t step, T* to);
    Pack pack_a, pack_b;

    // out (m x n) = alpha * a @ b + added.factor * added; b's line is 1.
    void (*product)(int64_t m, int64_t n, int64_t k, PanelsOf<T> a, PanelsOf<T> b, Matrix<T> out, T alpha,
                    Added<T> added);
};

struct PackedGemmTable {
    PackedGemm<float> float32;
    PackedGemm<double> float64;
    template <class T>
    const PackedGemm<T>& of() const {
        if constexpr (sizeof(T) == sizeof(float))
            return float32;
        else
            return float64;
    }
};
CLEW_DECLARE_TABLE(PackedGemmTable, packed_gemm)

}  // namespace clew::kernels
