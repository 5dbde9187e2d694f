// Matrix products of integers: sums wrap around. Operands as for gemm and bgemm.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

void integer_gemm(const View& out, const View& a, const View& b, std::int64_t alpha, std::int64_t beta);

}  // namespace clew::kernels
