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

}  // namespace clew
