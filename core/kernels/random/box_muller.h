// Normal numbers from uniform ones, for float32.
#pragma once
#include "core/kernels/isa.h"

namespace clew::kernels {

struct BoxMullerTable {
    // Replaces each sixteen uniforms on [0, 1), of which the first eight give radii and the others angles, by sixteen
    // normal numbers.
    void (*float32)(float* data, long long blocks, float mean, float deviation);
};

CLEW_DECLARE_TABLE(BoxMullerTable, box_muller)

}  // namespace clew::kernels
