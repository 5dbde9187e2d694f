#include "core/program/replay/commit.h"

#include <algorithm>
#include <cstring>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/frame.h"
#include "core/kernels/memory/copy.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/results/outcome.h"

namespace clew {
namespace {

class Commit {
public:
    explicit Commit(ReplayState& state)
        : state_(state), program_(state.program), slice_(state.slice), places_(state.places) {}

    std::vector<Tensor> go() {
        [[maybe_unused]] const DispatchFrame frame;
        number_releases();
        write_older();
        for (const int i : slice_.tracked) renew(program_.tracked[static_cast<std::size_t>(i)]);
        for (const int i : slice_.nodes) fill(program_.nodes[static_cast<std::size_t>(i)]);
        if (below_first_version_) {
            for (const int i : slice_.nodes) count_later_writes(program_.nodes[static_cast<std::size_t>(i)]);
            for (const int i : slice_.nodes) fill(program_.nodes[static_cast<std::size_t>(i)]);
        }
        renumber();
        if (program_.outcome) results_ = make_results(state_);
        set_gradients();
        for (const int i : slice_.tracked) settle(program_.tracked[static_cast<std::size_t>(i)]);
        return std::move(results_);
    }

private:
    Tensor& reg(int index) { return state_.regs[static_cast<std::size_t>(index)]; }

    // The call's backward passes came before what its optimizer wrote, and errors tell which came first.
    void number_releases() {
        if (program_.outcome == nullptr || program_.outcome->released == 0) return;
        state_.first_release = graph_clock + 1;
        graph_clock += static_cast<std::uint64_t>(program_.outcome->released);  // no more passes than nodes
    }

    // The memory as the input has it, in place of the copy that was written.
    void write_older() {
        if (state_.has_copies) write_copies();
        if (slice_.counted.empty()) return;
        const Site site = mode(kNoProvenance) ? Site() : runtime.current_site();
        const Handle code = Handle::steal(site.code);
        for (const auto& [step, write] : slice_.counted) {
            const Step& of = program_.steps[static_cast<std::size_t>(step)];
            const Site line{static_cast<void*>(of.action->code.get()), of.action->instruction};
            count_write(of, of.writes[static_cast<std::size_t>(write)], program_.outcome && line.code ? line : site);
        }
    }
    void write_copies() {
        for (const int i : slice_.inputs) {
            const Input& input = program_.inputs[static_cast<std::size_t>(i)];
            const auto memory = static_cast<std::size_t>(program_.of(input.reg).memory);
            const BufferBinding& binding = state_.bindings[memory];
            if (!binding.copied || places_[memory]) continue;
            places_[memory] = input.present()->storage;
            std::memcpy(places_[memory]->data, binding.storage->data, static_cast<std::size_t>(binding.storage->bytes));
        }
    }
    void count_write(const Step& step, const KeptWrite& written, Site site) {
        const Memory& memory = program_.memory_of(written.reg);
        const Input& through =
            program_.inputs[static_cast<std::size_t>(written.through >= 0 ? written.through : memory.input)];
        const KeptRegister& wrote = program_.of(written.reg);
        Tensor input = through.present();
        const std::int64_t shift = byte_offset(input) - program_.of(through.reg).offset;
        const std::int64_t offset = (wrote.offset + shift) / static_cast<std::int64_t>(item_size(wrote.dtype));
        if (written.through < 0) {  // the counter was a third one
            input = alias(input, input->layout, input->offset);
            own_version(input, 0);
        }
        bump_version(input, {.layout = wrote.layout, .offset = offset, .dtype = wrote.dtype, .site = site},
                     called(step), step.action->op->is(kOptimizerStep));
    }
    static const char* called(const Step& step) {
        return step.action->name                       ? step.action->name
               : step.action->form == Form::InPlace    ? step.action->op->in_place_name.c_str()
               : step.action->form == Form::Accumulate ? "accumulate_grad"
                                                       : step.action->op->name;
    }

