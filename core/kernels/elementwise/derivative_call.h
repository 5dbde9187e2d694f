// Functions with their derivatives, for who will need both: Note [Derivatives kept for the backward],
// core/program/passes/keeping_derivatives.cpp.
#pragma once
#include <memory>

#include "core/kernels/capture.h"

namespace clew::kernels {

struct WithDerivative {
    std::unique_ptr<KernelCall> forward;   // on the result and on x, in whose place it leaves the derivative
    std::unique_ptr<KernelCall> backward;  // the gradient times that; operands as before
};

// Whether there is one for this function's loop.
bool has_derivative(const FlatLoop& forward);

// In place of a function's loop over x and of its backward's over a gradient and x, the same bits. Nothing, if it isn't
// known how, or if they don't lie element after element. All that `operands` has is the pointers, of both calls.
WithDerivative with_derivative(const FlatLoop& forward, const FlatLoop& backward, char* const* operands,
                               char* const* of_backward);

}  // namespace clew::kernels
