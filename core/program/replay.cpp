#include "core/program/replay.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/frame.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/program/commit.h"
#include "core/program/kept.h"

namespace clew {
namespace {

constexpr int kFew = 12;

bool same_geometry(const Tensor& tensor, const KeptRegister& reg) {
    return tensor.dtype() == reg.dtype &&
           (tensor->layout == reg.layout ||
            (same_sizes(tensor.sizes(), reg.layout->shape()) && same_sizes(tensor.strides(), reg.layout->strides())));
}

// Bytes of both, whatever the numbers are: a NaN equals the same NaN.
bool same_bits(const Tensor& now, const Tensor& then) {
    const auto bytes = static_cast<std::size_t>(then.numel()) * item_size(then.dtype());
    if (now.contiguous() && then.contiguous()) return std::memcmp(now.data(), then.data(), bytes) == 0;
    Tensor packed[2];
    for (int i = 0; i < 2; ++i) {
        packed[i] = empty(then.sizes(), then.dtype());
        kernels::copy(packed[i].view(), (i ? then : now).view());
    }
    return std::memcmp(packed[0].data(), packed[1].data(), bytes) == 0;
}

class Replay {
public:
    Replay(Program& program, Slice& slice) : program_(program), slice_(slice), state_(program, slice) {}

    void go() {
        check_inputs();
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        {
            [[maybe_unused]] const DispatchFrame frame;
            load_inputs();
        }
        want();
        GeneratorGuard generators(slice_);
        for (const Run& one : slice_.runs_of) run(one);
        generators.keep();
        commit(state_);
    }

private:
    [[noreturn]] void differs(const Input& input, const char* what) const {
        const int place = static_cast<int>(&input - program_.inputs.data());
        const Step* used = nullptr;
        for (const Step& step : program_.steps)
            if (used == nullptr && std::ranges::find(step.inputs, input.reg) != step.inputs.end()) used = &step;
        throw ReplayFailed(
            format("expected input %d%s%s%s to be as in the recorded run, but %s; run the block again", place,
                   used ? ", which '" : "", used ? used->op->name : "", used ? "' reads first," : "", what),
            used);
    }

    void check_inputs() {
        for (const int i : slice_.inputs) {
            const Input& input = program_.inputs[static_cast<std::size_t>(i)];
            const Tensor now = input.present();
            if (!now) differs(input, "there is no .grad");
            if (!same_geometry(now, program_.of(input.reg))) differs(input, "its shape, strides or dtype differ");
            if (now.requires_grad() != input.requires_grad) differs(input, "requires_grad differs");
            if (input.grad_of) continue;
            if ((now->grad_fn ? now->grad_fn->sequence : 0) != input.history)
                differs(input, "it has another history: what it was computed from has run again");
            if (slice_.target < 0 && program_.has_backward && hooks_of(now) != input.hooks)
                differs(input, "hooks came or went");
        }
        check_sharing();
        if (slice_.target >= 0) return;
        for (const GradWitness& grad : program_.grads) {
            const Input& input = program_.inputs[static_cast<std::size_t>(grad.input)];
            if (bool(input.tensor->extras && input.tensor->extras->grad) == grad.present) continue;
            differs(input, grad.present ? "its .grad was there then, and is not now"
                                        : "its .grad was None then, and is there now (zero_grad() comes first)");
        }
    }

    // Inputs that looked at one memory still do, at the same places, and no others.
    void check_sharing() {
        bool as_before = slice_.sharing.size() == slice_.inputs.size();
        for (std::size_t i = 0; i < slice_.inputs.size() && as_before; ++i) {
            const Tensor now = program_.inputs[static_cast<std::size_t>(slice_.inputs[i])].present();
            as_before = slice_.sharing[i] == std::pair<const Storage*, std::int64_t>(now->storage.get(), now->offset);
        }
        if (as_before) return;
        slice_.sharing.clear();
        std::unordered_map<const Storage*, int> memories;
        std::vector<std::int64_t> shifts(program_.memories.size());
        std::vector<const Storage*> storages(program_.memories.size());
        for (const int i : slice_.inputs) {
            const Input& input = program_.inputs[static_cast<std::size_t>(i)];
            const Tensor now = input.present();
            const KeptRegister& reg = program_.of(input.reg);
            const auto memory = static_cast<std::size_t>(reg.memory);
            const std::int64_t shift = now->offset * static_cast<std::int64_t>(item_size(now.dtype())) - reg.offset;
            if (storages[memory] == nullptr) {
                storages[memory] = now->storage.get();
                shifts[memory] = shift;
            } else if (storages[memory] != now->storage.get() || shifts[memory] != shift) {
                differs(input, "it no longer shares memory with another input");
            }
            const auto [found, fresh] = memories.emplace(now->storage.get(), reg.memory);
            if (!fresh && found->second != reg.memory) differs(input, "it shares memory with another input now");
        }
        for (const int i : slice_.inputs) {
            const Tensor now = program_.inputs[static_cast<std::size_t>(i)].present();
            slice_.sharing.emplace_back(now->storage.get(), now->offset);
        }
    }

