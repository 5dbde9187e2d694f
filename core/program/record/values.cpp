// Which register a tensor is: Note [Registers and memories].
#include <utility>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/replay/guards.h"

namespace clew {

int Recorder::last_on_older(const Storage& storage) const {
    int memory = -1;
    if (storage.foreign) {
        if (const auto found = foreign_.find(&storage); found != foreign_.end()) memory = found->second;
    } else if (const int* const found = older_memories_.find(storage.identity)) {
        memory = *found;
    }
    return memory < 0 ? -1 : program_.memories[static_cast<std::size_t>(memory)].last;
}

int Recorder::make_memory(Storage& storage, int made_by) {
    const int memory = static_cast<int>(program_.memories.size());
    program_.memories.emplace_back(storage.bytes, -1, made_by);
    if (const std::uint64_t identity = identity_of(storage); identity >= first_identity_) return memory;
    if (storage.foreign)
        foreign_.emplace(&storage, memory), held_.emplace_back(&storage);
    else
        older_memories_.insert(storage.identity, memory);
    return memory;
}

int Recorder::find(int last, const Layout& layout, std::int64_t offset, DType dtype) {
    constexpr int kFew = 32;
    int reg = last;
    for (int i = 0; reg >= 0 && i < kFew; ++i) {
        const KeptRegister& known = program_.of(reg);
        if (known.offset == offset && !known.number && same_geometry(layout, dtype, known)) return reg;
        reg = known.before;
    }
    return reg < 0 ? -1 : find_among_many(reg, layout, offset, dtype);
}

// As of a sequence whose elements are taken one by one.
int Recorder::find_among_many(int last, const Layout& layout, std::int64_t offset, DType dtype) {
    constexpr std::uint64_t kPrime = 0x9E3779B97F4A7C15u;
    const int memory = program_.of(last).memory;
    const auto place = [&](std::int64_t at) {
        return (static_cast<std::uint64_t>(memory) * kPrime + static_cast<std::uint64_t>(at)) * kPrime;
    };
    int& noted = noted_on_.try_emplace(memory, -1).first->second;
    for (int reg = last; reg > noted; reg = program_.of(reg).before)
        registers_at_.emplace(place(program_.of(reg).offset), reg);
    noted = std::max(noted, last);
    int found = -1;
    for (auto [one, end] = registers_at_.equal_range(place(offset)); one != end; ++one) {
        const KeptRegister& known = program_.of(one->second);
        if (known.memory == memory && known.offset == offset && !known.number && one->second <= last &&
            same_geometry(layout, dtype, known))
            found = std::max(found, one->second);
    }
    return found;
}

int Recorder::first_before(int reg) const {
    while (program_.of(reg).before >= 0) reg = program_.of(reg).before;
    return reg;
}

int Recorder::add_register(int memory, const Tensor& tensor, int made_by) {
    const bool number = tensor->has(TensorObject::kWrappedNumber);
    const int reg =
        program_.add_register({tensor->layout, byte_offset(tensor), memory, made_by, tensor.dtype(), number});
    const std::uint64_t identity = identity_of(*tensor->storage), place = identity - first_identity_;
    if (identity < first_identity_) return reg;
    reach(last_on_, place + 1, -1);
    last_on_[place] = reg;
    return reg;
}

int Recorder::add_input(const Tensor& tensor, const Tensor& shown, bool grad_of, int memory) {
    const int reg = add_register(memory, shown, -1);
    Memory& of = program_.memories[static_cast<std::size_t>(memory)];
    if (of.input < 0) of.input = static_cast<int>(program_.inputs.size());
    program_.inputs.push_back(
        {tensor, grad_of, reg, shown.requires_grad(), history_of(shown), 0, counter_of(*shown.get())});
    inputs_[shown.get()] = reg;
    return reg;
}

// A tensor from before the block that looks at this memory.
Tensor Recorder::older_on(const Tensor& tensor) const {
    const auto is_it = [&](const TensorObject* one) {
        return one && one->storage == tensor->storage && one->has(TensorObject::kPreexisting);
    };
    if (is_it(tensor->base.get())) return Tensor(tensor->base.get());
    if (is_it(tensor->storage->owner)) return Tensor(tensor->storage->owner);
    for (TensorObject* one = living_tensors; one; one = one->next)
        if (is_it(one)) return Tensor(one);
    return {};
}

// Made without a call: what a node saved, an output of a Function that is its input, .data.
int Recorder::alias_of(int memory, const Tensor& tensor) {
    const int reg = add_register(memory, tensor, static_cast<int>(program_.steps.size()));
    const int from = first_before(program_.of(reg).before);
    const AliasAttrs attributes{tensor->layout.get(), byte_offset(tensor) - program_.of(from).offset, tensor.dtype()};
    add_step(
        {.op = &alias_op, .attributes = as_bytes(attributes), .code = last_code_, .in_backward = mode(kInBackward)},
        {from})
        .outputs = {reg};
    return reg;
}

// mark_dirty: the version moves once more.
void Recorder::count(const Tensor& tensor) {
    const Tensor inputs[] = {tensor};
    const OpCall call{mark_dirty_op, inputs, nullptr, {}, Form::InPlace};
    Origin origin = origin_of(call);
    Action action = action_of(call, origin);
    action.kind = StepKind::Nothing;
    Step& step = add_step(std::move(action), std::move(origin.inputs));
    const int memory = program_.of(step.inputs[0]).memory;
    step.writes.push_back({step.inputs[0], 1, input_with_counter(memory, counter_of(*tensor.get()))});
    program_.memories[static_cast<std::size_t>(memory)].writers.push_back(static_cast<int>(program_.steps.size()) - 1);
}

int Recorder::resolve_other(const Tensor& tensor) {
    if (tensor->has(TensorObject::kWrappedNumber)) return resolve_number(tensor);
    if (tensor->has(TensorObject::kPreexisting)) {
        if (const auto found = inputs_.find(tensor.get()); found != inputs_.end()) return found->second;
        return add_input(tensor, tensor, false, memory_to(tensor));
    }
    const int last = last_on(*tensor->storage);
    if (last < 0) return resolve_unmet(tensor);
    const int reg = find(last, tensor);
    return reg >= 0 ? reg : alias_of(program_.of(last).memory, tensor);
}

int Recorder::resolve_number(const Tensor& tensor) {
    if (const int last = last_on(*tensor->storage); last >= 0) return first_before(last);
    const int reg = add_register(make_memory(*tensor->storage), tensor, -1);
    program_.constants.emplace_back(reg, tensor);
    return reg;
}

// On memory that no step has met.
int Recorder::resolve_unmet(const Tensor& tensor) {
    const Tensor older = older_on(tensor);
    const int memory = make_memory(*tensor->storage);
    // Nobody else has it: a constant, or memory that a graph from before the block saved.
    if (!older) return add_input(tensor, tensor, false, memory);
    const int first = add_input(older, older, false, memory), reg = find(first, tensor);
    return reg >= 0 ? reg : alias_of(memory, tensor);
}

int Recorder::define(const Tensor& tensor, int step) {
    if (!tensor) return -1;
    if (tensor->has(TensorObject::kPreexisting)) return resolve(tensor);  // given back as it came
    const int last = last_on(*tensor->storage);
    if (last < 0) return add_register(make_memory(*tensor->storage, step), tensor, step);
    const int reg = find(last, tensor);
    return reg >= 0 && program_.of(reg).made_by >= 0 ? reg : add_register(program_.of(last).memory, tensor, step);
}

int Recorder::input_with_counter(int memory, const void* counter) const {
    if (program_.memories[static_cast<std::size_t>(memory)].input < 0) return -1;
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
        const Input& input = program_.inputs[i];
        if (program_.of(input.reg).memory != memory) continue;
        if ((input.grad_of ? input.counter : counter_of(*input.tensor.get())) == counter) return static_cast<int>(i);
    }
    return -1;
}

