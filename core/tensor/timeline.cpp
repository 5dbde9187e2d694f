#include "core/tensor/timeline.h"

#include <algorithm>
#include <chrono>

#include "core/base/allocator.h"
#include "core/base/frame.h"
#include "core/tensor/storage.h"

namespace clew {

std::vector<Timeline*> timelines;
bool a_timeline_runs = false;
thread_local constinit RunningNode running_node;

namespace {
std::int64_t now() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}
}  // namespace

Timeline::Timeline() : live_at_start(memory_stats.live), start_ns_(now()) {
    timelines.push_back(this);
    a_timeline_runs = true;
    ++storage_detour;
}

Timeline::~Timeline() {
    stop();
    for (const Site& site : sites)
        if (site.code) runtime.release(site.code);
}

void Timeline::stop() {
    if (std::erase(timelines, this)) --storage_detour;
    a_timeline_runs = !timelines.empty();
}

std::int32_t Timeline::site_index(Site site) {
    if (site.code == nullptr) return -1;
    const auto [found, is_new] =
        index_[site.code].try_emplace(site.instruction, static_cast<std::int32_t>(sites.size()));
    if (is_new) {
        runtime.retain(site.code);
        sites.push_back(site);
    }
    return found->second;
}

void Timeline::taken(const Storage* storage, std::int64_t bytes) {
    Allocation allocation{.bytes = bytes, .taken_step = ++steps_, .taken_ns = now() - start_ns_};
    if (running_node.active) {
        allocation.site = site_index(running_node.site);
        allocation.sequence = running_node.sequence;
        allocation.in_backward = true;
    } else {
        const Site site = runtime.current_site();
        const Handle code = Handle::steal(site.code);
        allocation.site = site_index(site);
        allocation.sequence = graph_clock;
    }
    open_[storage] = allocations.size();
    allocations.push_back(allocation);
}

std::int64_t Timeline::allocation_of(const Storage* storage) const {
    const auto found = open_.find(storage);
    return found == open_.end() ? -1 : static_cast<std::int64_t>(found->second);
}

void Timeline::given(const Storage* storage) {
    ++steps_;
    const auto found = open_.find(storage);
    if (found == open_.end()) {
        releases.push_back(storage->bytes);
        release_steps.push_back(steps_);
        release_ns.push_back(now() - start_ns_);
        released.push_back(storage);
        return;
    }
    Allocation& allocation = allocations[found->second];
    allocation.given_step = steps_;
    allocation.given_ns = now() - start_ns_;
    open_.erase(found);
}

void tell_timelines_taken(const Storage* storage, std::int64_t bytes) {
    for (Timeline* timeline : timelines) timeline->taken(storage, bytes);
}

void tell_timelines_given(const Storage* storage) {
    for (Timeline* timeline : timelines) timeline->given(storage);
}

}  // namespace clew
