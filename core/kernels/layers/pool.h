// Pooling: each result is the largest or the mean of a window of the input. Arrays are contiguous, float32 or float64,
// (planes, depth, height, width); what is missing of three axes of space has size 1.
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/dtype.h"

namespace clew::kernels {

// The windows along one axis.
struct PoolAxis {
    std::int64_t size;                       // of the input
    std::int64_t length = 0;                 // of the results
    std::vector<std::int64_t> first, count;  // of what lies inside, for each result; empty where there is no result
    std::vector<std::int64_t> divisor;       // what the mean divides by, as a factor of this axis
    std::int64_t step = 1;                   // within a window: the dilation
    std::int64_t kernel = 0, stride = 0,
                 offset = 0;  // where windows are regular: kernel > 0, first tap at i * stride + offset
    std::int64_t results() const { return length; }
};
struct Pool {
    DType dtype;
    std::int64_t planes;
    PoolAxis axes[3];
    double divisor = 0;  // if not 0: of all means
};

// places: where in its plane each result was found, int64; -1 where a window has no element of it.
void max_pool(const Pool& pool, void* out, std::int64_t* places, const void* in);
// Adds grad to the zeros of `in` at these places, if there are such.
void max_pool_gradient(const Pool& pool, void* in, const void* grad, const std::int64_t* places);
void mean_pool(const Pool& pool, void* out, const void* in);
void mean_pool_gradient(const Pool& pool, void* in, const void* grad);

}  // namespace clew::kernels
