// The error function and the gamma family; floating only.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct SpecialTable {
    Loop erf[kDTypes];
    Loop erfc[kDTypes];
    Loop lgamma[kDTypes];
    Loop digamma[kDTypes];
    Loop erfinv[kDTypes];
};

CLEW_DECLARE_TABLE(SpecialTable, special)

}  // namespace clew::kernels
