// The inner loops of convolutions in which each channel is by itself, for float32 and float64. Rows are padded: a whole
// vector may be read or written from each multiple of the lanes.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"

namespace clew::kernels {

// Of each row of results the first element takes in[offsets[tap]], the next ones what follows there; rows of results
// are out_stride apart, what they take row_step.
template <class T>
struct DepthwiseRows {
    const T* in;
    std::int64_t row_step;
    const std::int64_t* offsets;
    std::int64_t taps;
    std::int64_t out_stride;
    std::int64_t rows, columns;
};

template <class T>
struct DepthwiseLoops {
    int lanes;
    void (*gather)(const DepthwiseRows<T>& rows, T* out, const T* weights, T start);
    // Adds the sum of grad times what each tap gave to sums[tap].
    void (*weight_gradient)(const DepthwiseRows<T>& rows, T* sums, const T* grad);
};

struct DepthwiseTable {
    DepthwiseLoops<float> float32;
    DepthwiseLoops<double> float64;
};
CLEW_DECLARE_TABLE(DepthwiseTable, depthwise_loops)

}  // namespace clew::kernels
