// Note [Frames]
// Whatever reads or writes elements of tensors does so inside dispatch(): that opens a frame on its thread, and in a
// checking build (cmake -DCLEW_CHECK_DISPATCH=ON) every kernel asserts that one is open. So nothing can go past the
// interpreters unseen. In other builds all of this is nothing.
#pragma once
#include <cstdint>

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

// What kernels do on this thread.
enum class KernelMode : std::uint8_t {
    Run,
    Skip,     // nothing, and storages have no memory: sizes are wanted, not values (core/ops/infer.h, core/ops/meta.h)
    Capture,  // they run, and tell how they are called again: Note [Captured kernels] in core/kernels/capture.h
};
extern thread_local constinit KernelMode kernel_mode __attribute__((tls_model("initial-exec")));
inline bool skips_kernels() { return kernel_mode == KernelMode::Skip; }

// Asked where something is done with values that no kernel does, or that a kernel does which can't be captured.
bool note_uncaptured();  // false
inline bool kernels_skipped() {
    if (kernel_mode == KernelMode::Run) [[likely]]
        return false;
    return skips_kernels() || note_uncaptured();
}

// And this: storages have their memory all the same, for somebody who counts it (clew.graph.predict_peak).
extern thread_local constinit bool storages_backed;

// Up to so many elements a loop is called by itself, without a kernel around it that would see the mode.
inline constexpr std::int64_t kFlatElements = 32768;
extern thread_local constinit std::int64_t flat_elements __attribute__((tls_model("initial-exec")));  // or -1

// How many reasons there are for a new storage to take a closer look: threads that skip or capture kernels, timelines.
extern int storage_detour;

// The mode word's bits (core/autograd/mode.h) that hold on all threads.
extern std::uint32_t process_mode;
inline constexpr std::uint32_t kUnbackedLives = std::uint32_t{1} << 31;  // there is a storage without memory

void set_kernel_mode(KernelMode mode);

// Skips kernels for a scope, or skips none.
class SkipKernels {
public:
    explicit SkipKernels(bool skip) : before_(kernel_mode) {
        set_kernel_mode(skip ? KernelMode::Skip : before_ == KernelMode::Skip ? KernelMode::Run : before_);
    }
    ~SkipKernels() { set_kernel_mode(before_); }
    SkipKernels(const SkipKernels&) = delete;
    SkipKernels& operator=(const SkipKernels&) = delete;

private:
    const KernelMode before_;
};

// The operation that runs on tensors without values, for errors; null while a call is inferred.
extern thread_local constinit const char* meta_operation;

// For a scope, an operation runs on such tensors, or (null) on others.
class OnMeta {
public:
    explicit OnMeta(const char* operation) : skip_(operation != nullptr), before_(meta_operation) {
        meta_operation = operation;
    }
    ~OnMeta() { meta_operation = before_; }
    OnMeta(const OnMeta&) = delete;
    OnMeta& operator=(const OnMeta&) = delete;

private:
    const SkipKernels skip_;
    const char* const before_;
};

// Error(NotImplemented) while kernels are skipped: what follows depends on values. Noted while they are captured.
void need_values(const char* what);

// The first line of every kernel; its argument is what it returns when it is skipped.
#define CLEW_KERNEL(...)                        \
    CLEW_ASSERT_FRAME();                        \
    if (::clew::kernels_skipped()) [[unlikely]] \
    return __VA_ARGS__

}  // namespace clew
