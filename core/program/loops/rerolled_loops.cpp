// The loops' steps of a folded program.
#include <algorithm>
#include <utility>

#include "core/program/loops/rerolling.h"
#include "core/program/own_operations.h"

namespace clew {

void Folding::keep_in_frame(int memory) {
    if (!in_loop(memory)) return;
    const Maker by = maker_of(memory);
    frames_[by.loop].keep(by.step, by.output, old_memory(memory).bytes);
}

// What is read outside of the iteration that makes it.
void Folding::frame_all() {
    for (const FoundLoop& loop : found_) frames_.emplace_back(loop.lags);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
        const int loop = finder_.loop_of_step(static_cast<int>(i));
        const int iteration = loop < 0 ? -1 : found(loop).iteration_of(static_cast<int>(i));
        if (loop >= 0 && iteration != found(loop).shown) continue;
        for_each_operand(program_.steps[i], [&](int reg) {
            if (reg < 0 || !in_loop(program_.of(reg).memory)) return;
            const Maker by = maker_of(program_.of(reg).memory);
            if (loop != static_cast<int>(by.loop) || iteration != by.iteration) keep_in_frame(program_.of(reg).memory);
        });
    }
    for (const int reg : finder_.all_wanted()) keep_in_frame(program_.of(reg).memory);
}

// Inputs of a loop's step, as they turn out to be needed.
class Folding::StepInputs final : public LoopBody::Inputs {
public:
    StepInputs(Folding& folding, Loop& loop) : folding_(folding), loop_(loop) {}
    At of_memory(int memory) override {
        const int reg = folding_.first_register(memory);
        return {input_of(reg), folding_.place_of(memory).begin - folding_.new_register(reg).offset};
    }
    At of_loop(int loop) override { return {input_of(folding_.owns_[static_cast<std::size_t>(loop)]), 0}; }
    Numbers registers{};

private:
    int input_of(int reg) {
        for (std::size_t i = 0; i < registers.size(); ++i)
            if (registers[i] == reg) return static_cast<int>(i);
        registers.push_back(reg);
        loop_.reaches.emplace_back();
        return static_cast<int>(registers.size()) - 1;
    }
    Folding& folding_;
    Loop& loop_;
};

void Folding::take_loop(std::size_t index) {
    const FoundLoop& of = found_[index];
    loops_.push_back(std::make_unique<Loop>());
    Loop& loop = *loops_.back();
    loop.iterations = of.iterations;
    loop.bytes = std::max(frames_[index].bytes(of.iterations), std::int64_t{1});
    StepInputs inputs(*this, loop);
    LoopBody(program_, finder_, found_, frames_, index, loop, inputs).make();
    begin_frames(index, loop, inputs);
    const int now = steps();
    const Action& line = *old_step(of.begin).action;
    const LoopAttrs attributes{&loop};
    Action action{
        .op = &loop_op, .attributes = as_bytes(attributes), .code = line.code, .instruction = line.instruction};
    Few<KeptWrite, 1> writes;
    for (std::size_t i = 0; i < loop.reaches.size(); ++i)
        if (loop.reaches[i].written) writes.push_back({inputs.registers[i], 0, -1});
    note_writes(writes);
    const int memory = add_memory(loop.bytes, -1, now);
    const KeptRegister whole{Layout::make(Dims{loop.bytes}), 0, memory, now, DType::UInt8, false};
    owns_[index] = add_register(whole, {memory, 0}, now);
    Step& step =
        folded_.steps.emplace_back(folded_.keep(std::move(action)), std::move(inputs.registers), Numbers{owns_[index]});
    step.writes = std::move(writes);
    copy_wanted(index);
}

void Folding::begin_frames(std::size_t index, Loop& loop, StepInputs& inputs) {
    const FoundLoop& of = found_[index];
    std::vector<int> seen;  // memories
    for (int iteration = 0; iteration < of.lags; ++iteration) {
        std::size_t next = 0;
        for (int i = 0; i < of.period; ++i)
            for_each_operand(old_step(of.begin + iteration * of.period + i), [&](int reg) {
                const LoopMemory& what = of.operands[next++];
                if (what.kind != LoopMemory::Kind::Own || what.lag <= iteration) return;
                const int memory = program_.of(reg).memory;
                if (std::ranges::find(seen, memory) != seen.end()) return;
                seen.push_back(memory);
                const LoopBody::Inputs::At at = inputs.of_memory(memory);
                const std::int64_t bytes = old_memory(memory).bytes;
                const LoopFrames& frames = frames_[index];
                loop.begins.push_back({at.input, at.begin,
                                       frames.frame_of(iteration - what.lag) + frames.place_of(what.step, what.output),
                                       bytes});
                loop.reaches[static_cast<std::size_t>(at.input)].add(at.begin, at.begin + bytes);
            });
    }
}

// What somebody has when the call has ended is memory of its own.
void Folding::copy_wanted(std::size_t index) {
    for (const int reg : finder_.all_wanted()) {
        const KeptRegister& old = program_.of(reg);
        if (!in_loop(old.memory) || maker_of(old.memory).loop != index) continue;
        const int from = look(old, place_of(old.memory), first_on(old.memory));
        const int copy = add_memory(old_memory(old.memory).bytes, -1, steps());
        memories_[static_cast<std::size_t>(old.memory)] = copy;
        const int made = add_register(old, {copy, 0}, steps());
        registers_[static_cast<std::size_t>(reg)] = made;
        folded_.steps.emplace_back(folded_.keep(Action{.op = &load_op}), Numbers{from}, Numbers{made});
    }
}

}  // namespace clew
