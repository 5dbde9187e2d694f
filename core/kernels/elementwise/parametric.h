// Operations with up to two numbers in `params`. Those for integers fit their dtype.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct ParametricTable {
    ParamLoop fill[kDTypes];         // params[0], of no input; floating alone
    ParamLoop add_scaled[kDTypes];   // a + params[0] * b
    ParamLoop sub_scaled[kDTypes];   // a - params[0] * b
    ParamLoop clamp[kDTypes];        // params: low, high; NaN stays NaN; high wins where low > high
    ParamLoop threshold[kDTypes];    // x <= params[0] ? params[1] : x
    ParamLoop pow[kDTypes];          // x ** params[0]; fast at -2, -1, -0.5, 0.5, 1, 2, 3
    ParamLoop power_slope[kDTypes];  // a * (n * b ** (n - 1)) for n = params[0] of 2, 3 or 4; floating alone
    // Floating only.
    ParamLoop lerp[kDTypes];     // a + params[0] * (b - a)
    ParamLoop addcmul[kDTypes];  // three inputs: x + params[0] * a * b
    ParamLoop addcdiv[kDTypes];  // three inputs: x + params[0] * a / b
};

CLEW_DECLARE_TABLE(ParametricTable, parametric)

}  // namespace clew::kernels
