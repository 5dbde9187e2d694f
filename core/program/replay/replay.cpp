#include "core/program/replay/replay.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/autograd/ledger.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/frame.h"
#include "core/program/record/leaves.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/replay/commit.h"
#include "core/program/replay/guards.h"
#include "core/program/replay/replay_memory.h"
#include "core/program/replay/run_step.h"
#include "core/program/results/outcome.h"

namespace clew {
namespace {

class Replay {
public:
    Replay(Program& program, Slice& slice, bool by_plan)
        : program_(program), slice_(slice), state_(program, slice, by_plan), steps_(state_) {}

    std::vector<Tensor> go() {
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        begin();
        note_wanted(state_);
        GeneratorGuard generators(slice_);
        state_.plan ? follow(*state_.plan, true) : run_all();
        generators.keep();
        return commit(state_);
    }
    std::vector<Tensor> go_at(std::span<const InputPlace> inputs) {
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        {
            [[maybe_unused]] const DispatchFrame frame;
            load_inputs(state_, inputs);
        }
        note_wanted(state_);
        state_.plan ? follow(*state_.plan, true) : run_all();
        put_pinned();
        return commit(state_);
    }
    // What each step makes, where all that is written are copies.
    Digests digests() {
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        const CopyAllWritten apart(slice_.direct);
        begin();
        const GeneratorGuard generators(slice_);
        Digests found(program_.steps.size());
        for (const ReplayStep& one : slice_.replay_steps) {
            steps_.run(one);
            const Step& step = program_.steps[static_cast<std::size_t>(one.step)];
            if (!makes_values(step)) continue;
            std::vector<Tensor> values;
            for (const KeptWrite& write : step.writes) values.push_back(value_of(write.reg));
            for (const int reg : step.outputs) values.push_back(value_of(reg));
            found[static_cast<std::size_t>(one.step)] = digest_of(values);
        }
        return found;
    }
    // Follows the plan, where all that is written are copies. Gives the first step whose memory holds other values in
    // the end than after `one_by_one`.
    int first_other(const Replay& one_by_one) {
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        const CopyAllWritten apart(state_.plan->direct);
        begin();
        const GeneratorGuard generators(slice_);
        follow(*state_.plan, false);
        int first = -1;
        const auto compare = [&](int reg, const Tensor& mine) {
            const int made_by = program_.memory_of(reg).made_by;
            const Step* const step = made_by < 0 ? nullptr : &program_.steps[static_cast<std::size_t>(made_by)];
            const Tensor other = one_by_one.value_of(reg);
            if (!mine || !other || (step && step->action->op->is(kUninitialized))) return;
            if (digest_of({&mine, 1}) == digest_of({&other, 1})) return;
            if (const int last = last_write(reg, made_by); first < 0 || last < first) first = last;
        };
        for (const int reg : state_.plan->passing) compare(reg, value_of(reg));
        for (const int reg : state_.plan->saved) {
            const BufferBinding& binding = state_.bindings[static_cast<std::size_t>(program_.of(reg).memory)];
            compare(reg, look_at(program_.of(reg), binding.storage, binding.shift));
        }
        return first;
    }
    // How long it takes but for the commit, where all that is written are copies. The first time it makes the plan.
    std::int64_t time() {
        const ModeGuard quietly(kNoGrad | kInBackward, true), plainly(kTiming | kInferenceMode | kSavedHooks, false);
        const CopyAllWritten apart(state_.plan ? state_.plan->direct : slice_.direct);
        const std::int64_t start = now_ns();
        begin();
        note_wanted(state_);
        const GeneratorGuard generators(slice_);
        state_.plan ? follow(*state_.plan, false) : run_all();
        return now_ns() - start;
    }
    std::vector<ReadNumber> take_numbers() { return std::move(steps_.numbers); }

private:
    void begin() {
        check_inputs(program_, slice_);
        [[maybe_unused]] const DispatchFrame frame;
        load_inputs(state_);
    }
    Tensor value_of(int reg) const { return reg < 0 ? Tensor() : state_.regs[static_cast<std::size_t>(reg)]; }
    // What steps have made as they are; calls write it there.
    void put_pinned() {
        for (const Pinned& one : program_.pinned) {
            const Tensor& made = state_.regs[static_cast<std::size_t>(one.reg)];
            char* const to = state_.bindings[static_cast<std::size_t>(one.into)].address() + one.place;
            if (made && made->storage->data != to)
                std::memcpy(to, made->storage->data,
                            static_cast<std::size_t>(program_.memories[static_cast<std::size_t>(one.memory)].bytes));
        }
    }
    // That reaches the memory of a register, which `maker` made, or which was there before (null).
    int last_write(int reg, int maker) const {
        const auto& writers = program_.memory_of(reg).writers;
        return writers.empty() ? maker : writers.back();
    }