    // The new value in place, once for each memory that was made again as a whole.
    void renew(TrackedTensor& tracked) {
        if (tracked.tensor == nullptr) return;
        const Tensor tensor(tracked.tensor);
        const auto memory = static_cast<std::size_t>(program_.of(tracked.reg).memory);
        const Tensor& made = reg(tracked.reg);
        if (program_.memories[memory].input >= 0) {
            // The input may look at other memory now, and so does its view.
            tensor->storage = places_[memory] ? places_[memory] : state_.bindings[memory].storage;
            tensor->offset = made->offset;
            share_version(tensor, program_.inputs[static_cast<std::size_t>(program_.memories[memory].input)].present());
            return;
        }
        // Otherwise value by value; what nodes saved stays in the new memory.
        const bool alike = made->storage->bytes == tensor->storage->bytes && made->offset == tensor->offset;
        if (!slice_.whole[memory] || (!places_[memory] && !alike)) {
            kernels::copy(tensor.view(), made.view());
            bump_version(tensor, "forward");
            return;
        }
        if (places_[memory]) return;
        places_[memory] = tensor->storage;
        std::memcpy(tensor->storage->data, made->storage->data, static_cast<std::size_t>(made->storage->bytes));
        bump_version(tensor, "forward");
    }

    void settle(TrackedTensor& tracked) {
        if (tracked.tensor == nullptr) return;
        tracked.version = version_of(*tracked.tensor);
        tracked.place = place_of(*tracked.tensor);
        if (tracked.tensor->base)
            tracked.tensor->history_version =
                tracked.version - (is_refreshed_view(program_, tracked) ? 1 : tracked.behind);
    }

    // Whether what the slot saved is written afterwards; `by` is the last step that does it, if it is known.
    bool is_stale(const KeptNode& kept, const KeptSlot& slot, const Step** by = nullptr) const {
        const KeptRegister& saved = program_.of(slot.reg);
        const auto& writers = program_.memory_of(slot.reg).writers;
        for (std::size_t i = writers.size(); i-- > 0 && writers[i] > kept.step;) {
            if (!slice_.runs[static_cast<std::size_t>(writers[i])]) continue;
            const Step& step = program_.steps[static_cast<std::size_t>(writers[i])];
            for (const KeptWrite& written : step.writes)
                if (program_.of(written.reg).memory == saved.memory && written.bump &&
                    (written.through == slot.through || program_.of(written.reg).bytes().meets(saved.bytes()))) {
                    if (by) *by = &step;
                    return true;
                }
        }
        return slot.stale;
    }

    // Memory that no tensor had before begins at version 0, and there has to be a version before that of the last
    // write.
    void count_later_writes(KeptNode& kept) {
        for (const KeptSlot& slot : kept.slots) {
            const Step* by = nullptr;
            if (slot.reg < 0 || slot.through >= 0 || !is_stale(kept, slot, &by)) continue;
            if (kept.alive() == nullptr || !state_.fills(kept)) return;
            const Tensor value = settled(state_, slot.reg);
            if (version_of(*value.get()) > 0) continue;
            const Site site = by ? Site{static_cast<void*>(by->action->code.get()), by->action->instruction} : Site();
            bump_version(value,
                         {.layout = value->layout, .offset = value->offset, .dtype = value.dtype(), .site = site},
                         by ? called(*by) : "forward", by && by->action->op->is(kOptimizerStep));
        }
    }

    void fill(KeptNode& kept) {
        if (kept.alive() == nullptr) return;
        if (!state_.fills(kept)) return release(*kept.node);
        for (std::size_t i = 0; i < kept.slots.size(); ++i) {
            const KeptSlot& known = kept.slots[i];
            if (known.reg < 0) continue;
            const Tensor value = settled(state_, known.reg);
            if (known.through >= 0)
                share_version(value, program_.inputs[static_cast<std::size_t>(known.through)].present());
            const std::uint32_t version = version_of(*value.get());
            const bool stale = is_stale(kept, known);
            below_first_version_ = below_first_version_ || (stale && version == 0);
            refill(kept.node->slots()[i], SavedValue(value), version - stale);
        }
        undo_release(*kept.node);
    }
    // By the block's own backward; a forward() in between may have filled it.
    static void release(Node& node) {
        if (!node.has(Node::kFreed)) release_saved(node, Release::make("backward"));
    }

    // Nodes that were made before keep their numbers: what leads from an older node to one that was filled again is
    // refused by the engine, since its own values are of another run.
    void renumber() {
        for (const int i : slice_.nodes)
            if (Node* const node = program_.nodes[static_cast<std::size_t>(i)].alive()) node->sequence = tick();
    }

