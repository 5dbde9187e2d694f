#include "core/kernels/capture.h"

namespace clew {

bool note_uncaptured() {
    kernels::capture_under_way->complete = false;
    return false;
}

}  // namespace clew

namespace clew::kernels {

thread_local constinit Capture* capture_under_way = nullptr;

CaptureScope::CaptureScope(Capture& capture) {
    capture_under_way = &capture;
    set_kernel_mode(KernelMode::Capture);
}
CaptureScope::~CaptureScope() {
    set_kernel_mode(KernelMode::Run);
    capture_under_way = nullptr;
}

Operand operand_of(View& view, bool written) {
    const auto size = static_cast<std::int64_t>(item_size(view.dtype));
    std::int64_t before = 0, after = size;
    for (int axis = 0; axis < view.ndim; ++axis) {
        if (view.sizes[axis] == 0) before = after = 0;
        if (view.sizes[axis] == 0) break;
        const std::int64_t reach = (view.sizes[axis] - 1) * view.strides[axis] * size;
        (reach < 0 ? before : after) += reach < 0 ? -reach : reach;
    }
    return {reinterpret_cast<char**>(&view.data), before, after, written};
}

}  // namespace clew::kernels
