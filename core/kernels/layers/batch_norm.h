// Batch normalisation of contiguous arrays (batch, channels, inner); floating only. Sums are taken in double.
#pragma once
#include <cstdint>

#include "core/base/dtype.h"

namespace clew::kernels {

struct BatchNorm {
    DType dtype;  // of every array
    std::int64_t batch;
    std::int64_t channels;
    std::int64_t inner;
};

// The mean of each channel and the sum of squared distances from it, in double.
void batch_moments(const BatchNorm& shape, double* mean, double* squares, const void* x);
// out = (x - mean[c]) * scale[c] + shift[c]
void batch_affine(const BatchNorm& shape, void* out, const void* x, const double* mean, const double* scale,
                  const double* shift);
// By channel: the sum of grad and that of grad * (x - mean).
void batch_gradient_sums(const BatchNorm& shape, double* sum, double* product, const void* grad, const void* x,
                         const double* mean);
// out = grad * scale[c] + (x - mean[c]) * slope[c] + shift[c]
void batch_gradient(const BatchNorm& shape, void* out, const void* grad, const void* x, const double* mean,
                    const double* scale, const double* slope, const double* shift);

}  // namespace clew::kernels
