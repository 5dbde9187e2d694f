// Operations on three inputs.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct TernaryTable {
    Loop where[kDTypes];  // inputs: condition (bool), a, b
    Loop clamp[kDTypes];  // inputs: x, low, high; a NaN among them wins; not on bool
    Loop lerp[kDTypes];   // inputs: a, b, weight; floating only
    // a / b * c. Inputs: a, b, c, and c / b or 0: where that is neither large nor small, it is what a is multiplied by.
    Loop div_mul[kDTypes];  // floating only
};

// A number of this size has all its digits, and so has its product with another one that is in range.
template <class T>
static constexpr bool is_moderate(T number) {
    const T size = number < T(0) ? -number : number;
    return (size > T(1e-30)) & (size < T(1e30));
}
template <class T>
static constexpr bool all_moderate(const T* numbers, std::int64_t count) {
    int unusual = 0;
    for (std::int64_t i = 0; i < count; ++i) unusual |= is_moderate(numbers[i]) ? 0 : 1;
    return unusual == 0;
}

CLEW_DECLARE_TABLE(TernaryTable, ternary)

}  // namespace clew::kernels