    void load_inputs() {
        std::vector<Tensor>& regs = state_.regs;
        if (!program_.constants.empty() && !regs[static_cast<std::size_t>(program_.constants[0].first)])
            for (const auto& [reg, value] : program_.constants) regs[static_cast<std::size_t>(reg)] = value;
        for (const int i : slice_.inputs) {
            const Input& input = program_.inputs[static_cast<std::size_t>(i)];
            const Tensor now = input.present();
            const auto memory = static_cast<std::size_t>(program_.of(input.reg).memory);
            StorageRef storage = now->storage;
            if (slice_.written[memory] && !slice_.direct[memory]) {
                StorageRef& shadow = state_.shadows[memory];
                if (!shadow) {
                    shadow = Storage::make(storage->bytes);
                    std::memcpy(shadow->data, storage->data, static_cast<std::size_t>(storage->bytes));
                }
                storage = shadow;
            }
            Tensor looks = alias(now, now->layout, now->offset);
            looks->storage = std::move(storage);
            regs[static_cast<std::size_t>(input.reg)] = std::move(looks);
        }
    }

    // What the commit reads is not dropped after its last use.
    void want() {
        for (const int i : slice_.edged) check_edges(program_.nodes[static_cast<std::size_t>(i)]);
        if (slice_.deaths == program_.deaths) return;
        std::vector<char>& wanted = slice_.wanted;
        wanted.assign(program_.registers.size(), 0);
        for (const int i : slice_.living)
            if (program_.living[static_cast<std::size_t>(i)].tensor)
                wanted[static_cast<std::size_t>(program_.living[static_cast<std::size_t>(i)].reg)] = 1;
        for (const int i : slice_.nodes) {
            const KeptNode& kept = program_.nodes[static_cast<std::size_t>(i)];
            if (!state_.fills(kept)) continue;
            for (const KeptSlot& slot : kept.slots)
                if (slot.reg >= 0) wanted[static_cast<std::size_t>(slot.reg)] = 1;
        }
        if (slice_.target < 0)
            for (const Step& step : program_.steps)
                if (step.kind == StepKind::Rebind && step.inputs[0] >= 0) want_gradient(step);
        slice_.deaths = program_.deaths;
    }
    void check_edges(const KeptNode& kept) const {
        if (!state_.fills(kept)) return;
        for (std::size_t slot = 0; slot < kept.slots.size(); ++slot)
            if (kept.slots[slot].edge && kept.node->slots()[slot].state == SlotState::Freed)
                fail(ErrorKind::NotImplemented,
                     "forward: %s saved a value with a history of its own that is neither its input nor its output, "
                     "and it was freed; keep it by backward(retain_graph=True)",
                     kept.node->kind->node_name);
    }

    void want_gradient(const Step& step) {
        slice_.wanted[static_cast<std::size_t>(step.inputs[0])] = 1;
        const Leaf& leaf = program_.leaves[static_cast<std::size_t>(step.index)];
        if (leaf.last < 0 || !leaf_of(program_, leaf)) return;
        for (const Living& living : program_.living)
            if (living.reg == step.inputs[0] && living.node >= 0 && living.tensor == nullptr)
                fail(ErrorKind::NotImplemented,
                     "run: a .grad with a history (create_graph=True) was dropped since; keep the tensor alive");
    }

    void run(const Run& run) {
        if (run.kind == StepKind::Read) check_read(program_.steps[static_cast<std::size_t>(run.step)]);
        const int* const inputs = slice_.places.data() + run.first;
        const int* const outputs = inputs + run.inputs;
        if (run.kind == StepKind::Run) {
            if (run.inputs + run.outputs <= kFew) {
                alignas(Tensor) std::byte room[kFew * sizeof(Tensor)]{};
                execute(run, inputs, outputs, reinterpret_cast<Tensor*>(room));
            } else {
                std::vector<std::byte> room((run.inputs + run.outputs) * sizeof(Tensor));
                execute(run, inputs, outputs, reinterpret_cast<Tensor*>(room.data()));
            }
        }
        const int* const dropped = outputs + run.outputs;
        for (int i = 0; i < run.dropped; ++i) {
            const auto reg = static_cast<std::size_t>(dropped[i]);
            if (!slice_.wanted[reg] && !slice_.reused[reg]) state_.regs[reg] = Tensor();
        }
    }

