// What a node saved for its backward: one class, with one function that unpacks, checks and raises.
#pragma once
#include <cstdint>

#include "core/autograd/node.h"
#include "core/autograd/tangent.h"
#include "core/base/allocator.h"
#include "core/base/error.h"

namespace clew {

enum class SlotState : std::uint8_t { Empty, Held, Packed, Freed };
// What became of the storage of a slot that was freed: back to the allocator with it; let go by the last slot that had
// it, but something else has it; or other slots had it still. Foreign memory is not the allocator's.
enum class Fate : std::uint8_t { Released, Dropped, Elsewhere, Foreign };
enum class SlotSource : std::uint8_t { Input, Output, Other };

// What few slots need: a packed value, another version counter, an edge that is neither an input's nor an output's.
struct SlotRest : Pooled {
    StorageRef storage;
    Ref<VersionCounter> counter;
    Handle packed, unpack;  // saved_tensors_hooks
    NodeRef edge;
    std::uint32_t edge_index = 0;
    bool leaf_requires_grad = false;
    bool wrapped_number = false;
    Tangents tangents;
};

// Note [Saved slots]
// A slot holds storage, geometry, version and (through the node's own edges) history; never a Tensor object. So a saved
// output makes no cycle, and the user's object dies when the user lets go of it. Unpacking gives that object while it
// lives, else a new one on the same storage. "Freed" is a state: geometry stays, so that the ledger can still say what
// was here, and what became of it: how many bytes the storage had, its fate, and, if somebody else had it too, its
// identity (else 0), by which slots that shared it are told from others.
struct SavedSlot {
    union {
        Storage* storage;
        SlotRest* rest;            // if has_rest
        std::int64_t freed_bytes;  // if Freed
    };
    Layout* layout;
    union {
        std::int64_t offset;
        std::uint64_t freed_identity;  // if Freed
    };
    std::uint32_t version;
    DType dtype : 4;
    bool has_rest : 1;
    bool wrapped_number : 1;
    Fate fate : 2;  // if Freed
    SlotState state;
    SlotSource source;
    std::uint8_t index;  // of the input or output

    const Storage* held_storage() const {
        if (state != SlotState::Held) return nullptr;
        return has_rest ? rest->storage.get() : storage;
    }
};
static_assert(sizeof(SavedSlot) == kSlotBytes);

std::uint32_t version_of_alias(const TensorObject& tensor);
inline std::uint32_t version_of(const TensorObject& tensor) {
    return tensor.has(TensorObject::kAliasCounter) ? version_of_alias(tensor) : tensor.storage->version;
}
const void* counter_of(const TensorObject& tensor);

void save_input(Node& node, SavedSlot& slot, const Tensor& value, int input);
void save_output(Node& node, SavedSlot& slot, const Tensor& value, int output);
// save_for_backward: an input or an output if it is one, else with an edge of its own.
void save_any(Node& node, SavedSlot& slot, const Tensor& value, std::span<const Tensor> inputs,
              std::span<const Tensor> outputs);

Tensor unpack(Node& node, SavedSlot& slot);
// The same of a packed slot, for a rule, which may read it more than once. A hook of saved_tensors_hooks may give a
// value only once, or run a block of the forward for it (checkpoint).
Tensor unpack_once(BackwardCall& call, SavedSlot& slot);
// What the slot saved has the tangents of `value`.
void keep_tangents(SavedSlot& slot, const Tensor& value);

// While CopySlices runs the node that it wraps: what that node wrote has its history in CopySlices, and not in the node
// itself, which only CopySlices runs.
struct Written {
    const Node& wrapped;
    Edge edge;  // to a view of what CopySlices gives
};
extern thread_local const Written* written;
const char* slot_name(Node& node, const SavedSlot& slot);
inline std::uint32_t current_version(const SavedSlot& slot) {
    if (slot.has_rest && slot.rest->counter) return slot.rest->counter->value;
    const Storage* storage = slot.held_storage();
    return storage ? storage->version : slot.version;
}

// Whether what it holds was written through another version counter (.data) after the node was made.
bool written_through_alias(const Node& node, const SavedSlot& slot);

// Drops what these slots hold; false: nothing.
bool free_slots(std::span<SavedSlot> slots);
void set_released(Node& node, const Ref<Release>& record);
// Drops what the node saved, on behalf of the call that `record` describes.
void release_saved(Node& node, const Ref<Release>& record);
// A node whose slots hold nothing but a layout counts as one that `record` has released.
void mark_released(Node& node, const Ref<Release>& record);
void drop_slot(SavedSlot& slot);  // the node dies
// What a slot is to hold, where no tensor is at hand.
struct SavedValue {
    Storage& storage;
    Layout& layout;
    std::int64_t offset;
    DType dtype;
    bool number;
    VersionCounter* counter;  // null: the storage's
    explicit SavedValue(const Tensor& value);
    SavedValue(Storage& storage, Layout& layout, std::int64_t offset, DType dtype, VersionCounter* counter)
        : storage(storage), layout(layout), offset(offset), dtype(dtype), number(false), counter(counter) {}
    std::uint32_t version() const { return counter ? counter->value : storage.version; }
};
// An empty slot holds this value, which counts as saved at `version`.
void fill_slot(SavedSlot& slot, const SavedValue& value, SlotSource source, std::uint8_t index, std::uint32_t version);
// A slot that held a value, or was freed, holds this one from now on; `version` is the one that it counts as saved at.
void refill(SavedSlot& slot, const SavedValue& value, std::uint32_t version);
void undo_release(Node& node);  // all its slots are filled again
[[noreturn]] void throw_freed(Node& node);
namespace saved_detail {
void check_writes(Node& node, const SavedSlot& slot);  // throws ModifiedInPlace if one made it stale
Tensor with_history(Tensor value, Edge edge);          // of a fresh tensor
}  // namespace saved_detail

struct GraphFreed : Error {
    GraphFreed(std::string text, NodeRef node) : Error(ErrorKind::Runtime, std::move(text)), node(std::move(node)) {}
    NodeRef node;
};
struct ModifiedInPlace : Error {
    ModifiedInPlace(std::string text, NodeRef node, const char* saved_name, const Write* write);
    NodeRef node;
    const char* saved_name;  // which of the node's tensors: "self", "result" ...
    const char* written_op = nullptr;
    Handle written_code;
    std::int32_t written_instruction = -1;
};

// Set by bind/: how hooks of saved_tensors_hooks are called.
struct SavedHooks {
    bool (*active)();  // false: nothing on the stack after all
    void (*pack)(const Tensor&, Handle& packed, Handle& unpack);
    Tensor (*unpack)(const Handle& unpack, const Handle& packed);
    std::string (*site_text)(void* code, std::int32_t instruction);  // "train.py:5 in main"
    void (*before_write)(const Tensor&);                             // under kWatchWrites
};
extern SavedHooks saved_hooks;

}  // namespace clew
