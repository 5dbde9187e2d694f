#include "core/autograd/ledger.h"

#include <chrono>

#include "core/tensor/storage.h"
#include "core/tensor/tensor.h"

namespace clew {

GraphCounters graph_counters;
Timings timings;

Ref<Release> Release::make(const char* kind) {
    auto* record =
        new (pool_take(sizeof(Release))) Release{.kind = kind, .site = runtime.current_site(), .serial = tick()};
    return Ref<Release>::steal(record);
}

void destroy(Release* record) {
    void* code = record->site.code;
    pool_give(record, sizeof(Release));
    if (code) runtime.release(code);
}

Ref<Lost> Lost::make(const char* cause) {
    return Ref<Lost>::steal(new (pool_take(sizeof(Lost))) Lost{.cause = cause, .site = runtime.current_site()});
}

const Ref<Lost>& Lost::by_plain_backward() {
    static const auto* const record = new Ref<Lost>(
        Ref<Lost>::steal(new (pool_take(sizeof(Lost))) Lost{.cause = "backward without create_graph", .site = {}}));
    return *record;
}

void retain(Lost* record) { ++record->references; }
void release(Lost* record) {
    if (--record->references) return;
    void* code = record->site.code;
    pool_give(record, sizeof(Lost));
    if (code) runtime.release(code);
}

std::int64_t now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace clew
