// Rows of pooling, for float32 and float64. in[i * stride] belongs to element i of the row of results.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"

namespace clew::kernels {

inline constexpr int kMostPoolSize = 3;  // of the windows that have loops of their own

template <class T, class Place>
struct PoolLoops {
    // Where in is larger than best or is no number, it becomes the best, and place + i * stride its place.
    void (*best_of)(T* best, Place* places, const T* in, Place place, std::int64_t stride, std::int64_t count);
    void (*add_to)(T* sums, const T* in, std::int64_t stride, std::int64_t count);
    // Whole windows of size x size, by size less two and stride less one; rows of the input are `width` apart.
    void (*best_of_windows[kMostPoolSize - 1][kMostPoolSize])(T* best, std::int64_t* places, const T* in, Place place,
                                                              std::int64_t width, std::int64_t count);
    void (*sum_of_windows[kMostPoolSize - 1][kMostPoolSize])(T* sums, const T* in, std::int64_t width,
                                                             std::int64_t count);
    void (*divide)(T* sums, T divisor, const T* divisors, std::int64_t count);  // by the product of both
};

struct PoolTable {
    PoolLoops<float, std::int32_t> float32;
    PoolLoops<double, std::int64_t> float64;
};
CLEW_DECLARE_TABLE(PoolTable, pool_loops)

}  // namespace clew::kernels
