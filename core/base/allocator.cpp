#include "core/base/allocator.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/pool_use.h"
#include "core/base/system.h"

namespace clew {

MemoryStats memory_stats;

namespace pool_detail {
FreeBlock* free_lists[kPoolLimit / 8 + 1];
}

namespace {

constexpr std::size_t kChunk = 64 * 1024;
constexpr std::size_t block_size(std::size_t slot) { return slot == 0 ? 8 : slot * 8; }

// Chunks of memory at multiples of their size, so that an address tells its chunk. Those that were given back have an
// address and no memory.
class Chunks {
public:
    char* take() {
        if (spare_.empty()) map_more();
        char* chunk = spare_.back();
        spare_.pop_back();
        ++held_;
        return chunk;
    }
    void give_back(char* chunk) {
        system::discard(chunk, kChunk);
        spare_.push_back(chunk);
        --held_;
    }
    std::int64_t bytes() const { return held_ * static_cast<std::int64_t>(kChunk); }
    static char* holding(void* block) {
        return static_cast<char*>(block) - (reinterpret_cast<std::uintptr_t>(block) & (kChunk - 1));
    }

private:
    void map_more() {
        constexpr std::size_t count = 16;
        auto* const first = static_cast<char*>(system::map(count * kChunk, kChunk));
        if (first == nullptr) fail(ErrorKind::Memory, "allocator: out of memory for graph objects");
        for (std::size_t i = count; i-- > 0;) spare_.push_back(first + i * kChunk);
    }
    std::vector<char*> spare_;
    std::int64_t held_ = 0;
};
Chunks chunks;

// Gives back the chunks in which every block is free.
void trim(std::size_t slot) {
    using pool_detail::FreeBlock;
    std::unordered_map<char*, std::size_t> free_in;
    for (FreeBlock* block = pool_detail::free_lists[slot]; block; block = block->next)
        ++free_in[Chunks::holding(block)];
    const auto is_free = [&](char* chunk) { return free_in.find(chunk)->second == kChunk / block_size(slot); };
    FreeBlock** last = &pool_detail::free_lists[slot];
    for (FreeBlock* block = *last; block; block = block->next) {
        if (is_free(Chunks::holding(block))) continue;
        *last = block;
        last = &block->next;
    }
    *last = nullptr;
    for (const auto& [chunk, count] : free_in)
        if (is_free(chunk)) chunks.give_back(chunk);
}

// What was alive of late: in this period, and in the one before.
constexpr int kPeriod = 16;                // events
constexpr std::int64_t kSpare = 16 << 20;  // bytes that are not worth it
struct {
    int events = 0;
    std::int64_t peak = 0, peak_before = 0, left = 0;
} use;

}  // namespace

std::int64_t pool_bytes() { return chunks.bytes(); }

void pool_note_use(std::int64_t freed) {
    use.peak = std::max(use.peak, memory_stats.objects + freed);
    if (++use.events < kPeriod) return;
    const std::int64_t peak = std::max(use.peak, use.peak_before);
    use.peak_before = std::exchange(use.peak, 0);
    use.events = 0;
    // Chunks with an object in them stay; what they are is no reason to look again.
    if (pool_bytes() - use.left <= 2 * peak + kSpare) return;
    pool_trim();
    use.left = std::max<std::int64_t>(0, pool_bytes() - 2 * peak);
}

void* pool_detail::refill(std::size_t slot) {
    const std::size_t size = block_size(slot);
    char* memory = chunks.take();
    // The first block is handed out; the others are chained in address order, so that neighbours are used together.
    FreeBlock* head = nullptr;
    for (std::size_t i = kChunk / size; i-- > 1;) {
        auto* block = reinterpret_cast<FreeBlock*>(memory + i * size);
        block->next = head;
        head = block;
    }
    free_lists[slot] = head;
    return memory;
}

void pool_trim() {
    for (std::size_t slot = 0; slot <= kPoolLimit / 8; ++slot) trim(slot);
}

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
