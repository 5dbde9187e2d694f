// Transposing blocks of a matrix, in registers.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct TransposeTable {
    // A block of rows x columns elements of 1, 4 or 8 bytes: out[i][j] = in[j][i]. Strides in bytes are between the
    // rows of out and between the rows of in; both are contiguous along the other axis.
    void (*block)(char* out, std::int64_t out_stride, const char* in, std::int64_t in_stride, std::int64_t rows,
                  std::int64_t columns, std::int64_t item_size);
};

CLEW_DECLARE_TABLE(TransposeTable, transpose_loops)

}  // namespace clew::kernels
