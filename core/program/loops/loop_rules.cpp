// Which loops are left as they are: Note [Loops of programs].
#include <algorithm>
#include <tuple>
#include <vector>

#include "core/program/loops/loop_finding.h"

namespace clew {

bool LoopFinder::may_be_folded(const Step& step) {
    const Action& action = *step.action;
    return action.kind == StepKind::Run && !action.generator && !action.op->draws && !action.varies;
}

// Only what the call itself made, and what lies in a frame before the first only if nobody else looks at it.
bool LoopFinder::may_write(const FoundLoop& loop) const {
    std::size_t next = 0;
    for (int i = 0; i < loop.period; ++i) {
        const Step& step = step_at(loop.begin + loop.shown * loop.period + i);
        next += step.inputs.size() + step.outputs.size();
        for (std::size_t k = 0; k < step.writes.size(); ++k) {
            const LoopMemory& what = loop.operands[next++];
            if (step.writes[k].through >= 0 || what.kind == LoopMemory::Kind::Other) return false;
            if (what.kind == LoopMemory::Kind::Fixed &&
                (memory_at(what.memory).made_by < 0 || constant_of(what.memory) >= 0))
                return false;
            if (what.kind != LoopMemory::Kind::Own || what.lag == 0) continue;
            for (int iteration = 0; iteration < what.lag; ++iteration) {
                const Step& in = step_at(loop.begin + iteration * loop.period + i);
                const int memory = reg_at(in.writes[k].reg).memory;
                if (is_met_from(loop.end(), memory)) return false;
                for (int reg = memory_at(memory).last; reg >= 0; reg = reg_at(reg).before)
                    if (wanted_[static_cast<std::size_t>(reg)]) return false;
            }
        }
    }
    return has_one_name_each(loop) && tells_operands_apart(loop);
}

// Which memory of the body a call's operand is in, the planner tells by its address. So no step has two that are
// different memories of the body in one of the program's, as x[0] and x[t] are.
bool LoopFinder::tells_operands_apart(const FoundLoop& loop) const {
    using Kind = LoopMemory::Kind;
    struct Name {
        int storage;
        Kind kind;
        int memory, sign;
        std::int64_t shift;
    };
    const auto in_frames = [](int index) { return ~index; };
    const auto name_of_memory = [&](const LoopMemory& what) -> Name {
        if (what.kind == Kind::Own) return {in_frames(static_cast<int>(found_.size())), what.kind, 0, 0, 0};
        if (what.kind == Kind::Other) return {in_frames(what.loop), what.kind, 0, what.sign, 0};
        const int made_by = memory_at(what.memory).made_by, other = made_by < 0 ? -1 : loop_of_step(made_by);
        return {other < 0 ? what.memory : in_frames(other), what.kind, what.memory, 0, what.shift};
    };
    std::size_t next = 0;
    for (int i = 0; i < loop.period; ++i) {
        std::vector<Name> met;
        bool apart = true;
        for_each_operand(step_at(loop.begin + loop.shown * loop.period + i), [&](int) {
            const LoopMemory& what = loop.operands[next++];
            if (what.kind == Kind::None || (what.kind == Kind::Own && what.lag == 0)) return;
            const Name name = name_of_memory(what);
            for (const Name& other : met)
                apart = apart && (name.storage != other.storage ||
                                  std::tie(name.kind, name.memory, name.sign, name.shift) ==
                                      std::tie(other.kind, other.memory, other.sign, other.shift));
            met.push_back(name);
        });
        if (!apart && !loop.moves[static_cast<std::size_t>(i)]) return false;
    }
    return true;
}

// What lies in a frame before the first iteration is a copy: no iteration finds it where it was, too.
bool LoopFinder::has_one_name_each(const FoundLoop& loop) const {
    std::vector<int> copied;
    for (int iteration = 0; iteration < kMostLag; ++iteration) {
        std::size_t next = 0;
        for (int i = 0; i < loop.period; ++i)
            for_each_operand(step_at(loop.begin + iteration * loop.period + i), [&](int reg) {
                const LoopMemory& what = loop.operands[next++];
                if (what.kind == LoopMemory::Kind::Own && what.lag > iteration) copied.push_back(reg_at(reg).memory);
            });
    }
    return std::ranges::none_of(loop.operands, [&](const LoopMemory& one) {
        return one.kind == LoopMemory::Kind::Fixed && std::ranges::find(copied, one.memory) != copied.end();
    });
}

bool LoopFinder::is_met_from(int step, int memory) const {
    for (int i = step; i < static_cast<int>(program_.steps.size()); ++i) {
        bool met = false;
        for_each_operand(step_at(i), [&](int reg) { met = met || (reg >= 0 && reg_at(reg).memory == memory); });
        if (met) return true;
    }
    return false;
}

// Few memories that somebody has in the end, each by one tensor that is all of it.
bool LoopFinder::may_leave(const FoundLoop& loop) const {
    std::vector<int> left;
    for (const int reg : all_wanted_) {
        const int made_by = memory_at(reg_at(reg).memory).made_by;
        if (made_by < loop.begin || made_by >= loop.end()) continue;
        const Memory& memory = memory_at(reg_at(reg).memory);
        const Bytes bytes = reg_at(reg).bytes();
        if (reg_at(reg).offset != 0 || bytes.begin != 0 || bytes.end != memory.bytes) return false;
        if (std::ranges::find(left, reg_at(reg).memory) != left.end() || left.size() == kMostLeft) return false;
        if (!memory.writers.empty() && memory.writers.back() >= loop.end()) return false;
        left.push_back(reg_at(reg).memory);
    }
    return true;
}

}  // namespace clew
