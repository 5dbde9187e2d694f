// What autograd keeps of an autograd.Function: its node is the context object, filled in after forward has run.
#pragma once
#include <span>

#include "core/autograd/node.h"
#include "core/ops/opdef.h"

namespace clew {

struct FunctionRecord {
    Tensors inputs;
    std::span<Tensor> outputs;  // become what the caller gets
    Tensors saved;              // by save_for_backward
    Tensors dirty;              // inputs that forward wrote
    Tensors constants;          // outputs without derivative
};
void record_function(const NodeRef& node, const FunctionRecord& call, bool records);

}  // namespace clew
