// When the pool of small objects gives memory back by itself.
//
// Note [The pool after a burst]
// What a backward, or the death of a large graph, finds alive is about the most that there is between two of them. If
// the pool has held much more than that for some time, it gives back what is free, by itself. Only these rare events
// look: taking and giving objects pays nothing.
#pragma once
#include <cstdint>

namespace clew {

void pool_note_use(std::int64_t freed = 0);  // bytes that the event has just freed
std::int64_t pool_bytes();                   // that it holds

}  // namespace clew
