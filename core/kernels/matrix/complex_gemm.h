// Products of complex matrices, made of four real ones.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

// As bgemm and dot in gemm.h.
void complex_gemm(const View& out, const View& a, const View& b, Complex<double> alpha, Complex<double> beta);
void complex_dot(const View& out, const View& a, const View& b);

}  // namespace clew::kernels
