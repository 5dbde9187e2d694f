// Memory: a pool for the small things a graph is made of, and a cache of blocks for tensor data.
//
// Both run under the GIL, so nothing here is atomic. Under sanitizers both go straight to malloc, so that every error
// shows.
#pragma once
#include <cstddef>
#include <cstdint>

namespace clew {

// What the allocator itself has counted, in bytes of tensor data as requested (not as rounded).
struct MemoryStats {
    std::int64_t live = 0;
    std::int64_t peak = 0;
    std::int64_t cached = 0;  // held back for reuse, as rounded
    std::int64_t allocations = 0;
    std::int64_t frees = 0;
    std::int64_t objects = 0;  // bytes of what is alive in the pool: nodes, layouts, records, tensor heads
};
extern MemoryStats memory_stats;

inline constexpr std::size_t kPoolLimit = 512;

namespace pool_detail {
struct FreeBlock {
    FreeBlock* next;
};
extern FreeBlock* free_lists[kPoolLimit / 8 + 1];
void* refill(std::size_t slot);
}  // namespace pool_detail

void* pool_take_large(std::size_t bytes);
void pool_give_large(void* memory, std::size_t bytes);

// Objects of up to kPoolLimit bytes come from free lists, one for each multiple of 8.
inline void* pool_take(std::size_t bytes) {
#ifndef CLEW_SANITIZE
    if (bytes <= kPoolLimit) {
        const std::size_t slot = (bytes + 7) / 8;
        memory_stats.objects += static_cast<std::int64_t>(slot * 8);
        auto*& head = pool_detail::free_lists[slot];
        if (head == nullptr) return pool_detail::refill(slot);
        auto* block = head;
        head = block->next;
        return block;
    }
#endif
    return pool_take_large(bytes);
}

inline void pool_give(void* memory, std::size_t bytes) {
#ifndef CLEW_SANITIZE
    if (bytes <= kPoolLimit) {
        const std::size_t slot = (bytes + 7) / 8;
        memory_stats.objects -= static_cast<std::int64_t>(slot * 8);
        auto* block = static_cast<pool_detail::FreeBlock*>(memory);
        block->next = pool_detail::free_lists[slot];
        pool_detail::free_lists[slot] = block;
        return;
    }
#endif
    pool_give_large(memory, bytes);
}

// A class whose objects come from these lists.
struct Pooled {
    static void* operator new(std::size_t bytes) { return pool_take(bytes); }
    static void operator delete(void* memory, std::size_t bytes) { pool_give(memory, bytes); }
};

void pool_trim();  // gives memory back in which no object is left

// Blocks for tensor data, aligned to 64 bytes, kept for the next request of about the same size (Note [Cached blocks]).
void* block_take(std::size_t bytes);
void block_give(void* memory, std::size_t bytes);
void empty_cache();
void reset_peak();

inline void count_data(std::int64_t bytes) {
    memory_stats.live += bytes;
    if (memory_stats.live > memory_stats.peak) memory_stats.peak = memory_stats.live;
    ++memory_stats.allocations;
}
inline void uncount_data(std::int64_t bytes) {
    memory_stats.live -= bytes;
    ++memory_stats.frees;
}

}  // namespace clew
