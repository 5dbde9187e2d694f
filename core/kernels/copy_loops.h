// The loops behind copy.h.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct CopyTable {
    Loop cast[kDTypes][kDTypes];  // [from][to]; equal dtypes copy
    // `rows` rows of `bytes` bytes, as far apart as the strides say.
    void (*rows)(char* out, std::int64_t out_stride, const char* in, std::int64_t in_stride, std::int64_t rows,
                 std::int64_t bytes);
};

CLEW_DECLARE_TABLE(CopyTable, copy_loops)

}  // namespace clew::kernels
