// The way back from a slot to the tensor that was saved.
#include <memory>
#include <utility>
#include <vector>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"

namespace clew {

thread_local const Written* written = nullptr;

Tensor saved_detail::with_history(Tensor value, Edge edge) {
    if (!edge) return value;
    if (edge.node->has(Node::kAccumulate)) {
        value->set(TensorObject::kRequiresGrad, true);
        extras_of(*value.get()).accumulator = NodeRef(edge.node);
    } else {
        value->grad_fn = NodeRef(edge.node);
        value->output_index = static_cast<std::uint16_t>(edge.index);
    }
    return value;
}

namespace {

Edge edge_of(Node& node, const SavedSlot& slot) {
    switch (slot.source) {
        case SlotSource::Input:
            return node.edge(slot.index);
        case SlotSource::Output:
            if (node.has(Node::kWrapped) && written && &written->wrapped == &node) return written->edge;
            return is_inexact(slot.dtype) ? Edge{&node, slot.index} : Edge{};  // indices have no history
        default:
            return slot.has_rest ? Edge{slot.rest->edge.get(), slot.rest->edge_index} : Edge{};
    }
}

bool is_the_saved_value(const TensorObject* tensor, const Storage* storage, const SavedSlot& slot) {
    return tensor && tensor->storage.get() == storage && tensor->offset == slot.offset && tensor->dtype == slot.dtype &&
           (tensor->layout.get() == slot.layout || (same_shape(*tensor->layout, *slot.layout) &&
                                                    same_sizes(tensor->layout->strides(), slot.layout->strides())));
}

bool has_its_tangents(TensorObject* tensor, const SavedSlot& slot) {
    return !slot.has_rest || slot.rest->tangents.empty() || tangent_calls.are(tensor, slot.rest->tangents);
}

void give_tangents(TensorObject& tensor, const SavedSlot& slot) {
    if (!slot.rest->tangents.empty()) extras_of(tensor).tangents = std::make_unique<Tangents>(slot.rest->tangents);
}

// What was saved is as it was: once for each saved value that a backward reads.
inline void check_versions(Node& node, const SavedSlot& slot) {
    if (current_version(slot) != slot.version || slot.held_storage()->log) [[unlikely]]
        saved_detail::check_writes(node, slot);
}

}  // namespace

Tensor unpack(Node& node, SavedSlot& slot) {
    if (slot.state == SlotState::Empty) return {};
    if (slot.state == SlotState::Freed) throw_freed(node);
    const Edge edge = edge_of(node, slot);
    if (slot.state == SlotState::Packed) {
        Tensor value = saved_hooks.unpack(slot.rest->unpack, slot.rest->packed);
        const bool has_tangents = !slot.rest->tangents.empty();
        if (!edge && !value.requires_grad() && !has_tangents) return value;
        Tensor fresh = alias(value, value->layout, value->offset);
        if (has_tangents) give_tangents(*fresh.get(), slot);
        fresh->set(TensorObject::kWrappedNumber, slot.rest->wrapped_number);
        return saved_detail::with_history(std::move(fresh), edge);
    }
    check_versions(node, slot);
    Storage* storage = const_cast<Storage*>(slot.held_storage());
    if (storage->watched) [[unlikely]]
        storage_watch.read(*storage);
    // The user's own object, while it lives.
    if (edge && edge.index < edge.node->output_count) {
        TensorObject* living = edge.node->outputs()[edge.index].tensor;
        if (is_the_saved_value(living, storage, slot) && has_its_tangents(living, slot)) return Tensor(living);
    } else if (!edge && is_the_saved_value(storage->owner, storage, slot) && !Tensor(storage->owner).requires_grad() &&
               has_its_tangents(storage->owner, slot)) {
        return Tensor(storage->owner);
    }
    TensorObject* fresh = new_tensor_object();
    retain(storage);
    fresh->storage = StorageRef::steal(storage);
    fresh->layout = LayoutRef(slot.layout);
    fresh->offset = slot.offset;
    fresh->dtype = slot.dtype;
    fresh->set(TensorObject::kWrappedNumber, slot.wrapped_number);
    if (slot.has_rest) [[unlikely]] {
        give_tangents(*fresh, slot);
        if (slot.rest->counter) {
            extras_of(*fresh).counter = slot.rest->counter;
            fresh->set(TensorObject::kAliasCounter, true);
        }
    }
    return saved_detail::with_history(Tensor::steal(fresh), edge);
}

struct UnpackedValues {
    std::vector<std::pair<const SavedSlot*, Tensor>> values;
};
void DeleteUnpacked::operator()(UnpackedValues* values) const { delete values; }

Tensor unpack_once(BackwardCall& call, SavedSlot& slot) {
    if (!call.unpacked) call.unpacked.reset(new UnpackedValues);
    auto& values = call.unpacked->values;
    for (const auto& [read, value] : values)
        if (read == &slot) return value;
    return values.emplace_back(&slot, unpack(*call.node, slot)).second;
}

}  // namespace clew
