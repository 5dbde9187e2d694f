// The memory of one or more tensors, with what the graph has to know of it: how often it was written, by whom, who
// saved it.
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/object.h"
#include "core/tensor/layout.h"

namespace clew {

struct Tensor;
struct TensorObject;

// Note [Versions and writes]
// A version counter counts in-place writes as PyTorch does: views, detach() and their base share it. Nearly every
// storage has just one, kept in the storage; `.data` and `from_numpy` of known memory make another (VersionCounter). A
// write through one counter is not seen by those who saved through the other; so while some node holds a storage saved,
// every write to it is also logged with its byte range, and unpacking looks for a later, overlapping write that came
// through another counter.
struct VersionCounter {
    std::uint32_t references = 1;
    std::uint32_t value = 0;
};
inline void retain(VersionCounter* counter) { ++counter->references; }
void release(VersionCounter* counter);

// One in-place write: who did it and where.
struct Write {
    const char* op = nullptr;
    bool by_optimizer = false;
    Site site{};               // the code is owned by the log that keeps the write
    std::uint64_t serial = 0;  // of the same clock that numbers nodes
    const void* counter = nullptr;
    std::int64_t begin = 0, end = 0;  // bytes
    Ref<Layout> layout{};             // which of them, exactly
    std::int64_t offset = 0;          // in elements
    std::int64_t item_size = 1;
};

struct WriteLog {
    Write last{};
    std::vector<Write> since_saved;  // in order; emptied when nothing holds the storage saved any more
    ~WriteLog();
};

struct Storage {
    std::uint32_t references = 1;
    std::uint32_t version = 0;
    char* data = nullptr;
    std::int64_t bytes = 0;
    std::uint32_t saved = 0;        // slots that hold it
    bool foreign = false;           // memory that is not ours: NumPy, DLPack
    bool in_place = false;          // the data follows this head
    bool unbacked = false;          // no memory: has_memory() in core/tensor/tensor.h
    bool watched = false;           // Note [Watched storages]
    bool sparse = false;            // unbacked: its values are in other tensors (src/clew/sparse)
    TensorObject* owner = nullptr;  // weak: the first tensor made on it, while it lives
    WriteLog* log = nullptr;
    void (*free_foreign)(void*) = nullptr;
    union {
        void* foreign_context = nullptr;
        std::uint64_t identity;  // of memory that is ours: 0 until somebody asks (identity_of)
    };

    // Without memory while kernels are skipped, unless it must hold a number (`backed`).
    static Ref<Storage> make(std::int64_t bytes, bool backed = false);
    static Ref<Storage> wrap(void* data, std::int64_t bytes, void (*free)(void*), void* context);
    static Ref<Storage> unbacked_for(std::int64_t bytes, void (*free)(void*), void* context);
};
static_assert(sizeof(Storage) <= 80);
using StorageRef = Ref<Storage>;

// Where a storage without memory begins: an address that no access succeeds at, and none within 2^60 bytes from it.
inline constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 62;

// A number that no other storage has or will have, unlike its address; 0 for foreign memory.
extern std::uint64_t last_identity;
inline std::uint64_t identity_of(Storage& storage) {
    if (storage.foreign) return 0;
    if (storage.identity == 0) storage.identity = ++last_identity;
    return storage.identity;
}

void destroy(Storage* storage);
inline void retain(Storage* storage) { ++storage->references; }
inline void release(Storage* storage) {
    if (--storage->references == 0) destroy(storage);
}

// Note [Watched storages]
// Somebody (core/budget) is told of the life of a storage that is `watched`, and may take its memory away while nothing
// but slots holds it: then it has no data and no bytes until a rule wants to read it.
struct StorageWatch {
    void (*saved)(Storage&);  // the first slot has taken it, or the last one is letting it go
    void (*read)(Storage&);   // what a slot saved is about to be read: afterwards it has data
    void (*died)(Storage&);   // its memory is about to go
};
extern StorageWatch storage_watch;
// Takes the memory of a storage away, and gives it that of another, which nobody else has.
void drop_data(Storage& storage);
void move_data(Storage& to, Storage& from);

// Numbers nodes and writes in one order: what has the larger number came later.
extern std::uint64_t graph_clock;
inline std::uint64_t tick() { return ++graph_clock; }

// Records an in-place write through `counter`; `write` says which elements, the rest is filled in here (the site if it
// is not known).
void note_write(Storage& storage, Write write);
void forget_writes(Storage& storage);

}  // namespace clew
