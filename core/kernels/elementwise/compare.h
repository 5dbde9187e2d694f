// Operations whose result is bool. The index is the dtype of the inputs, which all share it.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct CompareTable {
    Loop eq[kDTypes];
    Loop ne[kDTypes];
    Loop lt[kDTypes];
    Loop le[kDTypes];
    Loop gt[kDTypes];
    Loop ge[kDTypes];
    Loop logical_and[kDTypes];
    Loop logical_or[kDTypes];
    Loop logical_xor[kDTypes];
    Loop logical_not[kDTypes];  // unary, as the rest
    Loop isnan[kDTypes];
    Loop isinf[kDTypes];
    Loop isfinite[kDTypes];
};

CLEW_DECLARE_TABLE(CompareTable, compare)

}  // namespace clew::kernels