int Recorder::register_of(const SavedSlot& slot) {
    auto& storage = *const_cast<Storage*>(slot.held_storage());
    if (const int last = slot.wrapped_number ? -1 : last_on(storage); last >= 0) {
        const std::int64_t offset = slot.offset * static_cast<std::int64_t>(item_size(slot.dtype));
        if (const int reg = find(last, *slot.layout, offset, slot.dtype); reg >= 0) return reg;
    }
    const Tensor value = Tensor::steal(new_tensor_object());
    value->storage = StorageRef(&storage);
    value->layout = LayoutRef(slot.layout);
    value->offset = slot.offset;
    value->dtype = slot.dtype;
    value->set(TensorObject::kWrappedNumber, slot.wrapped_number);
    return resolve(value);
}

KeptSlot Recorder::kept_slot(const SavedSlot& slot) {
    KeptSlot known;
    if (slot.state != SlotState::Held) return known;
    const void* const counter =
        slot.has_rest && slot.rest->counter ? static_cast<const void*>(slot.rest->counter.get()) : slot.held_storage();
    known.reg = register_of(slot);
    known.through = input_with_counter(program_.of(known.reg).memory, counter);
    known.stale = current_version(slot) != slot.version;
    known.edge = slot.has_rest && slot.rest->edge;
    return known;
}

bool Recorder::is_noted(const Node& node) const {
    if (!call_) return index_of(program_, &node) >= 0;
    const std::uint64_t place = node.sequence - program_.began;
    return node.sequence >= program_.began && place < noted_nodes_.size() && noted_nodes_[place];
}

// What a node of the block saved, to fill it again. Of a call, that is asked of the nodes that are there at its end.
void Recorder::note_node(Node* node, int step) {
    if (node == nullptr || node->sequence < program_.began || node->has(Node::kAccumulate) || is_noted(*node)) return;
    for (int i = 0; i < node->slot_count; ++i)
        if (node->slots()[i].state == SlotState::Packed)
            refuse(
                format("saves values of %s through saved_tensors_hooks, as checkpoint(use_reentrant=False) does, which "
                       "a program can't fill again yet",
                       node->kind->node_name));
    if (call_) {
        const std::uint64_t place = node->sequence - program_.began;
        reach(noted_nodes_, place + 1, char{0});
        noted_nodes_[place] = 1;
        for (std::uint32_t i = 0; i < node->edge_count; ++i) leads_out_ |= !stays_in(node->edge_room()[i]);
        return;
    }
    KeptNode kept{.node = node, .step = step, .born = node->sequence};
    for (int i = 0; i < node->slot_count; ++i) kept.slots.push_back(kept_slot(node->slots()[i]));
    program_.nodes.push_back(std::move(kept));
    keep_node(program_, static_cast<int>(program_.nodes.size()) - 1);
}

void Recorder::note_nodes_of(const TensorObject& tensor, int step) {
    const auto both = [&](Node* node) {
        if (node && node->extras && node->extras->inner) note_node(node->extras->inner.get(), step);
        note_node(node, step);
    };
    both(tensor.grad_fn.get());
    if (tensor.base) both(tensor.base->grad_fn.get());
}

}  // namespace clew
