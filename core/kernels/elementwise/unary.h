// Unary operations that are exact or rounded once.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct UnaryTable {
    Loop neg[kDTypes];  // not on bool
    Loop abs[kDTypes];
    Loop sign[kDTypes];  // of NaN: 0, as in PyTorch
    Loop square[kDTypes];
    Loop bitwise_not[kDTypes];  // on bool: not
    Loop relu[kDTypes];         // NaN stays NaN; not on bool
    // Floating only.
    Loop sgn[kDTypes];    // sign; of a complex number z / |z|
    Loop angle[kDTypes];  // real: 0, or pi below 0; the result of a complex one is real, as of abs
    Loop conj[kDTypes];   // complex only
    Loop reciprocal[kDTypes];
    Loop sqrt[kDTypes];
    Loop rsqrt[kDTypes];
    Loop floor[kDTypes];
    Loop ceil[kDTypes];
    Loop round[kDTypes];  // half to even
    Loop trunc[kDTypes];
};

CLEW_DECLARE_TABLE(UnaryTable, unary)

}  // namespace clew::kernels
