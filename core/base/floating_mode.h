// How a thread's processor computes with floating point numbers: rounding, and what becomes of subnormal ones (those
// below the smallest normal number, 1.2e-38 in float32). Many processors take a hundred cycles for one of these.
#pragma once
#include <cstdint>

namespace clew {

#if defined(__x86_64__)
// The control and status register of SSE and AVX: bit 15 flushes results, bit 6 operands, to zero (Intel's manual,
// volume 1, section 10.2.3).
inline std::uint64_t floating_mode() { return __builtin_ia32_stmxcsr(); }
inline void set_floating_mode(std::uint64_t mode) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(mode)); }
constexpr std::uint64_t kFlushDenormal = 1U << 15 | 1U << 6;
#elif defined(__aarch64__) && !defined(_MSC_VER)
// FPCR: bit 24 flushes both (Arm's architecture reference manual).
inline std::uint64_t floating_mode() {
    std::uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
}
inline void set_floating_mode(std::uint64_t mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
constexpr std::uint64_t kFlushDenormal = 1U << 24;
#else
inline std::uint64_t floating_mode() { return 0; }
inline void set_floating_mode(std::uint64_t) {}
constexpr std::uint64_t kFlushDenormal = 0;
#endif

// Of this thread, and of those that compute for it. False: the processor can't.
inline bool set_flush_denormal(bool on) {
    set_floating_mode(on ? floating_mode() | kFlushDenormal : floating_mode() & ~kFlushDenormal);
    return kFlushDenormal != 0;
}

}  // namespace clew
