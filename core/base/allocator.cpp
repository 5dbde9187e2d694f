#include "core/base/allocator.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <vector>

#include "core/base/error.h"

namespace clew {

MemoryStats memory_stats;

namespace pool_detail {
FreeBlock* free_lists[kPoolLimit / 8 + 1];

void* refill(std::size_t slot) {
    constexpr std::size_t chunk = 64 * 1024;
    const std::size_t size = slot * 8 == 0 ? 8 : slot * 8;
    char* memory = static_cast<char*>(std::aligned_alloc(64, chunk));
    if (memory == nullptr) fail(ErrorKind::Memory, "allocator: out of memory for graph objects");
    // The last block is handed out; the others are chained in address order, so that neighbours are used together.
    FreeBlock* head = nullptr;
    for (std::size_t i = chunk / size; i-- > 1;) {
        auto* block = reinterpret_cast<FreeBlock*>(memory + i * size);
        block->next = head;
        head = block;
    }
    free_lists[slot] = head;
    return memory;
}
}  // namespace pool_detail

void* pool_take_large(std::size_t bytes) {
    void* memory = std::malloc(bytes);
    if (memory == nullptr) fail(ErrorKind::Memory, "allocator: out of memory for %zu bytes", bytes);
    memory_stats.objects += static_cast<std::int64_t>(bytes);
    return memory;
}

void pool_give_large(void* memory, std::size_t bytes) {
    memory_stats.objects -= static_cast<std::int64_t>(bytes);
    std::free(memory);
}

namespace {

constexpr std::int64_t kAlwaysCached = 128 << 20;

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

struct Cache {
    std::vector<void*> bins[64 * 8];
};
Cache& cache() {
    static Cache* const blocks = new Cache;  // never destroyed: tensors may outlive static destructors
    return *blocks;
}

}  // namespace

void* block_take(std::size_t bytes) {
    const Bin bin = bin_of(bytes);
    auto& blocks = cache().bins[bin.index];
    if (!blocks.empty()) {
        void* memory = blocks.back();
        blocks.pop_back();
        memory_stats.cached -= static_cast<std::int64_t>(bin.size);
        return memory;
    }
    void* memory = std::aligned_alloc(64, bin.size);
    if (memory == nullptr) {
        empty_cache();
        memory = std::aligned_alloc(64, bin.size);
    }
    if (memory == nullptr) fail(ErrorKind::Memory, "allocator: out of memory for a tensor of %zu bytes", bytes);
    return memory;
}

void block_give(void* memory, std::size_t bytes) {
#ifndef CLEW_SANITIZE
    const Bin bin = bin_of(bytes);
    const auto size = static_cast<std::int64_t>(bin.size);
    // Never hold back more than what is in use, beyond a small constant.
    if (memory_stats.cached + size <= std::max(kAlwaysCached, memory_stats.live)) {
        cache().bins[bin.index].push_back(memory);
        memory_stats.cached += size;
        return;
    }
#else
    (void)bytes;
#endif
    std::free(memory);
}

void empty_cache() {
    for (auto& blocks : cache().bins) {
        for (void* memory : blocks) std::free(memory);
        blocks.clear();
    }
    memory_stats.cached = 0;
}

void reset_peak() { memory_stats.peak = memory_stats.live; }

}  // namespace clew