    // As the last assignment to each leaf leaves it. All are found before one is set: a leaf may get another's of
    // before.
    void set_gradients() {
        // Old gradients die here, which may run Python, and that this program again.
        auto assigned = std::exchange(state_.slice.assigned, {});
        for (const int index : slice_.gradients) {
            const Step& step = program_.steps[static_cast<std::size_t>(index)];
            const Leaf& leaf = program_.leaves[static_cast<std::size_t>(step.index)];
            const Tensor tensor = leaf_of(program_, leaf);
            if (!tensor) continue;
            const Tensor gradient = step.inputs[0] < 0 ? Tensor() : object_of(step.inputs[0], leaf);
            if (gradient && program_.outcome && program_.memory_of(step.inputs[0]).input < 0)
                gradient->storage->version = leaf.version;
            const bool is_made = leaf.result < 0 && step.action->in_backward;
            if (is_made && gradient && !gradient->grad_fn && !gradient->lost &&
                !gradient->has(TensorObject::kPreexisting))
                gradient->lost = HistoryBreak::by_plain_backward();
            assigned.emplace_back(tensor, gradient);
        }
        for (auto& [leaf, gradient] : assigned) assign_grad(leaf, std::move(gradient));
        assigned.clear();
        state_.slice.assigned = std::move(assigned);
    }
    // The tensor object that stands for a register outside, as the .grad of the leaf; or a new one.
    Tensor object_of(int index, const Leaf& leaf) {
        if (leaf.result >= 0) return results_[static_cast<std::size_t>(leaf.result)];
        if (leaf.gradient < 0)
            for (const Input& input : program_.inputs)
                if (input.reg == index) return input.present();
        for (const int i : slice_.tracked) {
            TrackedTensor& tracked = program_.tracked[static_cast<std::size_t>(i)];
            if (leaf.gradient < 0 ? tracked.reg != index : i != leaf.gradient) continue;
            if (tracked.tensor) return Tensor(tracked.tensor);
            const Tensor fresh = settled(state_, tracked.reg);
            if (const int input = program_.memory_of(tracked.reg).input; input >= 0)
                share_version(fresh, program_.inputs[static_cast<std::size_t>(input)].present());
            fresh->lost = HistoryBreak::by_plain_backward();
            tracked.tensor = fresh.get();
            keep_tensor(program_, i, false);
            ++program_.deaths;  // one more lives
            return fresh;
        }
        return reg(index);
    }

    ReplayState& state_;
    Program& program_;
    const Slice& slice_;
    std::vector<StorageRef>& places_;
    std::vector<Tensor> results_;       // of a compiled call
    bool below_first_version_ = false;  // something stale was saved in memory at version 0
};

}  // namespace

ReplayState::ReplayState(Program& program, Slice& slice, bool by_plan)
    : program(program),
      slice(slice),
      plan(by_plan ? std::move(slice.plan) : nullptr),
      bindings(std::move(slice.bindings)),
      places(std::move(slice.places)) {
    if (plan) {
        regs = std::move(plan->registers);
    } else {
        regs.resize(program.registers.size());
        for (const auto& [reg, value] : program.constants) regs[static_cast<std::size_t>(reg)] = value;
    }
    bindings.resize(program.memories.size());
    places.resize(program.memories.size());
}

ReplayState::~ReplayState() {
    if (plan == nullptr) return;
    for (const int reg : plan->passing) regs[static_cast<std::size_t>(reg)] = Tensor();
    const auto clear = [&](int reg) {
        const auto memory = static_cast<std::size_t>(program.of(reg).memory);
        bindings[memory] = BufferBinding();
        places[memory] = StorageRef();
    };
    for (const int input : slice.inputs) clear(program.inputs[static_cast<std::size_t>(input)].reg);
    for (const auto* list : {&plan->taken, &plan->renewed})
        for (const Plan::Taken& one : *list) bindings[static_cast<std::size_t>(one.memory)] = BufferBinding();
    for (const int tracked : slice.tracked) clear(program.tracked[static_cast<std::size_t>(tracked)].reg);
    plan->registers = std::move(regs);
    slice.bindings = std::move(bindings);
    slice.places = std::move(places);
    slice.plan = std::move(plan);
}

Tensor settled(const ReplayState& state, int reg) {
    const Tensor& made = state.regs[static_cast<std::size_t>(reg)];
    const Tensor value = alias(made, made->layout, made->offset);
    value->dtype = made->dtype;
    if (const StorageRef& place = state.places[static_cast<std::size_t>(state.program.of(reg).memory)])
        value->storage = place;
    return value;
}

GeneratorGuard::GeneratorGuard(const Slice& slice) {
    for (Generator* const one : slice.generators) before_.emplace_back(one, *one);
}
GeneratorGuard::~GeneratorGuard() {
    for (auto& [generator, state] : before_) *generator = state;
}

std::vector<Tensor> commit(ReplayState& state) { return Commit(state).go(); }

}  // namespace clew
