// Inner loops of the index kernels.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

// 0, 1, 2 for elements of 1, 4, 8 bytes: what is only moved has a size, not a dtype.
inline int size_slot(DType dtype) {
    const auto size = item_size(dtype);
    return size == 1 ? 0 : size == 4 ? 1 : 2;
}

struct IndexLoopsTable {
    Loop add[kDTypes];    // data[0] += data[1]; for Bool, or
    Loop masked_fill[3];  // where data[1] (Bool) holds, data[0] = the one element at data[2]
    std::int64_t (*count_nonzero[kDTypes])(const char* data, std::int64_t stride, std::int64_t count);
};
CLEW_DECLARE_TABLE(IndexLoopsTable, index_loops)

}  // namespace clew::kernels
