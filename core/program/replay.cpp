#include "core/program/replay.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/frame.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/scalar.h"
#include "core/program/commit.h"
#include "core/program/kept.h"
#include "core/program/outcome.h"
#include "core/program/witness.h"

namespace clew {
namespace {

constexpr int kFew = 12;

class Replay {
public:
    Replay(Program& program, Slice& slice) : program_(program), slice_(slice), state_(program, slice) {}

    std::vector<Tensor> go() {
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        begin();
        want();
        GeneratorGuard generators(slice_);
        for (const ReplayStep& one : slice_.runs_of) run(one);
        generators.keep();
        return commit(state_);
    }
    // Runs all steps and drops what they made.
    Digests digests() {
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        struct Apart {  // from what there is: copies of all that is written, and nothing is dropped before the end
            Slice& slice;
            std::vector<char> direct;
            explicit Apart(Slice& slice)
                : slice(slice), direct(std::exchange(slice.direct, std::vector<char>(slice.direct.size()))) {
                slice.wanted.assign(slice.last_use.size(), 1);
                slice.deaths = ~std::uint64_t{0};
            }
            ~Apart() { slice.direct = std::move(direct); }
        } const apart(slice_);
        begin();
        const GeneratorGuard generators(slice_);
        Digests found(program_.steps.size());
        for (const ReplayStep& one : slice_.runs_of) {
            run(one);
            const Step& step = program_.steps[static_cast<std::size_t>(one.step)];
            if (!makes_values(step)) continue;
            std::vector<Tensor> values;
            for (const KeptWrite& write : step.writes) values.push_back(value_of(write.reg));
            for (const int reg : step.outputs) values.push_back(value_of(reg));
            found[static_cast<std::size_t>(one.step)] = digest_of(values);
        }
        return found;
    }
    std::vector<ReadNumber> take_numbers() { return std::move(numbers_); }

private:
    void begin() {
        check_inputs(program_, slice_);
        [[maybe_unused]] const DispatchFrame frame;
        load_inputs();
    }
    Tensor value_of(int reg) const { return reg < 0 ? Tensor() : state_.regs[static_cast<std::size_t>(reg)]; }

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
        if (program_.outcome)
            for (const int reg : program_.outcome->registers()) wanted[static_cast<std::size_t>(reg)] = 1;
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

    void run(const ReplayStep& run) {
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
    void execute(const ReplayStep& run, const int* inputs, const int* outputs, Tensor* room) {
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
            run.form == Form::Accumulate ? run.op->forward(call) : run_forward(call);
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

    void check_read(const Step& step) {
        [[maybe_unused]] const DispatchFrame frame;
        const Tensor& now = state_.regs[static_cast<std::size_t>(step.inputs[0])];
        if (!program_.followed.empty() && program_.followed[static_cast<std::size_t>(step.index)]) {
            ReadNumber& number = numbers_.emplace_back(ReadNumber{now.dtype(), {}});
            if (std::strcmp(step.name, "tolist") == 0) {
                number.list = empty(now.sizes(), now.dtype());
                kernels::copy(number.list.view(), now.view());
                return;
            }
            std::memcpy(number.bytes, now.data(), item_size(now.dtype()));
            for (const NumberUse& use : program_.number_uses)
                if (use.read == step.index)
                    state_.regs[static_cast<std::size_t>(program_.constants[use.constant].first)] =
                        clew::number(Scalar::of(read_number(now)));
            for (const NumberWitness& one : program_.comparisons)
                if (one.read == step.index && !one.holds(read_number(now)))
                    throw ReplayFailed(format("compared with %.9g otherwise in the recorded run", one.constant), &step);
            return;
        }
        const Tensor& then = program_.reads[static_cast<std::size_t>(step.index)];
        const bool truth = std::strcmp(step.name, "bool") == 0;
        if (truth ? (read_number(now) != 0) == (read_number(then) != 0) : same_bits(now, then)) return;
        const std::string text = then.numel() == 1 ? format("%.9g then, %.9g now", read_number(then), read_number(now))
                                                   : format("%lld values", static_cast<long long>(then.numel()));
        throw ReplayFailed(format("read other values in Python here in the recorded run (%s: %s), so it might go "
                                  "another way; run the block again",
                                  step.name, text.c_str()),
                           &step);
    }

    Program& program_;
    Slice& slice_;
    ReplayState state_;
    Tensor in_place_;
    std::vector<ReadNumber> numbers_;
};

void check_can_replay(const Program& program) {
    if (!program.finished)
        fail(ErrorKind::Runtime, "replay: expected a block that has ended; it is under way or failed");
    if (mode(kInterpreted))
        fail(ErrorKind::NotImplemented,
             "replay: not supported while another block is kept, or under another interpreter; do it outside");
    if (mode(kWatchWrites) || backward_serial())
        fail(ErrorKind::NotImplemented, "replay: not supported %s; do it outside",
             backward_serial() ? "in a backward, as in a hook" : "under allow_mutation_on_saved_tensors()");
}

void replay_now(Program& program, int target) {
    check_can_replay(program);
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

// All that a program from a file may fail with is one kind of error.
void replay_loaded(Program& program, int target) {
    try {
        replay_now(program, target);
    } catch (ReplayFailed& failed) {
        failed.of_file = true;
        throw;
    } catch (const Error& error) {
        ReplayFailed failed(error.what(), nullptr);
        failed.of_file = true;
        throw failed;
    }
}

}  // namespace

void replay(Program& program, int target) {
    program.loaded ? replay_loaded(program, target) : replay_now(program, target);
}

std::vector<Tensor> replay_call(Program& program, std::vector<ReadNumber>& numbers) {
    check_can_replay(program);
    Replay replay(program, slice_of(program, -1));
    std::vector<Tensor> results = replay.go();
    numbers = replay.take_numbers();
    return results;
}

Digests replay_digests(Program& program) {
    check_can_replay(program);
    return Replay(program, slice_of(program, -1)).digests();
}

}  // namespace clew
