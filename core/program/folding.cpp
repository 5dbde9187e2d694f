// Makes the program whose loops are steps: Note [Loops of programs].
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/program/loop.h"
#include "core/program/loop_body.h"
#include "core/program/loop_finding.h"
#include "core/program/outcome.h"
#include "core/program/own_operations.h"

namespace clew {

class Folding {
public:
    explicit Folding(Program& program)
        : program_(program),
          finder_(program),
          found_(finder_.find()),
          registers_(program.registers.size(), -1),
          memories_(program.memories.size(), -1),
          steps_(program.steps.size(), -1) {}

    bool is_worth_it() const { return !found_.empty(); }

    std::vector<int> go(std::vector<int>& constants) {
        frame_all();
        owns_.resize(found_.size(), -1);
        for (std::size_t i = 0; i < program_.steps.size(); ++i) {
            const int loop = finder_.loop_of_step(static_cast<int>(i));
            if (loop < 0) {
                take_step(static_cast<int>(i));
                continue;
            }
            take_loop(static_cast<std::size_t>(loop));
            i = static_cast<std::size_t>(found_[static_cast<std::size_t>(loop)].end()) - 1;
        }
        put_back(constants);
        return std::move(steps_);
    }

private:
    // A program's memory in the folded one.
    struct Place {
        int memory;
        std::int64_t begin;
    };
    // Who made memory, if it is in a loop.
    struct Maker {
        std::size_t loop;
        int turn, step, output;
    };

    const Memory& old_memory(int memory) const { return program_.memories[static_cast<std::size_t>(memory)]; }
    Memory& new_memory(int memory) { return folded_.memories[static_cast<std::size_t>(memory)]; }
    const FoundLoop& found(std::size_t loop) const { return found_[loop]; }

    bool in_loop(int memory) const {
        const int made = old_memory(memory).made_by;
        return made >= 0 && finder_.loop_of_step(made) >= 0;
    }
    Maker maker_of(int memory) const {
        const int made = old_memory(memory).made_by;
        const auto loop = static_cast<std::size_t>(finder_.loop_of_step(made));
        const int step = (made - found(loop).begin) % found(loop).period;
        return {loop, found(loop).turn_of(made), step, finder_.output_of(memory)};
    }

    void keep_in_frame(int memory) {
        if (!in_loop(memory)) return;
        const Maker by = maker_of(memory);
        frames_[by.loop].keep(by.step, by.output, old_memory(memory).bytes);
    }

    // What is read outside of the turn that makes it.
    void frame_all() {
        for (const FoundLoop& loop : found_) {
            int lags = 0;
            for (const LoopMemory& one : loop.operands)
                if (one.kind == LoopMemory::Kind::Own) lags = std::max(lags, one.lag);
            frames_.emplace_back(lags);
        }
        for (std::size_t i = 0; i < program_.steps.size(); ++i) {
            const int loop = finder_.loop_of_step(static_cast<int>(i));
            const int turn = loop < 0 ? -1 : found(static_cast<std::size_t>(loop)).turn_of(static_cast<int>(i));
            if (loop >= 0 && turn != found(static_cast<std::size_t>(loop)).shown) continue;
            for_each_operand(program_.steps[i], [&](int reg) {
                if (reg < 0 || !in_loop(program_.of(reg).memory)) return;
                const Maker by = maker_of(program_.of(reg).memory);
                if (loop != static_cast<int>(by.loop) || turn != by.turn) keep_in_frame(program_.of(reg).memory);
            });
        }
        for (const int reg : finder_.all_wanted()) keep_in_frame(program_.of(reg).memory);
    }

    const Action* action_of(const Action* action) {
        const Action*& known = actions_[action];
        if (known) return known;
        return known = action->varies ? &folded_.keep_alone(*action) : folded_.keep(Action(*action));
    }

