// What an operation would give, without computing it.
//
// Note [Inference]
// forward() itself says it: it checks its inputs, works out sizes, dtypes and layouts, takes memory for its results and
// hands all of it to kernels. While kernels are skipped (core/base/frame.h), the rest is just what is asked for here,
// and there is no second account of it that could differ. The memory is never touched, so the system need not provide
// it. Operations whose sizes depend on values (kSizedByValues), or that look at values to choose their way, can't tell.
#pragma once
#include <vector>

#include "core/ops/opdef.h"

namespace clew {

struct Inferred {
    LayoutRef layout;  // null: no such output
    DType dtype;
    int view_of;  // the input whose memory it looks at, or -1
    std::int64_t offset;
};

std::vector<Inferred> infer(const OpDef& op, Tensors inputs, const void* attributes);

}  // namespace clew
