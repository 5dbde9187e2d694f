// Binary operations that go element by element: rounding division, powers, angles. An integer divided by zero gives
// zero here: raising is for the caller, who looks at the divisor first.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct DivisionTable {
    Loop floor_divide[kDTypes];  // not on bool
    Loop trunc_divide[kDTypes];  // rounds toward zero
    Loop remainder[kDTypes];     // the sign of the divisor, as in Python
    Loop fmod[kDTypes];          // the sign of the dividend, as in C
    Loop pow[kDTypes];           // integers wrap; a negative integer exponent gives 0 unless the base is 1 or -1
    Loop atan2[kDTypes];         // floating only
    Loop shift_left[kDTypes];    // integers only; a shift of the whole width or more gives 0
    Loop shift_right[kDTypes];   // arithmetic
};

CLEW_DECLARE_TABLE(DivisionTable, division)

}  // namespace clew::kernels
