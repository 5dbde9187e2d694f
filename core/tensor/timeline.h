// Every byte of tensor data over time, while somebody looks: when it was taken and given back, and for which line.
//
// Note [Attribution of memory]
// Bytes that a forward takes belong to the user's line that runs. Bytes that a backward takes belong to the line that
// made the node whose rule runs: the engine says which, through `running_node`. So the memory of a training step can be
// laid at the forward's lines. Sequence numbers (the clock that numbers nodes) say, besides, in which module that was.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/base/object.h"

namespace clew {

struct Storage;

struct Allocation {
    std::int64_t bytes = 0;
    std::int64_t taken_step = 0, given_step = -1;  // steps count both, so that their order is known; -1: still there
    std::int64_t taken_ns = 0, given_ns = -1;      // since the start
    std::uint64_t sequence = 0;
    std::int32_t site = -1;  // index into Timeline::sites; -1: not known
    bool in_backward = false;
};

class Timeline {
public:
    Timeline();
    ~Timeline();
    Timeline(const Timeline&) = delete;
    Timeline& operator=(const Timeline&) = delete;

    void taken(const Storage* storage, std::int64_t bytes);
    void given(const Storage* storage);
    void stop();  // what happens later is not written down

    std::int64_t live_at_start = 0;
    std::vector<Allocation> allocations;
    std::vector<Site> sites;             // owned, each once
    std::vector<std::int64_t> releases;  // bytes of earlier storages that went: they have no allocation here
    std::vector<std::int64_t> release_steps, release_ns;
    std::vector<const Storage*> released;  // which those were; never followed

    // The number of the allocation that a storage is, if it is alive and was taken since the start, else -1.
    std::int64_t allocation_of(const Storage* storage) const;

private:
    std::int32_t site_index(Site site);

    std::int64_t start_ns_, steps_ = 0;
    std::unordered_map<const Storage*, std::size_t> open_;
    std::unordered_map<void*, std::unordered_map<std::int32_t, std::int32_t>> index_;
};

extern std::vector<Timeline*> timelines;  // those that run: usually none
extern bool a_timeline_runs;              // all that storages ask
[[gnu::cold]] void tell_timelines_taken(const Storage* storage, std::int64_t bytes);
[[gnu::cold]] void tell_timelines_given(const Storage* storage);

// The node whose rule this thread runs; set by the engine while a timeline runs.
struct RunningNode {
    Site site{};  // borrowed
    std::uint64_t sequence = 0;
    bool active = false;
};
extern thread_local constinit RunningNode running_node __attribute__((tls_model("initial-exec")));

}  // namespace clew
