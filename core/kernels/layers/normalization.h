// Layer normalisation over the last `inner` elements of contiguous arrays of `outer` x `inner`; floating only.
#pragma once
#include <cstdint>

#include "core/base/dtype.h"

namespace clew::kernels {

struct LayerNorm {
    DType dtype;  // of every array
    std::int64_t outer;
    std::int64_t inner;
};

// out = (x - mean) * rstd * weight + bias; `weight` and `bias` may be null. `mean` and `rstd` have `outer` elements.
void layer_norm(const LayerNorm& shape, void* out, void* mean, void* rstd, const void* x, const void* weight,
                const void* bias, double epsilon);

// Any of the three results may be null. `weight` may be null.
void layer_norm_backward(const LayerNorm& shape, void* grad_x, void* grad_weight, void* grad_bias, const void* grad,
                         const void* x, const void* mean, const void* rstd, const void* weight);

}  // namespace clew::kernels
