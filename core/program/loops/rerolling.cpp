#include "core/program/loops/rerolling.h"

#include "core/program/passes/passes.h"

#include <algorithm>
#include <utility>

#include "core/program/own_operations.h"
#include "core/program/replay/slice.h"
#include "core/program/results/outcome.h"

namespace clew {

std::vector<int> Folding::go(std::vector<int>& constants) {
    frame_all();
    owns_.resize(found_.size(), -1);
    for (std::size_t i = 0; i < program_.steps.size(); ++i) {
        const int loop = finder_.loop_of_step(static_cast<int>(i));
        if (loop < 0) {
            take_step(static_cast<int>(i));
            continue;
        }
        take_loop(static_cast<std::size_t>(loop));
        i = static_cast<std::size_t>(found(loop).end()) - 1;
    }
    put_back(constants);
    return std::move(steps_);
}

bool Folding::in_loop(int memory) const {
    const int made = old_memory(memory).made_by;
    return made >= 0 && finder_.loop_of_step(made) >= 0;
}

Folding::Maker Folding::maker_of(int memory) const {
    const int made = old_memory(memory).made_by, loop = finder_.loop_of_step(made);
    const int step = (made - found(loop).begin) % found(loop).period;
    return {static_cast<std::size_t>(loop), found(loop).iteration_of(made), step, finder_.output_of(memory)};
}

const Action* Folding::action_of(const Action* action) {
    const Action*& known = actions_[action];
    if (known) return known;
    return known = action->varies ? &folded_.keep_alone(*action) : folded_.keep(Action(*action));
}

int Folding::add_memory(std::int64_t bytes, int input, int made_by) {
    folded_.memories.emplace_back(bytes, input, made_by);
    return static_cast<int>(folded_.memories.size()) - 1;
}

int Folding::add_register(const KeptRegister& like, Place at, int made_by) {
    return folded_.add_register({like.layout, at.begin + like.offset, at.memory, made_by, like.dtype, like.number});
}

Folding::Place Folding::place_of(int memory) {
    int& known = memories_[static_cast<std::size_t>(memory)];
    if (known < 0 && in_loop(memory)) {
        const Maker by = maker_of(memory);
        const LoopFrames& frames = frames_[by.loop];
        return {new_register(owns_[by.loop]).memory,
                frames.frame_of(by.iteration) + frames.place_of(by.step, by.output)};
    }
    if (known < 0) {
        const Memory& old = old_memory(memory);
        known = add_memory(old.bytes, old.input, old.made_by < 0 ? -1 : steps());
    }
    return {known, 0};
}

// What a step reads. What a loop made, or a view that was made in one, is looked at anew.
int Folding::read_register(int reg) {
    if (reg < 0) return -1;
    int& known = registers_[static_cast<std::size_t>(reg)];
    if (known >= 0) return known;
    const KeptRegister& old = program_.of(reg);
    if (old.made_by < 0) {
        const Place at = place_of(old.memory);
        return known = add_register(old, at, -1);
    }
    return known = look(old, place_of(old.memory), first_on(old.memory));
}

int Folding::first_on(int memory) {
    int reg = new_memory(place_of(memory).memory).last;
    if (reg < 0) return first_register(memory);
    while (new_register(reg).before >= 0) reg = new_register(reg).before;
    return reg;
}

int Folding::look(const KeptRegister& like, Place at, int from) {
    const AliasAttrs attributes{like.layout.get(), at.begin + like.offset - new_register(from).offset, like.dtype};
    const int made = add_register(like, at, steps());
    Action action{.op = &alias_op, .attributes = as_bytes(attributes)};
    folded_.steps.emplace_back(folded_.keep(std::move(action)), Numbers{from}, Numbers{made});
    return made;
}

// The register of the step that made the memory, or of the input or constant.
int Folding::first_register(int memory) {
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

// Of the step that comes next.
void Folding::note_writes(const Few<KeptWrite, 1>& writes) {
    for (const KeptWrite& one : writes) new_memory(new_register(one.reg).memory).writers.push_back(steps());
}

void Folding::take_step(int index) {
    const Step& old = old_step(index);
    Numbers inputs, outputs;
    Few<KeptWrite, 1> writes;
    for (const int reg : old.inputs) inputs.push_back(read_register(reg));
    for (const KeptWrite& one : old.writes) writes.push_back({read_register(one.reg), one.bump, one.through});
    const int now = steps();
    for (const int reg : old.outputs) {
        int made = reg < 0 ? -1 : registers_[static_cast<std::size_t>(reg)];
        if (reg >= 0 && made < 0) {
            const KeptRegister& of = program_.of(reg);
            if (of.made_by < 0)
                made = read_register(reg);
            else
                made = registers_[static_cast<std::size_t>(reg)] = add_register(of, place_of(of.memory), now);
        }
        outputs.push_back(made);
    }
    note_writes(writes);
    Step& step = folded_.steps.emplace_back(action_of(old.action), std::move(inputs), std::move(outputs));
    step.writes = std::move(writes);
    step.index = old.index;
    steps_[static_cast<std::size_t>(index)] = now;
}

void Folding::put_back(std::vector<int>& constants) {
    program_.slices.clear();
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

std::vector<int> fold(Program& program, std::vector<int>& constants) {
    constexpr std::size_t kFewest = 500;  // steps
    if (program.recorded || program.steps.size() < kFewest || !program.finished || !program.outcome ||
        !program.nodes.empty() || !program.tracked.empty() || !is_pass_on("reroll_loops"))
        return {};
    Folding folding(program);
    return folding.is_worth_it() ? folding.go(constants) : std::vector<int>();
}

}  // namespace clew
