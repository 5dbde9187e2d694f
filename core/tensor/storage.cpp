#include "core/tensor/storage.h"

#include <utility>

#include "core/base/allocator.h"
#include "core/base/frame.h"
#include "core/tensor/timeline.h"

namespace clew {

std::uint64_t graph_clock = 0;
std::uint64_t last_identity = 0;
StorageWatch storage_watch;

namespace {
constexpr std::int64_t kInPlaceLimit = static_cast<std::int64_t>(kPoolLimit - sizeof(Storage));
std::int64_t unbacked_storages = 0;

[[gnu::always_inline]] inline Storage* take(std::int64_t bytes) {
    Storage* storage;
    if (bytes <= kInPlaceLimit) {
        storage = new (pool_take(sizeof(Storage) + static_cast<std::size_t>(bytes))) Storage;
        storage->data = reinterpret_cast<char*>(storage + 1);
        storage->in_place = true;
    } else {
        void* block = block_take(static_cast<std::size_t>(bytes));
        storage = new (pool_take(sizeof(Storage))) Storage;
        storage->data = static_cast<char*>(block);
    }
    storage->bytes = bytes;
    count_data(bytes);
    return storage;
}

[[gnu::noinline, gnu::cold]] StorageRef take_on_detour(std::int64_t bytes, bool backed) {
    if (skips_kernels() && !backed && !storages_backed) return Storage::unbacked_for(bytes, nullptr, nullptr);
    if (backed && kernel_mode == KernelMode::Capture) note_uncaptured();  // a number, which no kernel writes
    Storage* const storage = take(bytes);
    if (a_timeline_runs) tell_timelines_taken(storage, bytes);
    return StorageRef::steal(storage);
}
}  // namespace

[[gnu::hot]] void release(VersionCounter* counter) {
    if (--counter->references == 0) delete counter;
}

[[gnu::hot]] StorageRef Storage::make(std::int64_t bytes, bool backed) {
    if (storage_detour) [[unlikely]]
        return take_on_detour(bytes, backed);
    return StorageRef::steal(take(bytes));
}

StorageRef Storage::wrap(void* data, std::int64_t bytes, void (*free)(void*), void* context) {
    auto* storage = new (pool_take(sizeof(Storage))) Storage;
    storage->data = static_cast<char*>(data);
    storage->bytes = bytes;
    storage->foreign = true;
    storage->free_foreign = free;
    storage->foreign_context = context;
    return StorageRef::steal(storage);
}

StorageRef Storage::unbacked_for(std::int64_t bytes, void (*free)(void*), void* context) {
    StorageRef storage = wrap(reinterpret_cast<void*>(kNowhere), bytes, free, context);
    storage->unbacked = true;
    if (unbacked_storages++ == 0) process_mode |= kUnbackedLives;
    return storage;
}

[[gnu::hot]] void destroy(Storage* storage) {
    if (storage->watched) [[unlikely]]
        storage_watch.died(*storage);
    delete storage->log;
    if (storage->foreign) {
        auto* free = storage->free_foreign;
        void* context = storage->foreign_context;
        if (storage->unbacked && --unbacked_storages == 0) process_mode &= ~kUnbackedLives;
        pool_give(storage, sizeof(Storage));
        if (free) free(context);
        return;
    }
    uncount_data(storage->bytes);
    if (a_timeline_runs) [[unlikely]]
        tell_timelines_given(storage);
    if (storage->in_place) {
        pool_give(storage, sizeof(Storage) + static_cast<std::size_t>(storage->bytes));
    } else {
        if (storage->data) block_give(storage->data, static_cast<std::size_t>(storage->bytes));
        pool_give(storage, sizeof(Storage));
    }
}

void drop_data(Storage& storage) {
    uncount_data(storage.bytes);
    if (a_timeline_runs) tell_timelines_given(&storage);
    block_give(storage.data, static_cast<std::size_t>(storage.bytes));
    storage.data = nullptr;
    storage.bytes = 0;
}

void move_data(Storage& to, Storage& from) {
    if (a_timeline_runs) tell_timelines_given(&from), tell_timelines_taken(&to, from.bytes);
    to.data = std::exchange(from.data, nullptr);
    to.bytes = std::exchange(from.bytes, 0);
}

namespace {
void drop(Write& write) {
    if (write.site.code) runtime.release(write.site.code);
    write.site.code = nullptr;
}
}  // namespace

WriteLog::~WriteLog() {
    drop(last);
    for (auto& write : since_saved) drop(write);
}

void note_write(Storage& storage, Write write) {
    if (storage.log == nullptr) storage.log = new WriteLog;
    WriteLog& log = *storage.log;
    drop(log.last);
    if (write.site.code == nullptr) write.site = runtime.current_site();
    write.serial = tick();
    log.last = std::move(write);
    if (storage.saved > 0) {
        if (log.last.site.code) runtime.retain(log.last.site.code);
        log.since_saved.push_back(log.last);
    }
}

void forget_writes(Storage& storage) {
    if (storage.log == nullptr) return;
    for (auto& write : storage.log->since_saved) drop(write);
    storage.log->since_saved.clear();
}

}  // namespace clew
