// The loops behind copy.h.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct CastRow {
    Loop to[kDTypes];
};
struct CopyTable {
    CastRow cast[kDTypes];  // [from].to[to]; equal dtypes copy; null: Note [Conversions]
    // `rows` rows of `bytes` bytes, as far apart as the strides say.
    void (*rows)(char* out, std::int64_t out_stride, const char* in, std::int64_t in_stride, std::int64_t rows,
                 std::int64_t bytes);
    // out[i] = start + (first + i) * step for adjacent floats or doubles, worked out in double.
    void (*progression[2])(void* out, std::int64_t first, std::int64_t count, double start, double step);
};

CLEW_DECLARE_TABLE(CopyTable, copy_loops)

}  // namespace clew::kernels
