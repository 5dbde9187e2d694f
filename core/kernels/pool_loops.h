// Rows of pooling, for float32 and float64. in[i * stride] belongs to element i of the row of results.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"

namespace clew::kernels {

template <class T, class Place>
struct PoolLoops {
    // Where in is larger than best or is no number, it becomes the best, and place + i * stride its place.
    void (*best_of)(T* best, Place* places, const T* in, Place place, std::int64_t stride, std::int64_t count);
    void (*add_to)(T* sums, const T* in, std::int64_t stride, std::int64_t count);
};

struct PoolTable {
    PoolLoops<float, std::int32_t> float32;
    PoolLoops<double, std::int64_t> float64;
};
CLEW_DECLARE_TABLE(PoolTable, pool_loops)

}  // namespace clew::kernels
