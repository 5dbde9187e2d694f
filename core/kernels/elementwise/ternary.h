// Operations on three inputs.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct TernaryTable {
    Loop where[kDTypes];  // inputs: condition (bool), a, b
    Loop clamp[kDTypes];  // inputs: x, low, high; a NaN among them wins; not on bool
    Loop lerp[kDTypes];   // inputs: a, b, weight; floating only
};

CLEW_DECLARE_TABLE(TernaryTable, ternary)

}  // namespace clew::kernels
