// Several elementwise calls over the same elements, strip by strip.
//
// Note [Strips of captured calls]
// Calls that follow one another over long arrays would each take their operands from memory and put their result back.
// Cut into strips, all of them run over one strip before the next one begins, which then stays in the first-level
// cache. What only these calls use has no more memory than a strip. An element's bits do not depend on how an array is
// cut: Note [Bitwise reproducible elements].
#pragma once
#include <vector>

#include "core/kernels/capture.h"

namespace clew::kernels {

inline constexpr std::int64_t kStrip = 2048;  // elements

class Strips final : public KernelCall {
public:
    explicit Strips(std::int64_t count) : count_(count) {}
    // The next loop. For each operand, where in a thread's memory of `local_bytes` its strip lies; -1: not there, but
    // where operands() will say. The loop is that of a FlatCall, whose elements are `count`.
    void add(const FlatLoop& loop, const char* const* data, const std::int64_t* local);
    void set_local_bytes(std::int64_t bytes) { local_bytes_ = bytes; }
    void run() const override;
    std::vector<Operand> operands() override;  // those that are not local, loop by loop
    std::size_t bytes() const override { return sizeof(*this) + stages_.capacity() * sizeof(Stage); }
    std::int64_t work() const override { return count_ * static_cast<std::int64_t>(stages_.size()); }

private:
    struct Stage {
        FlatLoop loop;
        char* data[kMaxOperands];
        std::int64_t local[kMaxOperands];
    };
    void run_part(std::int64_t begin, std::int64_t end, char* local) const;

    std::int64_t count_, local_bytes_ = 0;
    std::vector<Stage> stages_;
};

}  // namespace clew::kernels
