// For containers that grow large and go soon.
#pragma once
#include <cstddef>
#include <new>

#include "core/base/allocator.h"

namespace clew {

// What glibc's malloc does not keep at hand comes from the cache of blocks (Note [Cached blocks]): it would be given
// back to the system, and its pages touched anew each time.
template <class T>
struct BlockAllocator {
    using value_type = T;
    BlockAllocator() = default;
    template <class Other>
    BlockAllocator(const BlockAllocator<Other>&) {}

    T* allocate(std::size_t count) { return static_cast<T*>(take(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t count) {
        const std::size_t bytes = count * sizeof(T);
        bytes <= kAtHand ? ::operator delete(memory) : block_give(memory, bytes);
    }
    friend bool operator==(const BlockAllocator&, const BlockAllocator&) { return true; }

private:
    static constexpr std::size_t kAtHand = 1032;
    static void* take(std::size_t bytes) { return bytes <= kAtHand ? ::operator new(bytes) : block_take(bytes); }
};

}  // namespace clew
