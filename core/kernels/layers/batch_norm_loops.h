// The rows of batch normalisation. In pieces, a row is one channel of one sample; side by side, one element of each
// channel.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct BatchNormTable {
    double (*sum[kDTypes])(const char* x, std::int64_t count);
    double (*squares[kDTypes])(const char* x, std::int64_t count, double mean);
    void (*affine[kDTypes])(char* out, const char* x, std::int64_t count, double mean, double scale, double shift);
    // Adds to sums[0] and sums[1].
    void (*gradient_sums[kDTypes])(double* sums, const char* grad, const char* x, std::int64_t count, double mean);
    void (*gradient[kDTypes])(char* out, const char* grad, const char* x, std::int64_t count, double mean, double scale,
                              double slope, double shift);
    // The same for a row of channels, whose numbers lie side by side too.
    void (*add_row[kDTypes])(double* sums, const char* x, std::int64_t count);
    void (*add_squares_row[kDTypes])(double* sums, const char* x, std::int64_t count, const double* mean);
    void (*affine_row[kDTypes])(char* out, const char* x, std::int64_t count, const double* mean, const double* scale,
                                const double* shift);
    void (*gradient_sums_row[kDTypes])(double* sums, double* products, const char* grad, const char* x,
                                       std::int64_t count, const double* mean);
    void (*gradient_row[kDTypes])(char* out, const char* grad, const char* x, std::int64_t count, const double* mean,
                                  const double* scale, const double* slope, const double* shift);
};

CLEW_DECLARE_TABLE(BatchNormTable, batch_norm_loops)

}  // namespace clew::kernels
