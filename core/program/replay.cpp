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

class Run {
public:
    Run(Program& program, Slice& slice) : program_(program), slice_(slice), state_(program, slice) {}

    void go() {
        check_inputs();
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        {
            [[maybe_unused]] const DispatchFrame frame;
            load_inputs();
        }
        want();
        GeneratorGuard generators(program_, slice_);
        for (const int step : slice_.steps) run(step);
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

    void run(int index) {
        const Step& step = program_.steps[static_cast<std::size_t>(index)];
        if (step.kind == StepKind::Read) check_read(step);
        if (step.kind != StepKind::Run) return drop(step, index);
        std::vector<Tensor>& regs = state_.regs;
        operands_.clear();
        for (const int reg : step.inputs) operands_.push_back(reg < 0 ? Tensor() : regs[static_cast<std::size_t>(reg)]);
        results_.clear();
        if (step.form == Form::InPlace)
            results_.push_back(operands_[0]);
        else
            results_.resize(step.outputs.size());
        const CallDetails details{.name = step.name, .generator = step.generator};
        OpCall call{*step.op, operands_, step.attributes.data(), results_, step.form, &details};
        try {
            [[maybe_unused]] const DispatchFrame frame;
            step.op->forward(call);
        } catch (const Error& error) {
            throw ReplayFailed(error.what(), &step);
        } catch (const PythonError&) {
            throw ReplayFailed(format("%s: raised an error", step.name ? step.name : step.op->name), &step);
        }
        for (std::size_t i = 0; i < step.outputs.size(); ++i) {
            const int reg = step.outputs[i];
            if (reg < 0) continue;
            Tensor& made = call.outputs[i];
            if (!made || !same_geometry(made, program_.of(reg)))
                throw ReplayFailed(
                    format("%s: gives a result of another shape than in the recorded run", step.op->name), &step);
            regs[static_cast<std::size_t>(reg)] = std::move(made);
        }
        for (Tensor& left : call.outputs) left = Tensor();
        operands_.clear();
        results_.clear();
        drop(step, index);
    }

    void drop(const Step& step, int index) {
        for (const auto* list : {&step.inputs, &step.outputs})
            for (const int reg : *list)
                if (reg >= 0 && slice_.last_use[static_cast<std::size_t>(reg)] == index &&
                    !slice_.wanted[static_cast<std::size_t>(reg)])
                    state_.regs[static_cast<std::size_t>(reg)] = Tensor();
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
    std::vector<Tensor> operands_, results_;
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
    Run(program, slice).go();
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
