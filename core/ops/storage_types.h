// Operations on tensors of storage types: Note [Storage types] in core/base/dtype.h.
//
// Note [Forwards in compute dtypes]
// A forward that looks at a storage type itself says so by kAnyDType (elementwise ones convert block by block, what
// moves elements goes by their size). For all others, inputs are converted to their compute dtypes here, and results
// rounded to the promoted storage type, unless a `dtype` asks for another. Rules that run kernels go the same way.
#pragma once
#include "core/ops/registry.h"

namespace clew {

inline bool any_stored(Tensors inputs) {
    for (const Tensor& input : inputs)
        if (input && is_storage_type(input.dtype())) return true;
    return false;
}

void forward_in_compute_dtypes(OpCall& call);

inline void run_forward(OpCall& call) {
    if (!call.op.is(kAnyDType) && any_stored(call.inputs)) [[unlikely]]
        return forward_in_compute_dtypes(call);
    call.op.forward(call);
}

}  // namespace clew
