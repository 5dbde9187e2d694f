#include "core/autograd/ledger.h"

#include <chrono>

#include "core/tensor/storage.h"
#include "core/tensor/tensor.h"

namespace clew {

GraphCounters graph_counters;
Timings timings;
std::vector<OperationTime>* operation_times = nullptr;

void note_operation_time(const OperationTime& time) {
    constexpr std::size_t kMost = 4'000'000;  // a program that calls no backward for long is not listened to further
    if (operation_times->size() < kMost) operation_times->push_back(time);
}

Ref<Release> Release::make(const char* kind, Site owned) {
    auto* record = new (pool_take(sizeof(Release))) Release{.kind = kind, .site = owned, .serial = tick()};
    return Ref<Release>::steal(record);
}

void destroy(Release* record) {
    void* code = record->site.code;
    pool_give(record, sizeof(Release));
    if (code) runtime.release(code);
}

static std::uint32_t history_breaks = 0;

Ref<HistoryBreak> HistoryBreak::make(const char* cause) {
    return Ref<HistoryBreak>::steal(new (pool_take(sizeof(HistoryBreak))) HistoryBreak{
        .serial = ++history_breaks, .cause = cause, .site = runtime.current_site()});
}

std::uint32_t HistoryBreak::last_serial() { return history_breaks; }

static constexpr const char* kConstantGradient = "constant gradient";

Ref<HistoryBreak> HistoryBreak::of_constant_gradient() { return make(kConstantGradient); }

bool HistoryBreak::is_of_constant_gradient() const { return cause == kConstantGradient; }

const Ref<HistoryBreak>& HistoryBreak::by_plain_backward() {
    static const auto* const record = new Ref<HistoryBreak>(Ref<HistoryBreak>::steal(
        new (pool_take(sizeof(HistoryBreak))) HistoryBreak{.cause = "backward without create_graph", .site = {}}));
    return *record;
}

void retain(HistoryBreak* record) { ++record->references; }
void release(HistoryBreak* record) {
    if (--record->references) return;
    void* code = record->site.code;
    pool_give(record, sizeof(HistoryBreak));
    if (code) runtime.release(code);
}

std::int64_t now_ns() {
    using namespace std::chrono;
    return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

}  // namespace clew
