#include "core/autograd/saved.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"

namespace clew {

SavedHooks saved_hooks;

std::uint32_t version_of_alias(const TensorObject& tensor) { return tensor.extras->counter->value; }

const void* counter_of(const TensorObject& tensor) {
    if (tensor.has(TensorObject::kAliasCounter)) return tensor.extras->counter.get();
    return tensor.storage.get();
}

SavedValue::SavedValue(const Tensor& value)
    : storage(*value->storage),
      layout(*value->layout),
      offset(value->offset),
      dtype(value->dtype),
      number(value->has(TensorObject::kWrappedNumber)),
      counter(value->has(TensorObject::kAliasCounter) ? value->extras->counter.get() : nullptr) {}

namespace {

SlotRest& rest_of(SavedSlot& slot) {
    if (slot.has_rest) return *slot.rest;
    auto* rest = new SlotRest;
    if (slot.storage) rest->storage = StorageRef::steal(slot.storage);
    slot.rest = rest;
    slot.has_rest = true;
    return *rest;
}

[[gnu::always_inline]] inline void hold(SavedSlot& slot, const SavedValue& value, SlotSource source,
                                        std::uint8_t index) {
    Storage& storage = value.storage;
    retain(&storage);
    retain(&value.layout);
    // Written whole: bits that are set one by one wait for the byte before.
    slot = SavedSlot{.storage = &storage,
                     .layout = &value.layout,
                     .offset = value.offset,
                     .version = value.version(),
                     .dtype = value.dtype,
                     .has_rest = false,
                     .wrapped_number = value.number,
                     .fate = Fate::Released,
                     .state = SlotState::Held,
                     .source = source,
                     .index = index};
    if (storage.saved++ == 0 && !storage.foreign) {
        graph_counters.bytes_saved += storage.bytes;
        if (storage.watched) [[unlikely]]
            storage_watch.saved(storage);
    }
    ++graph_counters.slots_alive;
    if (value.counter) rest_of(slot).counter = Ref<VersionCounter>(value.counter);
}

// One slot fewer holds the storage. Note [Accounting of saved bytes]
inline void count_out(Storage& storage, LetGo& account) {
    --graph_counters.slots_alive;
    if (--storage.saved != 0) return;
    if (storage.log) [[unlikely]]
        forget_writes(storage);
    if (storage.foreign) return;
    if (storage.watched) [[unlikely]]
        storage_watch.saved(storage);
    account.bytes += storage.bytes;
    if (storage.references == 1) account.released += storage.bytes;
}

[[gnu::always_inline]] inline void unhold(SavedSlot& slot, LetGo& account) {
    Storage* storage = slot.has_rest ? slot.rest->storage.get() : slot.storage;
    count_out(*storage, account);
    if (slot.has_rest) {
        delete slot.rest;
        slot.has_rest = false;
    } else {
        release(storage);
    }
    slot.storage = nullptr;
}

// saved_tensors_hooks: the packed value is kept in place of the storage.
void pack(Node& node, SavedSlot& slot, const Tensor& value) {
    Handle packed, unpack_hook;
    const bool is_output = slot.source == SlotSource::Output;
    const Tensor shown =
        is_output ? saved_detail::with_history(alias(value, value->layout, value->offset), {&node, slot.index}) : value;
    saved_hooks.pack(shown, packed, unpack_hook);
    // A hook may hand an output back as it came. Through its history the packed value would keep this node alive for
    // ever.
    if (is_output && packed.get() == shown.get())
        packed = Handle::steal(alias(value, value->layout, value->offset).detach());
    const auto source = slot.source;
    SlotRest& rest = rest_of(slot);
    if (--rest.storage->saved == 0 && !rest.storage->foreign) {
        graph_counters.bytes_saved -= rest.storage->bytes;
        if (rest.storage->watched) storage_watch.saved(*rest.storage);
    }
    rest.storage = nullptr;
    rest.packed = std::move(packed);
    rest.unpack = std::move(unpack_hook);
    rest.wrapped_number = slot.wrapped_number;
    slot.source = source;
    slot.state = SlotState::Packed;
    mark_python(node);
}

void save(Node& node, SavedSlot& slot, const Tensor& value, SlotSource source, int index) {
    if (value->has(TensorObject::kInference))
        fail(ErrorKind::Runtime,
             "%s: Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode "
             "in computation "
             "tracked by autograd: make a clone() of it to get a normal tensor, or use no_grad() instead of "
             "inference_mode()",
             node.kind->name);
    hold(slot, SavedValue(value), source, static_cast<std::uint8_t>(index));
    if (mode(kSavedHooks | kForwardMode)) [[unlikely]] {
        if (mode(kForwardMode)) keep_tangents(slot, value);
        if (mode(kSavedHooks) && saved_hooks.active()) pack(node, slot, value);
    }
}

}  // namespace

void keep_tangents(SavedSlot& slot, const Tensor& value) {
    Tangents kept;
    tangent_calls.keep(value, kept);
    if (!kept.empty()) rest_of(slot).tangents = std::move(kept);
}

[[gnu::hot]] void save_input(Node& node, SavedSlot& slot, const Tensor& value, int input) {
    if (!value) return;
    save(node, slot, value, SlotSource::Input, input);
}

void save_output(Node& node, SavedSlot& slot, const Tensor& value, int output) {
    if (!value) return;
    save(node, slot, value, SlotSource::Output, output);
}

void save_any(Node& node, SavedSlot& slot, const Tensor& value, std::span<const Tensor> inputs,
              std::span<const Tensor> outputs) {
    if (!value) return;
    for (std::size_t i = 0; i < outputs.size() && i < 256; ++i)
        if (outputs[i].same(value)) return save(node, slot, value, SlotSource::Output, static_cast<int>(i));
    for (std::size_t i = 0; i < inputs.size() && i < 256; ++i)
        if (inputs[i].same(value)) return save(node, slot, value, SlotSource::Input, static_cast<int>(i));
    const Edge edge = gradient_edge(value);
    save(node, slot, value, SlotSource::Other, 0);
    if (!edge) return;
    SlotRest& rest = rest_of(slot);
    rest.edge = NodeRef(edge.node);
    rest.edge_index = edge.index;
    if (edge.node->has(Node::kPython)) mark_python(node);
}

[[gnu::hot]] void drop_slot(SavedSlot& slot) {
    if (slot.state == SlotState::Held) {
        unhold(slot, graph_counters.by_scope);
    } else if (slot.state == SlotState::Packed) {
        --graph_counters.slots_alive;
        delete slot.rest;
    } else if (slot.has_rest) {
        delete slot.rest;
    }
    // The bit beside it, has_rest, goes with the node: written just after unhold did, it would cost a stall.
    slot.state = SlotState::Empty;
    if (slot.layout) release(slot.layout);
    slot.layout = nullptr;
}

namespace {

void free_slot(SavedSlot& slot) {
    SlotRest* const rest = slot.has_rest ? slot.rest : nullptr;
    Storage& storage = rest ? *rest->storage : *slot.storage;
    std::int64_t bytes = storage.bytes;
    if (storage.foreign) {
        // It has no identity: its bytes are told of the last slot that had it.
        if (storage.saved > 1) bytes = 0;
        slot.fate = Fate::Foreign;
        slot.freed_identity = 0;
    } else if (storage.references == 1) {
        slot.fate = Fate::Released;
        slot.freed_identity = storage.identity;
    } else {
        slot.fate = storage.saved > 1 ? Fate::Elsewhere : Fate::Dropped;
        slot.freed_identity = identity_of(storage);
    }
    count_out(storage, graph_counters.by_backward);
    slot.freed_bytes = bytes;
    slot.has_rest = false;
    if (rest)
        delete rest;
    else
        release(&storage);
}

}  // namespace

void set_released(Node& node, const Ref<Release>& record) {
    node.set(Node::kFreed);
    retain(record.get());
    if (node.released) release(node.released);
    node.released = record.get();
}

namespace {

[[gnu::always_inline]] inline bool free_all(std::span<SavedSlot> slots) {
    bool any = false;
    for (SavedSlot& slot : slots) {
        if (slot.state == SlotState::Held) {
            free_slot(slot);
        } else if (slot.state == SlotState::Packed) {
            --graph_counters.slots_alive;
            auto* rest = slot.rest;
            slot.freed_bytes = 0;  // what a hook keeps instead is no storage of the graph's
            slot.freed_identity = 0;
            slot.fate = Fate::Foreign;
            slot.has_rest = false;
            slot.state = SlotState::Freed;
            delete rest;  // may run Python
        } else {
            continue;
        }
        slot.state = SlotState::Freed;
        any = true;
    }
    return any;
}

}  // namespace

bool free_slots(std::span<SavedSlot> slots) { return free_all(slots); }

void release_saved(Node& node, const Ref<Release>& record) {
    const bool any = free_all({node.slots(), node.slot_count});
    if (node.extras && node.extras->inner) {
        // CopySlices: what the in-place operation saved is its wrapped node's.
        release_saved(*node.extras->inner, record);
        if (!node.extras->inner->has(Node::kFreed)) return;
    } else {
        if (!any) return;
        ++graph_counters.nodes_freed_by_backward;
    }
    set_released(node, record);
}

void mark_released(Node& node, const Ref<Release>& record) {
    for (int i = 0; i < node.slot_count; ++i) {
        SavedSlot& slot = node.slots()[i];
        if (slot.layout == nullptr) continue;
        slot.freed_bytes = 0;
        slot.freed_identity = 0;
        slot.fate = Fate::Elsewhere;
        slot.state = SlotState::Freed;
    }
    ++graph_counters.nodes_freed_by_backward;
    set_released(node, record);
}

void fill_slot(SavedSlot& slot, const SavedValue& value, SlotSource source, std::uint8_t index, std::uint32_t version) {
    hold(slot, value, source, index);
    slot.version = version;
}

void refill(SavedSlot& slot, const SavedValue& value, std::uint32_t version) {
    const bool number = slot.wrapped_number;
    Layout* const layout = slot.layout;
    StorageRef before;  // goes when the slot is whole again
    NodeRef edge;
    std::uint32_t edge_index = 0;
    if (slot.state == SlotState::Held) {
        before = StorageRef(const_cast<Storage*>(slot.held_storage()));
        if (slot.has_rest) edge = slot.rest->edge, edge_index = slot.rest->edge_index;
        unhold(slot, graph_counters.by_scope);
    }
    hold(slot, value, slot.source, slot.index);
    if (edge) rest_of(slot).edge = std::move(edge), slot.rest->edge_index = edge_index;
    slot.version = version;
    slot.wrapped_number = number;
    if (layout) release(layout);
}

void undo_release(Node& node) {
    if (!node.has(Node::kFreed)) return;
    node.clear(Node::kFreed);
    if (!(node.extras && node.extras->inner)) --graph_counters.nodes_freed_by_backward;
    release(std::exchange(node.released, nullptr));
}

}  // namespace clew
