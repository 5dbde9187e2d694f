// Layer normalisation over the last `inner` elements of contiguous arrays of `outer` x `inner`; floating only.
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

struct LayerNorm {
    DType dtype;  // of every array
    std::int64_t outer;
    std::int64_t inner;
};

// out = (x - mean) * rstd * weight + bias; `weight` and `bias` may be absent (a view without data). `mean` and `rstd`
// have `outer` elements.
void layer_norm(const LayerNorm& shape, const View& out, const View& mean, const View& rstd, const View& x,
                const View& weight, const View& bias, double epsilon);

// Any of the three results may be absent, and `weight`.
void layer_norm_backward(const LayerNorm& shape, const View& grad_x, const View& grad_weight, const View& grad_bias,
                         const View& grad, const View& x, const View& mean, const View& rstd, const View& weight);

}  // namespace clew::kernels
