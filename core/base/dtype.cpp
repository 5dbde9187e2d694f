#include "core/base/dtype.h"

#include "core/base/error.h"

namespace clew {

void no_kernel_for(DType dtype) {
    fail(ErrorKind::NotImplemented, "no kernel for dtype %s; cast the input first", dtype_name(dtype));
}

}  // namespace clew
