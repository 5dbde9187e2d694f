#include "core/program/loop_finding.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/program/outcome.h"
#include "core/program/own_operations.h"
#include "core/program/witness.h"

namespace clew {
namespace {

constexpr int kFewestSteps = 256;  // of all turns: fewer are not worth it
constexpr int kFewestTurns = 4;
constexpr int kBody = 64;    // steps of a body, at least: of few the pointers would take longer than the calls
constexpr int kMostLag = 4;  // turns
constexpr std::size_t kMostLeft = 16;  // memories that leave the call, of all turns

bool is_view(const Action& action) {
    return action.kind == StepKind::Run && action.form == Form::Functional &&
           (action.op->is(kView) || action.op->is(kManyViews));
}

}  // namespace

LoopFinder::LoopFinder(const Program& program)
    : program_(program),
      wanted_(program.registers.size()),
      constant_of_(program.memories.size(), -1),
      loop_of_(program.steps.size(), -1) {
    const auto want = [&](int reg) {
        if (reg >= 0 && !std::exchange(wanted_[static_cast<std::size_t>(reg)], 1)) all_wanted_.push_back(reg);
    };
    for (const int reg : program.outcome->registers()) want(reg);
    for (const Step& step : program.steps)
        if (step.action->kind == StepKind::Rebind) want(step.inputs[0]);
    note_constants();
}

void LoopFinder::note_constants() {
    constexpr std::int64_t kMostBytes = 1024;
    std::vector<char> alone(program_.constants.size());  // another one in each run
    for (const std::size_t constant : program_.varying) alone[constant] = 1;
    for (const NumberUse& use : program_.number_uses) alone[use.constant] = 1;
    std::map<std::pair<std::uint64_t, int>, int> numbers;
    std::map<std::tuple<std::string, int, const Layout*>, int> others;
    for (std::size_t i = 0; i < program_.constants.size(); ++i) {
        const auto& [reg, value] = program_.constants[i];
        const int kind = 2 * static_cast<int>(value.dtype()) + reg_at(reg).number;
        const auto bytes = static_cast<std::size_t>(value.numel()) * item_size(value.dtype());
        const int here = static_cast<int>(i);
        int same = alone[i] ? kVaries : here;
        if (!alone[i] && reg_at(reg).number && bytes <= sizeof(std::uint64_t)) {
            std::uint64_t bits = 0;
            std::memcpy(&bits, value.data(), bytes);
            same = numbers.try_emplace({bits, kind}, here).first->second;
        } else if (!alone[i] && value->layout->contiguous && value->storage->bytes <= kMostBytes) {
            std::string bits(static_cast<const char*>(value.data()), bytes);
            same = others.try_emplace({std::move(bits), kind, value->layout.get()}, here).first->second;
        }
        constant_of_[static_cast<std::size_t>(reg_at(reg).memory)] = same;
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

// Views at one line are of one kind, whatever their attributes: where they look is known.
std::vector<int> LoopFinder::kinds_of_actions() const {
    std::map<std::tuple<const OpDef*, const void*, int, bool>, int> views;
    std::vector<int> kinds;
    for (const Action& one : program_.actions) {
        int kind = one.number;
        if (is_view(one))
            kind = views.try_emplace({one.op, one.code.get(), one.instruction, one.in_backward}, kind).first->second;
        kinds.push_back(kind);
    }
    return kinds;
}

// Of each, the shortest period: steps of the same actions, one behind the other.
std::vector<LoopFinder::Repeat> LoopFinder::repeats() const {
    constexpr int kMostTried = 64;  // periods
    const int size = static_cast<int>(program_.steps.size());
    const std::vector<int> kinds = kinds_of_actions();
    std::vector<int> actions, next(program_.steps.size()), first(program_.actions.size(), size);
    actions.reserve(program_.steps.size());
    for (const Step& step : program_.steps) actions.push_back(kinds[static_cast<std::size_t>(step.action->number)]);
    const auto action = [&](int i) { return actions[static_cast<std::size_t>(i)]; };
    for (int i = size; i-- > 0;)  // the next step with the same action
        next[static_cast<std::size_t>(i)] = std::exchange(first[static_cast<std::size_t>(action(i))], i);
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

// Whether the operand is that in another turn, too; in turn `of_shown`, where `what` was found, it is `shown`.
bool LoopFinder::fits(const LoopMemory& what, int reg, int shown, const Repeat& of, int turn, int of_shown) const {
    using Kind = LoopMemory::Kind;
    if (what.kind == Kind::None) return reg < 0;
    if (reg < 0) return false;
    const KeptRegister &now = reg_at(reg), &then = reg_at(shown);
    if (now.offset != then.offset + what.shift * (turn - of_shown) || now.number != then.number ||
        !same_geometry(*now.layout, now.dtype, then) || memory_at(now.memory).bytes != memory_at(then.memory).bytes)
        return false;
    const int made = memory_at(now.memory).made_by;
    if (what.kind == Kind::Fixed) {
        const int constant = constant_of(now.memory);
        return constant >= 0 ? constant == constant_of(what.memory)
                             : now.memory == what.memory && made < of.begin + turn * of.period;
    }
    const auto is_of = [&](int begin, int period, int at) {
        if (made != begin + at * period + what.step) return false;
        const Numbers& outputs = step_at(made).outputs;
        return static_cast<std::size_t>(what.output) < outputs.size() &&
               outputs[static_cast<std::size_t>(what.output)] >= 0 &&
               reg_at(outputs[static_cast<std::size_t>(what.output)]).memory == now.memory;
    };
    if (what.kind == Kind::Own) return turn >= what.lag && is_of(of.begin, of.period, turn - what.lag);
    const FoundLoop& other = found_[static_cast<std::size_t>(what.loop)];
    const int at = what.turn + what.sign * (turn - what.at);
    return at >= 0 && at < other.turns && is_of(other.begin, other.period, at);
}

bool LoopFinder::repeats_in(const Repeat& of, const std::vector<LoopMemory>& operands, int turn, int shown) const {
    const LoopMemory* what = operands.data();
    const auto same = [&](const auto& now, const auto& then, const auto& register_of) {
        if (now.size() != then.size()) return false;
        for (std::size_t k = 0; k < now.size(); ++k)
            if (!fits(*what++, register_of(now[k]), register_of(then[k]), of, turn, shown)) return false;
        return true;
    };
    for (int i = 0; i < of.period; ++i) {
        const Step &now = step_at(of.begin + turn * of.period + i), &then = step_at(of.begin + shown * of.period + i);
        if (!same(now.inputs, then.inputs, std::identity()) || !same(now.outputs, then.outputs, std::identity()) ||
            !same(now.writes, then.writes, std::mem_fn(&KeptWrite::reg)))
            return false;
    }
    return true;
}

bool LoopFinder::accept(Repeat of) {
    const int shown = of.turns / 2;
    std::vector<LoopMemory> operands;
    std::vector<char> moved;
    int earliest = 0;  // where all that is fixed is there
    for (int i = 0; i < of.period; ++i) {
        const Step &step = step_at(of.begin + shown * of.period + i),
                   &before = step_at(of.begin + (shown - 1) * of.period + i);
        if (!may_be_folded(step)) return false;
        moved.push_back(moves(step, before));
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
        const auto is_fixed = [](const LoopMemory& one) { return one.kind == LoopMemory::Kind::Fixed; };
        if (moved.back() &&
            !std::all_of(operands.end() - static_cast<std::ptrdiff_t>(step.outputs.size()), operands.end(), is_fixed))
            return false;
    }
    int first = shown, last = shown;
    while (first > earliest && repeats_in(of, operands, first - 1, shown)) --first;
    while (last + 1 < of.turns && repeats_in(of, operands, last + 1, shown)) ++last;
    if (first < earliest || !repeats_in(of, operands, shown, shown)) return false;
    FoundLoop loop{.begin = of.begin + first * of.period, .period = of.period, .turns = last - first + 1};
    loop.shown = shown - first;
    for (LoopMemory& one : operands) one.at -= first;
    loop.operands = std::move(operands);
    loop.moves = std::move(moved);
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
                if (is_met_from(loop.end(), memory)) return false;
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
