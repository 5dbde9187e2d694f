// Incomplete gamma functions, the zeta function, and how draws of gamma and beta numbers move with their parameters;
// floating only.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct GammaFamilyTable {
    Loop lower[kDTypes];           // inputs: a, x; P(a, x)
    Loop upper[kDTypes];           // inputs: a, x; Q(a, x) = 1 - P(a, x)
    Loop zeta[kDTypes];            // inputs: s, q; the sum of (q + k)^-s for k >= 0
    Loop gamma_gradient[kDTypes];  // inputs: a, x
    Loop beta_gradient[kDTypes];   // inputs: x, a, total
};

CLEW_DECLARE_TABLE(GammaFamilyTable, gamma_family)

}  // namespace clew::kernels