    // `room` is for the handles of the call, zeroed. Those of inputs are not counted: registers hold the tensors.
    void execute(const Run& run, const int* inputs, const int* outputs, Tensor* room) {
        std::vector<Tensor>& regs = state_.regs;
        for (int i = 0; i < run.inputs; ++i)
            if (inputs[i] >= 0)
                std::memcpy(static_cast<void*>(room + i), &regs[static_cast<std::size_t>(inputs[i])], sizeof(Tensor));
        const std::span<Tensor> results =
            run.form == Form::InPlace ? std::span(&in_place_, 1) : std::span(room + run.inputs, run.outputs);
        struct Clean {
            std::span<Tensor> results;
            ~Clean() {
                for (Tensor& one : results) one = Tensor();
            }
        } const clean{results};
        if (run.form == Form::InPlace) in_place_ = regs[static_cast<std::size_t>(inputs[0])];
        if (run.reuses) reuse(regs[static_cast<std::size_t>(outputs[0])], results[0]);
        OpCall call{*run.op, Tensors(room, run.inputs), run.attributes, results, run.form, &run.details};
        try {
            [[maybe_unused]] const DispatchFrame frame;
            run.op->forward(call);
        } catch (const Error& error) {
            throw ReplayFailed(error.what(), &program_.steps[static_cast<std::size_t>(run.step)]);
        } catch (const PythonError&) {
            throw ReplayFailed(format("%s: raised an error", run.details.name ? run.details.name : run.op->name),
                               &program_.steps[static_cast<std::size_t>(run.step)]);
        }
        for (std::size_t i = 0; i < run.outputs; ++i) {
            if (outputs[i] < 0) continue;
            Tensor& made = call.outputs[i];
            if (!made || !same_geometry(made, program_.of(outputs[i])))
                throw ReplayFailed(format("%s: gives a result of another shape than in the recorded run", run.op->name),
                                   &program_.steps[static_cast<std::size_t>(run.step)]);
            regs[static_cast<std::size_t>(outputs[i])] = std::move(made);
        }
    }
    static void reuse(Tensor& before, Tensor& result) {
        if (before && before->references == 1 && before->storage->references == 1)
            result = std::move(before);
        else
            before = Tensor();
    }

    void check_read(const Step& step) const {
        [[maybe_unused]] const DispatchFrame frame;
        const Tensor& now = state_.regs[static_cast<std::size_t>(step.inputs[0])];
        const Tensor& then = program_.reads[static_cast<std::size_t>(step.index)];
        const bool truth = std::strcmp(step.name, "bool") == 0;
        if (truth ? (read_number(now) != 0) == (read_number(then) != 0) : same_bits(now, then)) return;
        const std::string text = then.numel() == 1 ? format("%.9g then, %.9g now", read_number(then), read_number(now))
                                                   : format("%lld values", static_cast<long long>(then.numel()));
        throw ReplayFailed(format("Python read other values here in the recorded run (%s: %s), so it might go another "
                                  "way; run the block again",
                                  step.name, text.c_str()),
                           &step);
    }

    Program& program_;
    Slice& slice_;
    ReplayState state_;
    Tensor in_place_;
};

}  // namespace

void replay(Program& program, int target) {
    if (!program.finished)
        fail(ErrorKind::Runtime, "replay: expected a block that has ended; it is under way or failed");
    if (mode(kInterpreted))
        fail(ErrorKind::NotImplemented,
             "replay: not supported while another block is kept, or under another interpreter; do it outside");
    if (mode(kWatchWrites) || backward_serial())
        fail(ErrorKind::NotImplemented, "replay: not supported %s; do it outside",
             backward_serial() ? "in a backward, as in a hook" : "under allow_mutation_on_saved_tensors()");
    Slice& slice = slice_of(program, target);
    if (target < 0 && !program.once.empty()) {
        Step at{.op = nullptr, .form = Form::Read};
        at.code = program.once[0].code;
        at.instruction = program.once[0].instruction;
        throw ReplayFailed(program.once[0].text, &at);
    }
    for (const int i : slice.living) check_unchanged(program, i, i == target);
    Replay(program, slice).go();
}

void check_unchanged(const Program& program, int index, bool its_value_too) {
    const Living& living = program.living[static_cast<std::size_t>(index)];
    if (living.tensor == nullptr) return;
    const Tensor tensor(living.tensor);
    const Node* const node = living.node < 0 ? nullptr : program.nodes[static_cast<std::size_t>(living.node)].node;
    const bool same_history =
        (tensor->grad_fn.get() == node && (node || living.node < 0)) || is_refreshed_view(program, living);
    const char* what = !same_history                                                  ? "another history"
                       : place_of(*tensor.get()) != living.place                      ? "other memory"
                       : !same_geometry(tensor, program.of(living.reg))               ? "another shape or dtype"
                       : its_value_too && version_of(*tensor.get()) != living.version ? "been written"
                                                                                      : nullptr;
    if (what == nullptr) return;
    const int made_by = program.of(living.reg).made_by;
    const Step* const step = made_by < 0 ? nullptr : &program.steps[static_cast<std::size_t>(made_by)];
    throw ReplayFailed(
        format("forward: a tensor of the block (%s of shape %s) has %s since; keep it as the block left it, or make it "
               "again in a new block",
               step ? step->op->name : "a constant", shape_text(tensor.sizes()).c_str(), what),
        step);
}

}  // namespace clew
