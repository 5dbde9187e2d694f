// The mode word: what differs from plain recording, one bit each. dispatch() tests it once; zero is the hot path.
#pragma once
#include <cstdint>

#include "core/base/frame.h"

namespace clew {

enum Mode : std::uint32_t {
    kNoGrad = 1,                // no_grad(), and the inside of a backward without create_graph
    kInferenceMode = 2,         // inference_mode(): results are outside autograd for good
    kSavedHooks = 4,            // saved_tensors_hooks are on the stack
    kAnomaly = 8,               // detect_anomaly(): look at every gradient
    kTiming = 16,               // clew xray: where does the time go
    kAllowDataWrites = 32,      // allow_data_writes(): the user vouches for writes through aliases
    kNoProvenance = 64,         // nobody asks where anything was made: benchmarks, and nodes that get their sites later
    kNoTorchFunction = 128,     // DisableTorchFunctionSubclass
    kWatchWrites = 512,         // allow_mutation_on_saved_tensors(): what was saved is copied before it is written
    kInBackward = 256,          // inside the engine: results that lose their history here are nobody's mystery
    kInterpreted = 1024,        // an Interpreter is on this thread's stack
    kMakeMeta = 2048,           // device("meta") as a context: what is made of no tensors has no memory
    kForwardMode = 4096,        // a dual level is open: tensors may have tangents
    kFunctionMode = 8192,       // a TorchFunctionMode is on the stack: it is asked about every call
    kAutocast = 16384,          // autocast("cpu"): operations that its lists name get arguments of another dtype
    kAutocastFloat16 = 32768,   // ... of float16, not bfloat16
    kAutocastUncached = 65536,  // ... and weights are cast at each use
};
// With one of these, dispatch() leaves the hot path.
inline constexpr std::uint32_t kDetour = kInterpreted | kTiming | kInferenceMode | kMakeMeta | kUnbackedLives;

extern thread_local constinit std::uint32_t mode_word __attribute__((tls_model("initial-exec")));

inline bool mode(std::uint32_t bits) { return (mode_word & bits) != 0; }
inline bool on_detour() { return ((mode_word | process_mode) & kDetour) != 0; }
inline bool grad_enabled() { return (mode_word & kNoGrad) == 0; }

// Sets bits for a scope.
class ModeGuard {
public:
    ModeGuard(std::uint32_t bits, bool on) : bits_(bits), before_(mode_word) {
        mode_word = on ? mode_word | bits : mode_word & ~bits;
    }
    ~ModeGuard() { mode_word = (mode_word & ~bits_) | (before_ & bits_); }
    ModeGuard(const ModeGuard&) = delete;
    ModeGuard& operator=(const ModeGuard&) = delete;

private:
    std::uint32_t bits_, before_;
};

}  // namespace clew
