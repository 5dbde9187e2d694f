// What the steps of a iteration find there where they look for their operands: Note [Loops of programs].
#include <functional>

#include "core/program/loops/loop_finding.h"
#include "core/program/replay/guards.h"

namespace clew {

int LoopFinder::output_of(int memory) const {
    const Step& step = step_at(memory_at(memory).made_by);
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
        if (step.outputs[i] >= 0 && reg_at(step.outputs[i]).memory == memory) return static_cast<int>(i);
    return -1;
}

// What the operand is, from what it is in this iteration and in the iteration before.
std::optional<LoopMemory> LoopFinder::what_is(int reg, int before, const Repeat& of, int iteration) const {
    using Kind = LoopMemory::Kind;
    if (reg < 0 || before < 0) return reg == before ? std::optional(LoopMemory{}) : std::nullopt;
    const int memory = reg_at(reg).memory, memory_before = reg_at(before).memory;
    const int constant = constant_of(memory), constant_before = constant_of(memory_before);
    if (constant == kVaries) return {};
    if (memory == memory_before || (constant >= 0 && constant == constant_before)) {
        LoopMemory fixed{.kind = Kind::Fixed};
        fixed.memory =
            constant >= 0 ? reg_at(program_.constants[static_cast<std::size_t>(constant)].first).memory : memory;
        if (constant < 0) fixed.shift = reg_at(reg).offset - reg_at(before).offset;
        return fixed;
    }
    const int made = memory_at(memory).made_by, made_before = memory_at(memory_before).made_by;
    if (made < 0 || made_before < 0) return {};
    LoopMemory what{.output = output_of(memory)};
    if (what.output < 0 || what.output != output_of(memory_before)) return {};
    const auto place_in = [&](const Repeat& loop) {
        what.step = (made - loop.begin) % loop.period;
        return (made_before - loop.begin) % loop.period == what.step;
    };
    if (made >= of.begin && made_before >= of.begin) {
        if (!place_in(of)) return {};
        what.kind = Kind::Own;
        what.lag = iteration - (made - of.begin) / of.period;
        const int lag_before = iteration - 1 - (made_before - of.begin) / of.period;
        return what.lag == lag_before && what.lag >= 0 && what.lag <= kMostLag ? std::optional(what) : std::nullopt;
    }
    what.loop = loop_of_step(made);
    if (what.loop < 0 || what.loop != loop_of_step(made_before)) return {};
    const FoundLoop& other = found_[static_cast<std::size_t>(what.loop)];
    const Repeat turns_of{other.begin, other.period, other.iterations};
    if (!place_in(turns_of)) return {};
    what.kind = Kind::Other;
    what.at = iteration;
    what.iteration = (made - other.begin) / other.period;
    what.sign = what.iteration - (made_before - other.begin) / other.period;
    return what.sign >= -1 && what.sign <= 1 ? std::optional(what) : std::nullopt;
}

// Whether the operand is that in another iteration, too; in turn `of_shown`, where `what` was found, it is `shown`.
bool LoopFinder::fits(const LoopMemory& what, int reg, int shown, const Repeat& of, int iteration, int of_shown) const {
    using Kind = LoopMemory::Kind;
    if (what.kind == Kind::None) return reg < 0;
    if (reg < 0) return false;
    const KeptRegister &now = reg_at(reg), &then = reg_at(shown);
    if (now.offset != then.offset + what.shift * (iteration - of_shown) || now.number != then.number ||
        !same_geometry(*now.layout, now.dtype, then) || memory_at(now.memory).bytes != memory_at(then.memory).bytes)
        return false;
    const int made = memory_at(now.memory).made_by;
    if (what.kind == Kind::Fixed) {
        const int constant = constant_of(now.memory);
        return constant >= 0 ? constant == constant_of(what.memory)
                             : now.memory == what.memory && made < of.begin + iteration * of.period;
    }
    const auto is_of = [&](int begin, int period, int at) {
        if (made != begin + at * period + what.step) return false;
        const Numbers& outputs = step_at(made).outputs;
        return static_cast<std::size_t>(what.output) < outputs.size() &&
               outputs[static_cast<std::size_t>(what.output)] >= 0 &&
               reg_at(outputs[static_cast<std::size_t>(what.output)]).memory == now.memory;
    };
    if (what.kind == Kind::Own) return iteration >= what.lag && is_of(of.begin, of.period, iteration - what.lag);
    const FoundLoop& other = found_[static_cast<std::size_t>(what.loop)];
    const int at = what.iteration + what.sign * (iteration - what.at);
    return at >= 0 && at < other.iterations && is_of(other.begin, other.period, at);
}

bool LoopFinder::repeats_in(const Repeat& of, const std::vector<LoopMemory>& operands, int iteration, int shown) const {
    const LoopMemory* what = operands.data();
    const auto same = [&](const auto& now, const auto& then, const auto& register_of) {
        if (now.size() != then.size()) return false;
        for (std::size_t k = 0; k < now.size(); ++k)
            if (!fits(*what++, register_of(now[k]), register_of(then[k]), of, iteration, shown)) return false;
        return true;
    };
    for (int i = 0; i < of.period; ++i) {
        const Step &now = step_at(of.begin + iteration * of.period + i),
                   &then = step_at(of.begin + shown * of.period + i);
        if (!same(now.inputs, then.inputs, std::identity()) || !same(now.outputs, then.outputs, std::identity()) ||
            !same(now.writes, then.writes, std::mem_fn(&KeptWrite::reg)))
            return false;
    }
    return true;
}

}  // namespace clew