    // The first replay of a slice makes its plan. While a plan is in use, another replay goes without.
    void run_all() {
        if (slice_.planned) {
            for (const ReplayStep& one : slice_.replay_steps) steps_.run(one), drop(one);
            return;
        }
        auto planner = std::make_unique<Planner>(program_, slice_);
        for (const int i : slice_.inputs) {
            const int memory = program_.of(program_.inputs[static_cast<std::size_t>(i)].reg).memory;
            planner->bind_address(memory, state_.bindings[static_cast<std::size_t>(memory)].address());
        }
        kernels::Capture capture{planner->loops()};
        for (std::size_t i = 0; i < slice_.replay_steps.size(); ++i) {
            if (!planner->repeat(static_cast<int>(i), state_.regs)) {
                capture.calls.clear();
                capture.complete = true;
                steps_.run(slice_.replay_steps[i], &capture);
                planner->note(static_cast<int>(i), capture, state_.regs);
            }
            drop(slice_.replay_steps[i]);
        }
        slice_.plan = planner->make();
        slice_.planned = true;
        Planner::code_later(std::move(planner), *slice_.plan);
    }

    void follow(Plan& plan, bool over_gradients) {
        [[maybe_unused]] const DispatchFrame frame;
        if (plan.codes) plan.advance_code();
        follow(plan, 0, plan.safe);
        take_gradients(state_, over_gradients);
        follow(plan, plan.safe, plan.order.size());
    }
    void follow(Plan& plan, std::size_t begin, std::size_t end) {
        const Planned* now = nullptr;
        try {
            for (const Planned& one : std::span(plan.order).subspan(begin, end - begin)) follow(plan, *(now = &one));
        } catch (const ReplayFailed&) {
            throw;
        } catch (const Error& error) {  // of a call
            const ReplayStep& of = slice_.replay_steps[static_cast<std::size_t>(now->step)];
            throw ReplayFailed(error.what(), &program_.steps[static_cast<std::size_t>(of.step)]);
        }
    }
    void follow(Plan& plan, const Planned& one) {
        if (one.takes_long)
            run_long(*one.call);
        else if (one.call)
            one.call->run();
        else if (one.step < 0)
            state_.regs[static_cast<std::size_t>(-1 - one.step)] = Tensor();
        else
            run_between(plan, slice_.replay_steps[static_cast<std::size_t>(one.step)]);
    }
    static void run_long(const kernels::KernelCall& call) {
        const WithoutGil released(WithoutGil::kWorthIt + 1);
        call.run();
    }
    void run_between(Plan& plan, const ReplayStep& step) {
        steps_.run(step);
        for (int i = 0; i < step.outputs; ++i) {
            const int reg = slice_.registers[static_cast<std::size_t>(step.first + step.inputs + i)];
            if (reg < 0) continue;
            const int memory = program_.of(reg).memory;
            if (program_.memories[static_cast<std::size_t>(memory)].made_by == step.step)
                plan.move(memory, state_.regs[static_cast<std::size_t>(reg)]->storage->data);
        }
    }

    void drop(const ReplayStep& run) {
        const int* const dropped = slice_.registers.data() + run.first + run.inputs + run.outputs;
        for (int i = 0; i < run.dropped; ++i)
            if (const auto reg = static_cast<std::size_t>(dropped[i]); !slice_.wanted[reg]) state_.regs[reg] = Tensor();
    }