    int add_memory(std::int64_t bytes, int input, int made_by) {
        folded_.memories.emplace_back(bytes, input, made_by);
        return static_cast<int>(folded_.memories.size()) - 1;
    }
    int add_register(const KeptRegister& like, LayoutRef layout, DType dtype, Place at, int made_by, bool number) {
        const int reg = static_cast<int>(folded_.registers.size());
        int& last = new_memory(at.memory).last;
        folded_.registers.emplace_back(std::move(layout), at.begin + like.offset, at.memory, made_by, dtype, number,
                                       std::exchange(last, reg));
        return reg;
    }
    int steps() const { return static_cast<int>(folded_.steps.size()); }

    Place place_of(int memory) {
        int& known = memories_[static_cast<std::size_t>(memory)];
        if (known < 0 && in_loop(memory)) {
            const Maker by = maker_of(memory);
            const LoopFrames& frames = frames_[by.loop];
            return {folded_.registers[static_cast<std::size_t>(owns_[by.loop])].memory,
                    frames.frame_of(by.turn) + frames.place_of(by.step, by.output)};
        }
        if (known < 0) {
            const Memory& old = old_memory(memory);
            known = add_memory(old.bytes, old.input, old.made_by < 0 ? -1 : steps());
        }
        return {known, 0};
    }

    // What a step reads. What a loop made, or a view that was made in one, is looked at anew.
    int read_register(int reg) {
        if (reg < 0) return -1;
        int& known = registers_[static_cast<std::size_t>(reg)];
        if (known >= 0) return known;
        const KeptRegister& old = program_.of(reg);
        if (old.made_by < 0) {
            const Place at = place_of(old.memory);
            return known = add_register(old, old.layout, old.dtype, at, -1, old.number);
        }
        return known = look(old, place_of(old.memory), any_on(old.memory));
    }
    int any_on(int memory) {
        int reg = new_memory(place_of(memory).memory).last;
        if (reg < 0) return first_register(memory);
        while (folded_.registers[static_cast<std::size_t>(reg)].before >= 0)
            reg = folded_.registers[static_cast<std::size_t>(reg)].before;
        return reg;
    }
    int look(const KeptRegister& like, Place at, int from) {
        const AliasAttrs attributes{like.layout.get(),
                                    at.begin + like.offset - folded_.registers[static_cast<std::size_t>(from)].offset,
                                    like.dtype};
        const int made = add_register(like, like.layout, like.dtype, at, steps(), false);
        Action action{.op = &alias_op, .attributes = as_bytes(attributes)};
        folded_.steps.emplace_back(folded_.keep(std::move(action)), Numbers{from}, Numbers{made});
        return made;
    }
    // The register of the step that made the memory, or of the input or constant.
    int first_register(int memory) {
        const Memory& old = old_memory(memory);
        int reg = old.last;
        if (old.input >= 0)
            reg = program_.inputs[static_cast<std::size_t>(old.input)].reg;
        else if (old.made_by >= 0)
            reg = program_.steps[static_cast<std::size_t>(old.made_by)]
                      .outputs[static_cast<std::size_t>(finder_.output_of(memory))];
        else
            while (program_.of(reg).before >= 0) reg = program_.of(reg).before;
        return read_register(reg);
    }

    void take_step(int index) {
        const Step& old = program_.steps[static_cast<std::size_t>(index)];
        Numbers inputs, outputs;
        Few<KeptWrite, 1> writes;
        for (const int reg : old.inputs) inputs.push_back(read_register(reg));
        for (const KeptWrite& one : old.writes) writes.push_back({read_register(one.reg), one.bump, one.through});
        const int now = steps();
        for (const int reg : old.outputs) {
            int made = reg < 0 ? -1 : registers_[static_cast<std::size_t>(reg)];
            if (reg >= 0 && made < 0) {
                const KeptRegister& of = program_.of(reg);
                if (of.made_by < 0 || of.made_by > index)
                    made = read_register(reg);
                else
                    made = registers_[static_cast<std::size_t>(reg)] =
                        add_register(of, of.layout, of.dtype, place_of(of.memory), now, of.number);
            }
            outputs.push_back(made);
        }
        for (const KeptWrite& one : writes)
            new_memory(folded_.registers[static_cast<std::size_t>(one.reg)].memory).writers.push_back(now);
        Step& step = folded_.steps.emplace_back(action_of(old.action), std::move(inputs), std::move(outputs));
        step.writes = std::move(writes);
        step.index = old.index;
        steps_[static_cast<std::size_t>(index)] = now;
    }

