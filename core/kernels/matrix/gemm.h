// Matrix products over strided views.
//
// Which code runs depends on dtype, sizes and strides only, so a product gives the same bits at any thread count
// (Note [Same bits at any thread count]). float32 and float64 go to loops over the operands as they lie where these are
// small (Note [Small matrix products]) or thin (Note [Skinny matrix products]), else to packed panels (Note [Packed
// panels]); integers go to plain loops. Bool is for the caller to refuse. All operands have one dtype; out overlaps no
// input. With beta == 0, out is only written (NaN in it does not survive).
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

// out (m x n) = alpha * a (m x k) @ b (k x n) + beta * out
void gemm(const View& out, const View& a, const View& b, Number alpha = {1.0, 1, 0}, Number beta = {0.0, 0, 0});

// The same for each leading position: out (batch x m x n), a (batch x m x k), b (batch x k x n); a batch stride may be
// 0.
void bgemm(const View& out, const View& a, const View& b, Number alpha = {1.0, 1, 0}, Number beta = {0.0, 0, 0});

// out (m) = alpha * a (m x k) @ x (k) + beta * out
void gemv(const View& out, const View& a, const View& x, Number alpha = {1.0, 1, 0}, Number beta = {0.0, 0, 0});

// out (one element) = sum of a * b, both of one dimension
void dot(const View& out, const View& a, const View& b);

}  // namespace clew::kernels
