// Note [Cached blocks]
// Fresh pages cost more than the arithmetic that fills them, so a freed block waits for the next request of about its
// size. What waits must not raise the peak of the process: what is in use and what waits together stay below what was
// in use at once a short while ago. Where a new block would not fit in there, the blocks that have waited longest are
// given back first; what a loop uses in each round stays, what it used once goes.
//
// Large blocks are mapped by themselves, at a multiple of a huge page, and ask for huge pages: touching forty megabytes
// for the first time takes 25 ms in small pages and 1.4 ms in huge ones.
#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/base/allocator.h"
#include "core/base/error.h"
#include "core/base/system.h"

namespace clew {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
#ifdef CLEW_SANITIZE
constexpr std::size_t kMapped = SIZE_MAX;  // a sanitizer watches what malloc gives
#else
constexpr std::size_t kMapped = kHugePage;  // bytes from which on a block is mapped by itself
#endif
constexpr std::int64_t kSlack = 16 << 20;  // below this nothing is given back

// Eight bins for each power of two: at most an eighth of a block is wasted.
struct Bin {
    std::size_t size;
    int index;
};
Bin bin_of(std::size_t bytes) {
    bytes = std::max<std::size_t>(bytes, 64);
    const int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log+1)
    const std::size_t step = std::size_t{1} << std::max(log - 3, 6);
    const std::size_t size = (bytes + step - 1) / step * step;
    return {size, log * 8 + static_cast<int>((size - 1) >> std::max(log - 3, 0) & 7)};
}

// `size` is a bin's. A bin from kMapped on is a multiple of 128 KiB, and so of a page.
void* obtain(std::size_t size) {
    if (size < kMapped) return system::heap_take(size);
    void* const memory = system::map(size, kHugePage);
    if (memory != nullptr) system::prefer_huge_pages(memory, size);
    return memory;
}

void give_back(void* memory, std::size_t size) {
    if (size < kMapped)
        system::heap_give(memory);
    else
        system::unmap(memory, size);
}

// At the start of a block that waits. Both lists run from the newest to the oldest.
struct Waiting {
    Waiting *newer, *older;                // of all
    Waiting *newer_in_bin, *older_in_bin;  // of the same size
    Bin bin;
};
static_assert(sizeof(Waiting) <= 64);

class Cache {
public:
    void* take(const Bin& bin) {
        Waiting* block = bins_[bin.index];
        if (block == nullptr) return nullptr;
        remove(block);
        return block;
    }

    void put(void* memory, const Bin& bin) {
        Waiting*& newest = bins_[bin.index];
        auto* block = static_cast<Waiting*>(memory);
        *block = {nullptr, newest_, nullptr, newest, bin};
        if (newest) newest->newer_in_bin = block;
        newest = block;
        (newest_ ? newest_->newer : oldest_) = block;
        newest_ = block;
        memory_stats.cached += static_cast<std::int64_t>(bin.size);
    }

    void give_oldest_back() {
        Waiting* block = oldest_;
        remove(block);
        give_back(block, block->bin.size);
    }

private:
    void remove(Waiting* block) {
        (block->newer ? block->newer->older : newest_) = block->older;
        (block->older ? block->older->newer : oldest_) = block->newer;
        (block->newer_in_bin ? block->newer_in_bin->older_in_bin : bins_[block->bin.index]) = block->older_in_bin;
        if (block->older_in_bin) block->older_in_bin->newer_in_bin = block->newer_in_bin;
        memory_stats.cached -= static_cast<std::int64_t>(block->bin.size);
    }

    Waiting* bins_[64 * 8]{};
    Waiting *newest_ = nullptr, *oldest_ = nullptr;
};
Cache cache;

// The most that was in use at once, over this stretch of requests and the one before.
class RecentPeak {
public:
    void see(std::int64_t live) {
        if (live > now_) now_ = live;
        if (--left_ > 0) return;
        left_ = kStretch;
        before_ = now_;
        now_ = live;
    }
    std::int64_t get() const { return std::max(now_, before_); }

private:
    static constexpr int kStretch = 8192;
    std::int64_t now_ = 0, before_ = 0;
    int left_ = kStretch;
};
RecentPeak recent_peak;

// Bytes in blocks that were handed out, as rounded, like what waits: a loop whose blocks are all in use at once for a
// moment, and then half of them wait, must fit into its own peak to the byte, or it maps new pages in each round.
std::int64_t in_use = 0;

// Gives back what waits until another `wanted` bytes fit in.
void make_room(std::int64_t wanted) {
    const std::int64_t allowed = std::max(recent_peak.get(), kSlack) - in_use - wanted;
    while (memory_stats.cached > 0 && memory_stats.cached > allowed) cache.give_oldest_back();
}

}  // namespace

void* block_take(std::size_t bytes) {
    const Bin bin = bin_of(bytes);
    const auto size = static_cast<std::int64_t>(bin.size);
    recent_peak.see(in_use + size);
    void* memory = cache.take(bin);
    if (memory == nullptr) {
        make_room(size);
        memory = obtain(bin.size);
    }
    if (memory == nullptr) {
        empty_cache();
        memory = obtain(bin.size);
    }
    if (memory == nullptr) fail(ErrorKind::Memory, "allocator: out of memory for a tensor of %zu bytes", bytes);
    in_use += size;
    return memory;
}

void block_give(void* memory, std::size_t bytes) {
    const Bin bin = bin_of(bytes);
    in_use -= static_cast<std::int64_t>(bin.size);
#ifdef CLEW_SANITIZE
    give_back(memory, bin.size);
#else
    cache.put(memory, bin);
    make_room(0);
#endif
}

void empty_cache() {
    while (memory_stats.cached > 0) cache.give_oldest_back();
    pool_trim();
}

}  // namespace clew
