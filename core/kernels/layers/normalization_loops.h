// The rows of layer normalisation, for float32 and float64. All rows are contiguous.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

inline constexpr int kNormRows = 4;
inline constexpr int kNormTogether = 16;  // rows of forward at most

struct NormalizationTable {
    // out = (x - mean) * rstd * weight + bias, of rows that follow each other; weight and bias may be null.
    void (*forward[kDTypes])(char* out, char* mean, char* rstd, const char* x, const char* weight, const char* bias,
                             std::int64_t rows, std::int64_t count, double epsilon);
    void (*backward_x[kDTypes])(char* out, const char* grad, const char* x, const char* mean, const char* rstd,
                                const char* weight, std::int64_t count);
    // Adds grad * (x - mean) * rstd to `weight` and grad to `bias`, which are sums in double; of kNormRows rows at
    // most.
    void (*backward_parameters[kDTypes])(double* weight, double* bias, const char* grad, const char* x,
                                         const char* mean, const char* rstd, std::int64_t rows, std::int64_t count);
};

CLEW_DECLARE_TABLE(NormalizationTable, normalization_loops)

}  // namespace clew::kernels