    // Inputs of a loop's step, as they turn out to be needed.
    class StepInputs final : public LoopBody::Inputs {
    public:
        StepInputs(Folding& folding, Loop& loop) : folding_(folding), loop_(loop) {}
        At of_memory(int memory) override { return add(folding_.first_register(memory)); }
        At of_loop(int loop) override { return add(folding_.owns_[static_cast<std::size_t>(loop)]); }
        Numbers registers{};

    private:
        At add(int reg) {
            const std::int64_t offset = folding_.folded_.registers[static_cast<std::size_t>(reg)].offset;
            for (std::size_t i = 0; i < registers.size(); ++i)
                if (registers[i] == reg) return {static_cast<int>(i), -offset};
            registers.push_back(reg);
            loop_.reaches.emplace_back();
            return {static_cast<int>(registers.size()) - 1, -offset};
        }
        Folding& folding_;
        Loop& loop_;
    };

    void take_loop(std::size_t index) {
        const FoundLoop& of = found(index);
        loops_.push_back(std::make_unique<Loop>());
        Loop& loop = *loops_.back();
        loop.turns = of.turns;
        loop.bytes = std::max(frames_[index].bytes(of.turns), std::int64_t{1});
        StepInputs inputs(*this, loop);
        LoopBody(program_, finder_, found_, frames_, index, loop, inputs).make();
        begin_frames(index, loop, inputs);
        const int now = steps();
        const Action& line = *program_.steps[static_cast<std::size_t>(of.begin)].action;
        const LoopAttrs attributes{&loop};
        Action action{
            .op = &loop_op, .attributes = as_bytes(attributes), .code = line.code, .instruction = line.instruction};
        Few<KeptWrite, 1> writes;
        for (std::size_t i = 0; i < loop.reaches.size(); ++i)
            if (loop.reaches[i].written) writes.push_back({inputs.registers[i], 0, -1});
        for (const KeptWrite& one : writes)
            new_memory(folded_.registers[static_cast<std::size_t>(one.reg)].memory).writers.push_back(now);
        const int memory = add_memory(loop.bytes, -1, now);
        const KeptRegister whole{};
        owns_[index] = add_register(whole, Layout::make(Dims{loop.bytes}), DType::UInt8, {memory, 0}, now, false);
        Step& step = folded_.steps.emplace_back(folded_.keep(std::move(action)), std::move(inputs.registers),
                                                Numbers{owns_[index]});
        step.writes = std::move(writes);
        copy_wanted(index);
    }

    void begin_frames(std::size_t index, Loop& loop, StepInputs& inputs) {
        const FoundLoop& of = found(index);
        std::vector<int> seen;  // memories
        int lags = 0;
        for (const LoopMemory& one : of.operands)
            if (one.kind == LoopMemory::Kind::Own) lags = std::max(lags, one.lag);
        for (int turn = 0; turn < std::min(lags, of.turns); ++turn) {
            std::size_t next = 0;
            for (int i = 0; i < of.period; ++i)
                for_each_operand(
                    program_.steps[static_cast<std::size_t>(of.begin + turn * of.period + i)], [&](int reg) {
                        const LoopMemory& what = of.operands[next++];
                        if (what.kind != LoopMemory::Kind::Own || what.lag <= turn) return;
                        const int memory = program_.of(reg).memory;
                        if (std::ranges::find(seen, memory) != seen.end()) return;
                        seen.push_back(memory);
                        const LoopBody::Inputs::At at = inputs.of_memory(memory);
                        const std::int64_t bytes = old_memory(memory).bytes;
                        const LoopFrames& frames = frames_[index];
                        loop.begins.push_back(
                            {at.input, at.begin,
                             frames.frame_of(turn - what.lag) + frames.place_of(what.step, what.output), bytes});
                        loop.reaches[static_cast<std::size_t>(at.input)].add(at.begin, at.begin + bytes);
                    });
        }
    }

