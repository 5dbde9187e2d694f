// What is written down about the graph's life, always: who released it, where history was lost, how much there is.
#pragma once
#include <cstdint>
#include <vector>

#include "core/base/allocator.h"
#include "core/base/object.h"

namespace clew {

// The call that dropped what nodes had saved. One record for each backward, shared by all the nodes that it released.
struct Release {
    std::uint32_t references = 1;
    const char* kind;  // "backward" or "grad"
    Site site;         // code owned
    std::uint64_t serial;
    std::uint64_t youngest = 0;  // the sequence of its youngest root: no node that it ran is younger

    static Ref<Release> make(const char* kind, Site owned = runtime.current_site());
};
void destroy(Release* record);
inline void retain(Release* record) { ++record->references; }
inline void release(Release* record) {
    if (--record->references == 0) destroy(record);
}

// Why a tensor has no history although its data came from one that had: the first such place. dispatch() passes it on.
struct HistoryBreak {
    std::uint32_t references = 1;
    std::uint32_t serial = 0;  // those made later have larger ones
    const char* cause;         // "detach", "no_grad", "cast to int64" ...: static text
    Site site;
    bool may_be_data = false;  // it came from an array: perhaps nothing was lost, as nobody ever had a history

    static Ref<HistoryBreak> make(const char* cause);
    static std::uint32_t last_serial();
    // Of a gradient with create_graph that depends on nothing that requires grad, as that of a linear function.
    static Ref<HistoryBreak> of_constant_gradient();
    bool is_of_constant_gradient() const;
    static const Ref<HistoryBreak>&
    by_plain_backward();  // the gradient in .grad of a backward without create_graph: no site
};

// Note [Accounting of saved bytes]
// Bytes are those of storages as requested of the allocator, and a storage counts once however many slots hold it: it
// is saved when the first slot takes it, and let go when the last one does, by a backward or because its node died. So
// what was saved is what was let go by either and what is held still. Of what was let go a part goes back to the
// allocator there and then; the rest is dropped only: a tensor has the memory too. Memory of other libraries, of which
// the allocator knows nothing, is not in the account.
struct LetGo {
    std::int64_t bytes = 0;
    std::int64_t released = 0;  // of these, given back to the allocator
};

struct GraphCounters {
    std::int64_t nodes_built = 0;
    std::int64_t nodes_alive = 0;
    std::int64_t nodes_freed_by_backward = 0;  // what they saved was dropped by a backward
    std::int64_t nodes_freed_by_scope = 0;     // they died holding what they saved
    std::int64_t bytes_saved = 0;
    LetGo by_backward;
    LetGo by_scope;
    std::int64_t slots_alive = 0;
};
extern GraphCounters graph_counters;

// Where the time of dispatch() and of the engine goes, while kTiming is set.
struct Timings {
    std::int64_t forward_kernels = 0;  // ns
    std::int64_t recording = 0;
    std::int64_t backward = 0;
    std::int64_t operations = 0;
};
extern Timings timings;
std::int64_t now_ns();

// The time of one operation that was recorded, or of its derivative, by the number of its node.
struct OperationTime {
    std::uint64_t sequence = 0;
    std::int64_t ns = 0;
    bool in_backward = false;
};
extern std::vector<OperationTime>* operation_times;  // where they are written while somebody looks, else null
void note_operation_time(const OperationTime& time);

}  // namespace clew
