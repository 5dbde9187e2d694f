// Matrix products of integers: sums wrap around. Operands as for gemm and bgemm.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

void integer_gemm(const View& out, const View& a, const View& b, double alpha, double beta);

}  // namespace clew::kernels
