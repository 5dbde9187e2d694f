// Memory that is taken in small pieces and given back all at once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "core/base/allocator.h"

namespace clew {

// Note [Slabs]
// Touching fresh pages costs more than what is written there: a microsecond for each 4 KiB. So what grows with the
// length of a recording comes from a few blocks, each larger than the one before, up to a huge page, which is touched
// at once; and blocks that others gave back are used again (Note [Cached blocks]; malloc does that with small ones).
// Writing to lines that are not in the cache holds up all that is written after them, so the lines that come next are
// asked for before.
class Slabs {
public:
    Slabs() = default;
    Slabs(const Slabs&) = delete;
    Slabs& operator=(const Slabs&) = delete;
    ~Slabs() {
        for (const auto& [memory, bytes] : slabs_)
            bytes < kCached ? ::operator delete(memory) : block_give(memory, bytes);
    }

    // Aligned for any type.
    void* take(std::size_t bytes) {
        bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
        if (bytes > left_) add(bytes);
        left_ -= bytes;
        void* const taken = std::exchange(next_, next_ + bytes);
        fetch_ahead();
        return taken;
    }
    // The next pieces come from one block, as long as there are no more than so many bytes of them.
    void reserve(std::size_t bytes) {
        if (bytes > left_) add(bytes);
    }
    std::int64_t bytes() const {
        std::int64_t sum = 0;
        for (const auto& [memory, bytes] : slabs_) sum += static_cast<std::int64_t>(bytes);
        return sum;
    }

private:
    static constexpr std::size_t kAlignment = 16, kFirst = 4 << 10, kLast = 2 << 20, kCached = 64 << 10;
    static constexpr std::ptrdiff_t kLine = 64, kAhead = 4096;

    void fetch_ahead() {
        const std::ptrdiff_t most = std::min(kAhead, static_cast<std::ptrdiff_t>(left_));
        if (fetched_ < next_) fetched_ = next_;
        for (; fetched_ < next_ + most; fetched_ += kLine) __builtin_prefetch(fetched_, 1);
    }

    void add(std::size_t least) {
        std::size_t size = kFirst;
        for (std::size_t i = 0; i < slabs_.size() && size < kLast; ++i) size *= 4;
        size = std::max(std::min(size, kLast), least);
        if (size > kLast / 4) size = (size + kLast - 1) / kLast * kLast;
        slabs_.emplace_back(nullptr, size);
        slabs_.back().first = size < kCached ? ::operator new(size) : block_take(size);
        next_ = fetched_ = static_cast<char*>(slabs_.back().first);
        left_ = size;
    }

    std::vector<std::pair<void*, std::size_t>> slabs_;
    char *next_ = nullptr, *fetched_ = nullptr;  // from where on nothing was asked for
    std::size_t left_ = 0;
};

}  // namespace clew
