// What losses share.
#pragma once
#include "core/ops/opdef.h"

namespace clew {

// PyTorch's numbers for the names "none", "mean" and "sum".
enum Reduction : std::int64_t { kNone, kMean, kSum };
void check_reduction(const char* op, std::int64_t reduction);

// For arguments that a formula reads but that no derivative is implemented for.
void need_no_gradient(const char* op, const char* argument, const Tensor& x);

}  // namespace clew
