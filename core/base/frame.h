// Note [Frames]
// Whatever reads or writes elements of tensors does so inside dispatch(): that opens a frame on its thread, and in a
// checking build (cmake -DCLEW_CHECK_DISPATCH=ON) every kernel asserts that one is open. So nothing can go past the
// interpreters unseen. In other builds all of this is nothing.
#pragma once

namespace clew {

#ifdef CLEW_CHECK_DISPATCH

class DispatchFrame {
public:
    DispatchFrame();
    ~DispatchFrame();
    DispatchFrame(const DispatchFrame&) = delete;
    DispatchFrame& operator=(const DispatchFrame&) = delete;
};
// Error(Runtime), naming the kernel, if no frame is open on this thread.
void assert_frame(const char* kernel);
#define CLEW_ASSERT_FRAME() ::clew::assert_frame(__PRETTY_FUNCTION__)

#else

struct [[maybe_unused]] DispatchFrame {};
#define CLEW_ASSERT_FRAME() static_cast<void>(0)

#endif

// While this is set, kernels do nothing on this thread: sizes are wanted, not values (core/ops/infer.h).
extern thread_local constinit bool kernels_skipped __attribute__((tls_model("initial-exec")));

// Sets it for a scope, or clears it.
class SkipKernels {
public:
    explicit SkipKernels(bool skip) : before_(kernels_skipped) { kernels_skipped = skip; }
    ~SkipKernels() { kernels_skipped = before_; }
    SkipKernels(const SkipKernels&) = delete;
    SkipKernels& operator=(const SkipKernels&) = delete;

private:
    const bool before_;
};

// Error(NotImplemented) while kernels are skipped: what follows depends on values.
void need_values(const char* what);

// The first line of every kernel; its argument is what it returns when it is skipped.
#define CLEW_KERNEL(...)                      \
    CLEW_ASSERT_FRAME();                      \
    if (::clew::kernels_skipped) [[unlikely]] \
    return __VA_ARGS__

}  // namespace clew
