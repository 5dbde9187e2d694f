// Exponentials, logarithms and what is made of them; floating only.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct ExponentialTable {
    Loop exp[kDTypes];
    Loop exp2[kDTypes];
    Loop expm1[kDTypes];
    Loop log[kDTypes];
    Loop log2[kDTypes];
    Loop log10[kDTypes];
    Loop log1p[kDTypes];
    Loop sinh[kDTypes];
    Loop cosh[kDTypes];
    Loop tanh[kDTypes];
    Loop sigmoid[kDTypes];
};

CLEW_DECLARE_TABLE(ExponentialTable, exponential)

}  // namespace clew::kernels
