#include "core/program/loop_finding.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <tuple>

#include "core/program/outcome.h"
#include "core/program/own_operations.h"
#include "core/program/witness.h"

namespace clew {
namespace {

constexpr int kFewestSteps = 256;  // of all turns: fewer are not worth it
constexpr int kFewestTurns = 4;
constexpr int kBody = 64;      // steps of a body, at least: of few the pointers would take longer than the calls
constexpr int kMostLag = 4;    // turns
constexpr int kMostLeft = 16;  // memories that leave the call, of all turns

}  // namespace

LoopFinder::LoopFinder(const Program& program)
    : program_(program),
      wanted_(program.registers.size()),
      constant_of_(program.memories.size(), -1),
      last_access_(program.memories.size(), -1),
      loop_of_(program.steps.size(), -1) {
    for (const int reg : program.outcome->registers()) wanted_[static_cast<std::size_t>(reg)] = 1;
    for (std::size_t i = 0; i < program.steps.size(); ++i) {
        const Step& step = program.steps[i];
        for_each_operand(step, [&](int reg) {
            if (reg >= 0) last_access_[static_cast<std::size_t>(reg_at(reg).memory)] = static_cast<int>(i);
        });
        if (step.action->kind == StepKind::Rebind && step.inputs[0] >= 0)
            wanted_[static_cast<std::size_t>(step.inputs[0])] = 1;
    }
    std::vector<char> alone(program.constants.size());  // another one in each run
    for (const std::size_t constant : program.varying) alone[constant] = 1;
    for (const NumberUse& use : program.number_uses) alone[use.constant] = 1;
    std::map<std::tuple<int, std::string, const Layout*>, int> known;
    for (std::size_t i = 0; i < program.constants.size(); ++i) {
        const auto& [reg, value] = program.constants[i];
        const auto memory = static_cast<std::size_t>(reg_at(reg).memory);
        int same = alone[i] ? kVaries : static_cast<int>(i);
        const bool dense = value->layout->contiguous && value->storage->bytes <= 1024;
        if (!alone[i] && dense) {
            std::string bits(static_cast<const char*>(value.data()),
                             static_cast<std::size_t>(value.numel()) * item_size(value.dtype()));
            const bool number = reg_at(reg).number;
            same = known
                       .try_emplace({2 * static_cast<int>(value.dtype()) + number, std::move(bits),
                                     number ? nullptr : value->layout.get()},
                                    same)
                       .first->second;
        }
        constant_of_[memory] = same;
    }
}

int LoopFinder::output_of(int memory) const {
    const Step& step = step_at(memory_at(memory).made_by);
    for (std::size_t i = 0; i < step.outputs.size(); ++i)
        if (step.outputs[i] >= 0 && reg_at(step.outputs[i]).memory == memory) return static_cast<int>(i);
    return -1;
}

std::vector<FoundLoop> LoopFinder::find() {
    std::vector<Repeat> all = repeats();
    int together = 1;
    for (const Repeat& one : all) together = std::max(together, (kBody + one.period - 1) / one.period);
    for (Repeat& one : all) {
        const int joined = std::clamp(one.turns / kFewestTurns, 1, together);
        one.period *= joined;
        one.turns /= joined;
        accept(one);
    }
    return std::move(found_);
}

// Of each, the shortest period: steps of the same actions, one behind the other.
std::vector<LoopFinder::Repeat> LoopFinder::repeats() const {
    constexpr int kMostTried = 64;  // periods
    const int size = static_cast<int>(program_.steps.size());
    std::vector<const Action*> actions;
    for (const Step& step : program_.steps) actions.push_back(step.action);
    const auto action = [&](int i) { return actions[static_cast<std::size_t>(i)]; };
    std::vector<int> next(actions.size(), size);  // step with the same action
    std::unordered_map<const Action*, int> first;
    for (int i = size; i-- > 0;) {
        const auto [known, fresh] = first.try_emplace(action(i), i);
        if (!fresh) next[static_cast<std::size_t>(i)] = std::exchange(known->second, i);
    }
    std::vector<Repeat> found;
    for (int i = 0; i + kFewestSteps <= size;) {
        int turns = 0, period = 0, tried = 0;
        for (int j = next[static_cast<std::size_t>(i)]; j < size && tried < kMostTried && !turns;
             j = next[static_cast<std::size_t>(j)], ++tried) {
            period = j - i;
            int same = 0;
            while (j + same < size && action(i + same) == action(j + same)) ++same;
            if (same + period >= std::max(kFewestSteps, kFewestTurns * period)) turns = same / period + 1;
        }
        if (turns) found.push_back({i, period, turns});
        i += turns ? turns * period : 1;
    }
    return found;
}

bool LoopFinder::may_be_folded(const Step& step) const {
    const Action& action = *step.action;
    return action.kind == StepKind::Run && !action.generator && !action.op->draws && !action.varies;
}

// What the operand is, from what it is in this turn and in the turn before.
std::optional<LoopMemory> LoopFinder::what_is(int reg, int before, const Repeat& of, int turn) const {
    using Kind = LoopMemory::Kind;
    if (reg < 0 || before < 0) return reg == before ? std::optional(LoopMemory{}) : std::nullopt;
    const int memory = reg_at(reg).memory, memory_before = reg_at(before).memory;
    const int constant = constant_of(memory), constant_before = constant_of(memory_before);
    if (constant == kVaries) return {};
    if (memory == memory_before || (constant >= 0 && constant == constant_before)) {
        LoopMemory fixed{.kind = Kind::Fixed};
        fixed.memory =
            constant >= 0 ? reg_at(program_.constants[static_cast<std::size_t>(constant)].first).memory : memory;
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
        what.lag = turn - (made - of.begin) / of.period;
        const int lag_before = turn - 1 - (made_before - of.begin) / of.period;
        return what.lag == lag_before && what.lag >= 0 && what.lag <= kMostLag ? std::optional(what) : std::nullopt;
    }
    what.loop = loop_of_step(made);
    if (what.loop < 0 || what.loop != loop_of_step(made_before)) return {};
    const FoundLoop& other = found_[static_cast<std::size_t>(what.loop)];
    const Repeat turns_of{other.begin, other.period, other.turns};
    if (!place_in(turns_of)) return {};
    what.kind = Kind::Other;
    what.at = turn;
    what.turn = (made - other.begin) / other.period;
    what.sign = what.turn - (made_before - other.begin) / other.period;
    return what.sign >= -1 && what.sign <= 1 ? std::optional(what) : std::nullopt;
}

// Whether the operand is that in another turn, too; `shown` is the register that it is where `what` was found.
bool LoopFinder::fits(const LoopMemory& what, int reg, int shown, const Repeat& of, int turn) const {
    using Kind = LoopMemory::Kind;
    if (what.kind == Kind::None) return reg < 0;
    if (reg < 0) return false;
    const KeptRegister &now = reg_at(reg), &then = reg_at(shown);
    if (now.offset != then.offset || now.number != then.number || !same_geometry(*now.layout, now.dtype, then) ||
        memory_at(now.memory).bytes != memory_at(then.memory).bytes)
        return false;
    const int made = memory_at(now.memory).made_by;
    if (what.kind == Kind::Fixed) {
        const int constant = constant_of(now.memory);
        return constant >= 0 ? constant == constant_of(what.memory)
                             : now.memory == what.memory && made < of.begin + turn * of.period;
    }
    if (made < 0 || output_of(now.memory) != what.output) return false;
    const auto is_of = [&](int begin, int period, int at) { return made == begin + at * period + what.step; };
    if (what.kind == Kind::Own) return turn >= what.lag && is_of(of.begin, of.period, turn - what.lag);
    const FoundLoop& other = found_[static_cast<std::size_t>(what.loop)];
    const int at = what.turn + what.sign * (turn - what.at);
    return at >= 0 && at < other.turns && is_of(other.begin, other.period, at);
}

bool LoopFinder::repeats_in(const Repeat& of, const std::vector<LoopMemory>& operands, int turn, int shown) const {
    std::size_t next = 0;
    for (int i = 0; i < of.period; ++i) {
        const Step &now = step_at(of.begin + turn * of.period + i), &then = step_at(of.begin + shown * of.period + i);
        if (now.inputs.size() != then.inputs.size() || now.outputs.size() != then.outputs.size() ||
            now.writes.size() != then.writes.size())
            return false;
        std::vector<int> was;
        for_each_operand(then, [&](int reg) { was.push_back(reg); });
        std::size_t k = 0;
        bool same = true;
        for_each_operand(now, [&](int reg) {
            same = same && fits(operands[next], reg, was[k++], of, turn);
            ++next;
        });
        if (!same) return false;
    }
    return true;
}

bool LoopFinder::accept(Repeat of) {
    const int shown = of.turns / 2;
    std::vector<LoopMemory> operands;
    int earliest = 0;  // where all that is fixed is there
    for (int i = 0; i < of.period; ++i) {
        const Step &step = step_at(of.begin + shown * of.period + i),
                   &before = step_at(of.begin + (shown - 1) * of.period + i);
        if (!may_be_folded(step)) return false;
        std::vector<int> was;
        for_each_operand(before, [&](int reg) { was.push_back(reg); });
        std::size_t k = 0;
        bool known = true;
        for_each_operand(step, [&](int reg) {
            const std::optional<LoopMemory> what =
                k < was.size() ? what_is(reg, was[k], of, shown) : std::optional<LoopMemory>();
            ++k;
            known = known && what;
            if (!known) return;
            operands.push_back(*what);
            if (what->kind == LoopMemory::Kind::Fixed)
                if (const int made = memory_at(what->memory).made_by; made >= of.begin)
                    earliest = std::max(earliest, (made - of.begin) / of.period + 1);
        });
        if (!known || k != was.size()) return false;
    }
    int first = shown, last = shown;
    while (first > earliest && repeats_in(of, operands, first - 1, shown)) --first;
    while (last + 1 < of.turns && repeats_in(of, operands, last + 1, shown)) ++last;
    if (first < earliest || !repeats_in(of, operands, shown, shown)) return false;
    FoundLoop loop{.begin = of.begin + first * of.period, .period = of.period, .turns = last - first + 1};
    loop.shown = shown - first;
    for (LoopMemory& one : operands) one.at -= first;
    loop.operands = std::move(operands);
    if (loop.turns < kFewestTurns || loop.turns * loop.period < kFewestSteps || !may_write(loop) || !may_leave(loop))
        return false;
    std::fill(loop_of_.begin() + loop.begin, loop_of_.begin() + loop.end(), static_cast<int>(found_.size()));
    found_.push_back(std::move(loop));
    return true;
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
            for (int turn = 0; turn < what.lag; ++turn) {
                const Step& in = step_at(loop.begin + turn * loop.period + i);
                const int memory = reg_at(in.writes[k].reg).memory;
                if (last_access_[static_cast<std::size_t>(memory)] >= loop.end()) return false;
                for (int reg = memory_at(memory).last; reg >= 0; reg = reg_at(reg).before)
                    if (wanted_[static_cast<std::size_t>(reg)]) return false;
            }
        }
    }
    return has_one_name_each(loop);
}

