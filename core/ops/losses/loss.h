// What losses share.
#pragma once
#include "core/ops/opdef.h"

namespace clew {

// PyTorch's numbers for the names "none", "mean" and "sum".
enum Reduction : std::int64_t { kNone, kMean, kSum };
void check_reduction(const char* op, std::int64_t reduction);

// The gradient of each element of a reduced loss of operands that are broadcast together; some may be null. It has no
// axes if the first operand has all of the loss's.
Tensor gradient_of_each(const Tensor& g, std::int64_t reduction, std::initializer_list<const Tensor*> operands);

// For arguments that a formula reads but that no derivative is implemented for.
void need_no_gradient(const char* op, const char* argument, const Tensor& x);

}  // namespace clew
