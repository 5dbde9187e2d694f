// Loops of captured calls, each kept once.
#pragma once
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "core/kernels/capture.h"

namespace clew::kernels {

// Thousands of calls are of a few loops. They refer to these, which stay where they are until the table goes.
class FlatLoops {
public:
    // One that is alike, or a copy of this one.
    const FlatLoop* keep(const FlatLoop& loop);
    std::size_t bytes() const { return sizeof(*this) + loops_.size() * (sizeof(FlatLoop) + 4 * sizeof(void*)); }

private:
    std::deque<FlatLoop> loops_;
    std::unordered_map<std::uint64_t, const FlatLoop*> by_hash_;  // of two with the same hash, the first one
};

// The loop on all of its elements, of many some at a time by several threads.
void run_in_parts(const FlatLoop& loop, char* const* data);

// A call of a loop that lives longer than the call does, over at most kChunk elements.
std::unique_ptr<KernelCall> call_of(const FlatLoop* loop, char* const* data);

}  // namespace clew::kernels
