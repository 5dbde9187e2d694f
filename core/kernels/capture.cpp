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
    char** const place = reinterpret_cast<char**>(&view.data);
    Operand operand{place, 0, size, written};
    for (int axis = 0; axis < view.ndim; ++axis) {
        if (view.sizes[axis] == 0) return {place, 0, 0, written};
        operand.reach(view.sizes[axis] - 1, view.strides[axis] * size);
    }
    return operand;
}

}  // namespace clew::kernels
