#include "core/base/frame.h"

#include "core/base/error.h"

namespace clew {

thread_local constinit KernelMode kernel_mode = KernelMode::Run;
thread_local constinit bool storages_backed = false;
thread_local constinit std::int64_t flat_elements = kFlatElements;
thread_local constinit const char* meta_operation = nullptr;
int storage_detour = 0;
std::uint32_t process_mode = 0;

void set_kernel_mode(KernelMode mode) {
    storage_detour += static_cast<int>(mode != KernelMode::Run) - static_cast<int>(kernel_mode != KernelMode::Run);
    kernel_mode = mode;
    flat_elements = mode == KernelMode::Run ? kFlatElements : -1;
}

void need_values(const char* what) {
    if (!kernels_skipped()) return;
    if (meta_operation)
        fail(ErrorKind::NotImplemented,
             "%s: the result depends on values of tensors (%s), and tensors on the device 'meta' have none; use "
             "tensors on the CPU",
             meta_operation, what);
    fail(ErrorKind::NotImplemented, "infer: the result depends on values of tensors (%s); run the operation", what);
}

}  // namespace clew

#ifdef CLEW_CHECK_DISPATCH

namespace clew {
namespace {
thread_local int open = 0;
}

DispatchFrame::DispatchFrame() { ++open; }
DispatchFrame::~DispatchFrame() { --open; }

void assert_frame(const char* kernel) {
    if (open == 0) fail(ErrorKind::Runtime, "a kernel ran outside dispatch(): %s", kernel);
}

}  // namespace clew

#endif