    Program& program_;
    Slice& slice_;
    ReplayState state_;
    StepRunner steps_;
};

void check_can_replay(const Program& program) {
    if (!program.finished)
        fail(ErrorKind::Runtime, "replay: expected a block that has ended; it is under way or failed");
    if (!Interpreter::make_way())
        fail(ErrorKind::NotImplemented,
             "replay: not supported in a block of keep_graph() or memory.budget(), or under another interpreter; do it "
             "outside");
    if (mode(kWatchWrites) || backward_serial())
        fail(ErrorKind::NotImplemented, "replay: not supported %s; do it outside",
             backward_serial() ? "in a backward, as in a hook" : "under allow_mutation_on_saved_tensors()");
}

void check_block(const Program& program) {
    check_can_replay(program);
    if (program.once.empty()) return;
    const Action action{.code = program.once[0].code, .instruction = program.once[0].instruction};
    const Step at{&action};
    throw ReplayFailed(program.once[0].text, &at);
}

// Nothing is taken out of a program while one of its replays runs.
class UnderWay {
public:
    explicit UnderWay(Program& program) : program_(program) { ++program_.under_way; }
    ~UnderWay() { --program_.under_way; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;

private:
    Program& program_;
};

void replay_now(Program& program, int target) {
    target < 0 ? check_block(program) : check_can_replay(program);
    notice_writes(program);
    Slice& slice = slice_of(program, target);
    check_writes(program, slice);
    for (const int i : slice.tracked) check_unchanged(program, i, i == target);
    {
        const UnderWay counted(program);
        Replay(program, slice, true).go();
    }
    settle_values(program, slice);
}

// All that a program from a file may fail with is one kind of error.
template <class Work>
void with_errors_of(const Program& program, const Work& work) {
    if (!program.loaded) return work();
    try {
        work();
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
    with_errors_of(program, [&] { replay_now(program, target); });
}

void check_whole(Program& program) {
    with_errors_of(program, [&] {
        check_block(program);
        notice_writes(program);
        check_leaves(program);
    });
}

std::vector<Tensor> replay_call(Program& program, std::vector<ReadNumber>& numbers) {
    check_can_replay(program);
    Replay replay(program, slice_of(program, -1), true);
    std::vector<Tensor> results = replay.go();
    numbers = replay.take_numbers();
    return results;
}

std::vector<Tensor> replay_at(Program& program, std::span<const InputPlace> inputs) {
    return Replay(program, slice_of(program, -1), true).go_at(inputs);
}

bool replay_bare(Program& program, std::span<const InputPlace> inputs) {
    Slice& slice = slice_of(program, -1);
    if (!slice.plan || !slice.plan->bare || (slice.plan->arena_bytes && !slice.plan->kept_arena)) return false;
    [[maybe_unused]] const DispatchFrame frame;
    Plan& plan = *slice.plan;
    for (const int i : slice.inputs) {
        const InputPlace& place = inputs[static_cast<std::size_t>(i)];
        const KeptRegister& reg = program.of(program.inputs[static_cast<std::size_t>(i)].reg);
        plan.move(reg.memory, place.storage->data + place.offset - reg.offset);
    }
    if (plan.codes) plan.advance_code();
    for (const Planned& one : plan.order) one.call->run();
    for (const auto& [step, write] : slice.counted) {
        const KeptWrite& written =
            program.steps[static_cast<std::size_t>(step)].writes[static_cast<std::size_t>(write)];
        ++inputs[static_cast<std::size_t>(program.memory_of(written.reg).input)].storage->version;
    }
    return true;
}

std::int64_t measure(Program& program, std::int64_t most) {
    check_can_replay(program);
    Slice& slice = slice_of(program, -1);
    const std::int64_t until = now_ns() + most;
    Replay(program, slice, true).time();
    std::int64_t least = Replay(program, slice, true).time();
    for (int i = 0; i < 100 && now_ns() < until; ++i) least = std::min(least, Replay(program, slice, true).time());
    return least;
}

Rehearsal rehearse(Program& program) {
    check_can_replay(program);
    Slice& slice = slice_of(program, -1);
    Replay one_by_one(program, slice, false);
    Rehearsal result{one_by_one.digests()};
    if (slice.plan) result.other_by_plan = Replay(program, slice, true).first_other(one_by_one);
    return result;
}

}  // namespace clew
