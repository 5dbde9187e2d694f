// Binary operations on two inputs of one dtype, with a result of that dtype. Entries are null where a dtype has no such
// operation.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct ArithmeticTable {
    Loop add[kDTypes];      // on bool: or
    Loop sub[kDTypes];      // not on bool
    Loop mul[kDTypes];      // on bool: and
    Loop div[kDTypes];      // floating only
    Loop maximum[kDTypes];  // a NaN on either side wins
    Loop minimum[kDTypes];
    Loop bitwise_and[kDTypes];  // bool and integers
    Loop bitwise_or[kDTypes];
    Loop bitwise_xor[kDTypes];
};

CLEW_DECLARE_TABLE(ArithmeticTable, arithmetic)

}  // namespace clew::kernels
