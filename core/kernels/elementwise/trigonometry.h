// Trigonometric functions and their inverses; floating only.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct TrigonometryTable {
    Loop sin[kDTypes];
    Loop cos[kDTypes];
    Loop tan[kDTypes];
    Loop asin[kDTypes];
    Loop acos[kDTypes];
    Loop atan[kDTypes];
};

CLEW_DECLARE_TABLE(TrigonometryTable, trigonometry)

}  // namespace clew::kernels
