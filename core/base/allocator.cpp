#include "core/base/allocator.h"

#include <cstdlib>

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

void reset_peak() { memory_stats.peak = memory_stats.live; }

}  // namespace clew
