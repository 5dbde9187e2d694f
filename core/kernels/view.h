// A raw strided view: all that kernels know of a tensor.
#pragma once
#include <cstdint>

#include "core/base/dtype.h"

namespace clew::kernels {

inline constexpr int kMaxDims = 16;

struct View {
    void* data;  // the first element, offset applied
    DType dtype;
    int ndim;
    const std::int64_t* sizes;
    const std::int64_t* strides;  // in elements; 0 for a broadcast axis
};

// One inner loop: pointers (output first), strides in bytes, count.
using Loop = void (*)(char* const* data, const std::int64_t* strides, std::int64_t count);
// A number beside arrays: loops over floating dtypes read `real`, those over integers `integer`, which is exact.
// Loops over complex dtypes read `imag`, too.
struct Number {
    double real = 0;
    std::int64_t integer = 0;
    double imag = 0;
};
// The same with up to three numbers (slope, bounds, alpha ...).
using ParamLoop = void (*)(char* const* data, const std::int64_t* strides, std::int64_t count, const Number* params);

// Below this many elements a loop is not worth handing to another thread; above it, arrays are cut in pieces of about
// this size, or somewhat smaller ones. Only of an array that no cache holds do pieces have twice as many: such a piece
// may be written by non-temporal stores.
inline constexpr std::int64_t kChunk = 32768;

}  // namespace clew::kernels
