// Several elementwise calls over the same elements, strip by strip.
//
// Note [Strips of captured calls]
// Calls that follow one another over long arrays would each take their operands from memory and put their result back.
// Cut into strips, all of them run over one strip before the next one begins, which then stays in the first-level
// cache. What only these calls use has no more memory than a strip. An element's bits do not depend on how an array is
// cut: Note [Bitwise reproducible elements].
#pragma once
#include <algorithm>
#include <vector>

#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels {

inline constexpr std::int64_t kStrip = 2048;  // elements
inline constexpr int kMostStages = 64;

class Strips;

// A call over elements that may be run over some of them.
class StripCall : public KernelCall {
public:
    // One of operands().
    struct Place {
        int stage, operand;
    };
    virtual const Strips& strips() const = 0;
    virtual std::int64_t local_bytes() const = 0;
    // `local`: so many bytes for the time of this call.
    virtual void run_part(std::int64_t begin, std::int64_t end, char* local) const = 0;
    // This time all parts have to be run one after the other on this thread; then settle() is called.
    virtual bool is_first() const { return false; }
    virtual void settle() const {}
};

class Strips final : public StripCall {
public:
    explicit Strips(std::int64_t count) : count_(count) {}
    // The next loop. For each operand, where in a thread's memory of `local_bytes` its strip lies; -1: not there, but
    // where operands() will say. The loop is that of a FlatCall, whose elements are `count`.
    void add(const FlatLoop& loop, const char* const* data, const std::int64_t* local);
    void set_local_bytes(std::int64_t bytes) { local_bytes_ = bytes; }
    void run() const override;
    const Strips& strips() const override { return *this; }
    std::int64_t local_bytes() const override { return local_bytes_; }
    void run_part(std::int64_t begin, std::int64_t end, char* local) const override;
    // For who runs them in another way. `run(strip)`, on several threads; `one_by_one`: on this one alone.
    struct Strip {
        std::int64_t begin, end;
        char* local;
    };
    template <class Run>
    void each(bool one_by_one, const Run& run) const {
        const auto some = [&](std::int64_t begin, std::int64_t end) {
            const Scratch local(static_cast<std::size_t>(local_bytes_));
            each_of_part(begin, end, local.as<char>(), run);
        };
        constexpr std::int64_t kPiece = 4 * kStrip;  // several loops run over it: as much work as one has over kChunk
        one_by_one ? some(0, count_) : parallel_for(count_, kPiece, some);
    }
    template <class Run>
    static void each_of_part(std::int64_t begin, std::int64_t end, char* local, const Run& run) {
        for (; begin < end; begin += kStrip) run(Strip{begin, std::min(begin + kStrip, end), local});
    }
    std::int64_t count() const { return count_; }
    std::vector<Place> places() const;  // of operands()
    int stages() const { return static_cast<int>(stages_.size()); }
    const FlatLoop& loop(int stage) const { return stages_[static_cast<std::size_t>(stage)].loop; }
    void run_stage(int stage, const Strip& strip) const;
    void run_stages(const Strip& strip) const;
    // Where the operand's part of the strip lies.
    char* address(int stage, int operand, const Strip& strip) const {
        const Stage& of = stages_[static_cast<std::size_t>(stage)];
        return of.local[operand] < 0 ? of.data[operand] + strip.begin * of.loop.strides[operand]
                                     : strip.local + of.local[operand];
    }
    bool is_local(int stage, int operand) const { return stages_[static_cast<std::size_t>(stage)].local[operand] >= 0; }
    Operands operands() override;  // those that are not local, loop by loop
    std::size_t bytes() const override { return sizeof(*this) + stages_.capacity() * sizeof(Stage); }
    std::int64_t work() const override { return count_ * static_cast<std::int64_t>(stages_.size()); }

private:
    struct Stage {
        FlatLoop loop;
        char* data[kMaxOperands];
        std::int64_t local[kMaxOperands];
    };

    std::int64_t count_, local_bytes_ = 0;
    std::vector<Stage> stages_;
};

}  // namespace clew::kernels
