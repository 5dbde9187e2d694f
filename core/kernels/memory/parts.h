// Complex numbers seen as pairs of real ones.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

// The real parts of a view (0) or the imaginary ones (1).
struct Part {
    std::int64_t strides[kMaxDims];
    View view;

    Part(const View& whole, int which) {
        const DType dtype = real_dtype(whole.dtype);
        for (int axis = 0; axis < whole.ndim; ++axis) strides[axis] = 2 * whole.strides[axis];
        view = {static_cast<char*>(whole.data) + which * static_cast<std::int64_t>(item_size(dtype)), dtype, whole.ndim,
                whole.sizes, strides};
    }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;
    const View& operator*() const { return view; }
};

}  // namespace clew::kernels
