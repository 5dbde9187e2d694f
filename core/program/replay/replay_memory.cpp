#include "core/program/replay/replay_memory.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/autograd/leaf.h"
#include "core/program/replay/guards.h"

namespace clew {
namespace {

void look(ReplayState& state, std::span<const int> registers) {
    for (const int reg : registers) {
        const KeptRegister& of = state.program.of(reg);
        const BufferBinding& binding = state.bindings[static_cast<std::size_t>(of.memory)];
        state.regs[static_cast<std::size_t>(reg)] = look_at(of, binding.storage, binding.shift);
    }
}

void take(ReplayState& state, const Plan::Taken& taken, StorageRef storage) {
    BufferBinding& binding = state.bindings[static_cast<std::size_t>(taken.memory)];
    binding.storage = std::move(storage);
    state.plan->move(taken.memory, binding.address());
    look(state, taken.looking);
}

StorageRef new_memory(const ReplayState& state, const Plan::Taken& taken) {
    return Storage::make(state.program.memories[static_cast<std::size_t>(taken.memory)].bytes);
}

// For what leaves the call; and tensors that look at it and at inputs, for who wants tensors.
void take_memory(ReplayState& state) {
    Plan& plan = *state.plan;
    if (plan.arena_bytes && !plan.kept_arena) {
        StorageRef arena = plan.new_arena();
        plan.put_arena(arena);
        (plan.arena_bytes > Plan::kKeptArena ? state.arena : plan.kept_arena) = std::move(arena);
    }
    for (const Plan::Taken& one : plan.taken) take(state, one, new_memory(state, one));
    look(state, plan.looking);
}

void load(ReplayState& state, const Input& input, const StorageRef& storage, std::int64_t offset) {
    const KeptRegister& reg = state.program.of(input.reg);
    const auto memory = static_cast<std::size_t>(reg.memory);
    BufferBinding& binding = state.bindings[memory];
    if (!binding.storage) {
        binding = {storage, offset - reg.offset, false};
        if (state.slice.written[memory] && !state.direct()[memory]) {
            binding = {Storage::make(storage->bytes), binding.shift, true};
            state.has_copies = true;
            std::memcpy(binding.storage->data, storage->data, static_cast<std::size_t>(storage->bytes));
        }
        if (state.plan) state.plan->move(reg.memory, binding.address());
    }
    if (!state.plan) state.regs[static_cast<std::size_t>(input.reg)] = look_at(reg, binding.storage, binding.shift);
}

// Whether a gradient can be written anew: nobody but its leaf has it, and it is nothing but its values.
bool is_free(const Tensor& gradient, const KeptRegister& reg, std::int64_t bytes) {
    const Storage& storage = *gradient->storage;
    return is_unshared(gradient) && gradient->flags == 0 && !gradient->extras && !gradient->dict &&
           !gradient->weak_references && !gradient->grad_fn && !gradient->base && !storage.unbacked &&
           !storage.watched && !storage.log && storage.bytes == bytes && same_geometry(gradient, reg) &&
           byte_offset(gradient) == reg.offset;
}

// Whether a copy of this memory has been written, which the commit puts back there.
bool has_copy(const ReplayState& state, const Storage* storage) {
    return state.has_copies && std::ranges::any_of(state.slice.inputs, [&](int i) {
               const Input& input = state.program.inputs[static_cast<std::size_t>(i)];
               return state.bindings[static_cast<std::size_t>(state.program.of(input.reg).memory)].copied &&
                      input.present()->storage.get() == storage;
           });
}

bool renew(ReplayState& state, const Plan::Taken& taken) {
    const Tensor leaf = leaf_of(state.program, state.program.leaves[static_cast<std::size_t>(taken.leaf)]);
    if (!leaf || !leaf->extras || !leaf->extras->grad) return false;
    const Tensor& before = leaf->extras->grad;
    const std::int64_t bytes = state.program.memories[static_cast<std::size_t>(taken.memory)].bytes;
    if (!is_free(before, state.program.of(taken.gradient), bytes) || has_copy(state, before->storage.get()))
        return false;
    take(state, taken, before->storage);
    state.regs[static_cast<std::size_t>(taken.gradient)] = before;
    return true;
}

}  // namespace

void load_inputs(ReplayState& state) {
    for (const int i : state.slice.inputs) {
        const Input& input = state.program.inputs[static_cast<std::size_t>(i)];
        const Tensor& now = input.present();
        load(state, input, now->storage, byte_offset(now));
    }
    if (state.plan) take_memory(state);
}

void load_inputs(ReplayState& state, std::span<const InputPlace> places) {
    for (const int i : state.slice.inputs) {
        const InputPlace& place = places[static_cast<std::size_t>(i)];
        load(state, state.program.inputs[static_cast<std::size_t>(i)], StorageRef(place.storage), place.offset);
    }
    if (state.plan) take_memory(state);
}

void take_gradients(ReplayState& state, bool over_those_before) {
    for (const Plan::Taken& one : state.plan->renewed) {
        if (over_those_before && renew(state, one)) continue;
        take(state, one, new_memory(state, one));
        look(state, {&one.gradient, 1});
    }
}

}  // namespace clew
