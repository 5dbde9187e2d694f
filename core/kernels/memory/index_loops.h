// Inner loops of the index kernels.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

// The logarithm of an element's size: what is only moved has a size, not a dtype.
inline constexpr int kSizes = 5;
inline int size_slot(DType dtype) { return __builtin_ctz(static_cast<unsigned>(item_size(dtype))); }

// One row of positions that one index addresses: data[0] is the fixed view's, data[1] the moved one's, data[2] the
// index's, each stepping by its stride; position j belongs to the element `index[j] * stride` bytes into the moved
// view, where a negative index counts from the end.
using IndexedRow = void (*)(char* const* data, const std::int64_t* strides, std::int64_t size, std::int64_t stride,
                            std::int64_t count);

struct IndexLoopsTable {
    Loop add[kDTypes];         // data[0] += data[1]; for Bool, or
    Loop masked_fill[kSizes];  // where data[1] (Bool) holds, data[0] = the one element at data[2]
    std::int64_t (*count_nonzero[kDTypes])(const char* data, std::int64_t stride, std::int64_t count);
    // Whether all of these int64 are in [-shift, limit - shift), as unsigned numbers.
    bool (*in_bounds)(const char* data, std::int64_t stride, std::int64_t count, std::uint64_t shift,
                      std::uint64_t limit);
    IndexedRow get[kSizes], put[kSizes];  // by size_slot
    IndexedRow put_add[kDTypes];          // for Bool, or
};
CLEW_DECLARE_TABLE(IndexLoopsTable, index_loops)

}  // namespace clew::kernels