// What lies in a frame before the first turn is a copy: no turn finds it where it was, too.
bool LoopFinder::has_one_name_each(const FoundLoop& loop) const {
    std::vector<int> copied;
    for (int turn = 0; turn < kMostLag; ++turn) {
        std::size_t next = 0;
        for (int i = 0; i < loop.period; ++i)
            for_each_operand(step_at(loop.begin + turn * loop.period + i), [&](int reg) {
                const LoopMemory& what = loop.operands[next++];
                if (what.kind == LoopMemory::Kind::Own && what.lag > turn) copied.push_back(reg_at(reg).memory);
            });
    }
    return std::ranges::none_of(loop.operands, [&](const LoopMemory& one) {
        return one.kind == LoopMemory::Kind::Fixed && std::ranges::find(copied, one.memory) != copied.end();
    });
}

// Few memories that somebody has in the end, each by one tensor that is all of it.
bool LoopFinder::may_leave(const FoundLoop& loop) const {
    int left = 0;
    for (int i = loop.begin; i < loop.end(); ++i)
        for (const int made : step_at(i).outputs) {
            if (made < 0 || memory_at(reg_at(made).memory).made_by != i) continue;
            const Memory& memory = memory_at(reg_at(made).memory);
            int wanted = 0;
            for (int reg = memory.last; reg >= 0; reg = reg_at(reg).before) {
                if (!wanted_[static_cast<std::size_t>(reg)]) continue;
                ++wanted;
                const Bytes bytes = reg_at(reg).bytes();
                if (bytes.begin != 0 || bytes.end != memory.bytes || reg_at(reg).offset != 0) return false;
            }
            if (wanted > 1 || (left += wanted) > kMostLeft) return false;
            if (wanted && !memory.writers.empty() && memory.writers.back() >= loop.end()) return false;
        }
    return true;
}

}  // namespace clew