    // What somebody has when the call has ended is memory of its own.
    void copy_wanted(std::size_t index) {
        for (const int reg : finder_.all_wanted()) {
            const KeptRegister& old = program_.of(reg);
            if (!in_loop(old.memory) || maker_of(old.memory).loop != index) continue;
            const int from = look(old, place_of(old.memory), any_on(old.memory));
            const int copy = add_memory(old_memory(old.memory).bytes, -1, steps());
            memories_[static_cast<std::size_t>(old.memory)] = copy;
            const int made = add_register(old, old.layout, old.dtype, {copy, 0}, steps(), old.number);
            registers_[static_cast<std::size_t>(reg)] = made;
            folded_.steps.emplace_back(folded_.keep(Action{.op = &load_op}), Numbers{from}, Numbers{made});
        }
    }

    void put_back(std::vector<int>& constants) {
        for (Input& input : program_.inputs) input.reg = read_register(input.reg);
        program_.outcome->for_each_register([&](int& reg) { reg = read_register(reg); });
        for (Leaf& leaf : program_.leaves)
            if (leaf.last >= 0) leaf.last = steps_[static_cast<std::size_t>(leaf.last)];
        for (const std::size_t one : program_.varying) read_register(program_.constants[one].first);
        for (const NumberUse& use : program_.number_uses) read_register(program_.constants[use.constant].first);
        std::vector<std::pair<int, Tensor>> left;
        constants.assign(program_.constants.size(), -1);
        for (std::size_t i = 0; i < program_.constants.size(); ++i) {
            auto& [reg, value] = program_.constants[i];
            const int now = registers_[static_cast<std::size_t>(reg)];
            if (now < 0) continue;
            constants[i] = static_cast<int>(left.size());
            left.emplace_back(now, std::move(value));
        }
        for (std::size_t& one : program_.varying) one = static_cast<std::size_t>(constants[one]);
        for (NumberUse& use : program_.number_uses) use.constant = static_cast<std::size_t>(constants[use.constant]);
        folded_.forget_known();
        program_.constants = std::move(left);
        program_.loops = std::move(loops_);
        program_.recorded = program_.steps.size();
        std::swap(program_.slabs, folded_.slabs);
        program_.registers = std::move(folded_.registers);
        program_.memories = std::move(folded_.memories);
        program_.steps = std::move(folded_.steps);
        program_.actions = std::move(folded_.actions);
    }

    Program& program_;
    LoopFinder finder_;
    std::vector<FoundLoop> found_;
    std::vector<LoopFrames> frames_;
    std::vector<int> owns_;  // of each loop: the register of its own memory
    std::vector<std::unique_ptr<Loop>> loops_;
    std::vector<int> registers_, memories_, steps_;  // of the program: in the folded one
    std::unordered_map<const Action*, const Action*> actions_;
    Recorded folded_;
};

std::vector<int> fold(Program& program, std::vector<int>& constants) {
    constexpr std::size_t kFewest = 500;  // steps
    if (program.recorded || program.steps.size() < kFewest || !program.finished || !program.outcome ||
        !program.nodes.empty() || !program.living.empty())
        return {};
    Folding folding(program);
    return folding.is_worth_it() ? folding.go(constants) : std::vector<int>();
}

}  // namespace clew
