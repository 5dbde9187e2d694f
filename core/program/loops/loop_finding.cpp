#include "core/program/loops/loop_finding.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/program/results/outcome.h"

namespace clew {
namespace {

constexpr int kFewestSteps = 64;  // of all iterations: fewer are not worth it
constexpr int kBody = 64;         // steps of a body, at least: of few the pointers would take longer than the calls

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
    std::map<std::tuple<std::string, int, std::vector<std::int64_t>>, int> others;
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
            std::vector<std::int64_t> sizes(value.sizes().begin(), value.sizes().end());
            same = others.try_emplace({std::move(bits), kind, std::move(sizes)}, here).first->second;
        }
        constant_of_[static_cast<std::size_t>(reg_at(reg).memory)] = same;
    }
}

// Several iterations of a short one are one iteration, and as many of its backward, which has about as many iterations.
std::vector<FoundLoop> LoopFinder::find() {
    constexpr int kIterationsLeft = 2 * kFewestIterations, kAlike = 8;
    struct Joined {
        int iterations, count;
    };
    std::vector<Joined> known;
    std::vector<Repeat> all = repeats();
    int together = 1;
    for (const Repeat& one : all) together = std::max(together, (kBody + one.period - 1) / one.period);
    for (Repeat& one : all) {
        int count = 0;
        for (const Joined& other : known)
            if (!count && kAlike * std::abs(other.iterations - one.iterations) <= other.iterations) count = other.count;
        if (!count)
            known.push_back({one.iterations, count = std::clamp(one.iterations / kIterationsLeft, 1, together)});
        one.period *= count;
        one.iterations /= count;
        accept(one);
    }
    return std::move(found_);
}

// What does the same is of one kind: of those that a recorder adds, not all are known when they come again. Views at
// one line are of one kind, whatever their attributes: where they look is known.
std::vector<int> LoopFinder::kinds_of_actions() const {
    constexpr std::size_t kMostCompared = 8;
    std::map<std::tuple<const OpDef*, const void*, int, bool>, std::vector<const Action*>> known;
    std::vector<int> kinds;
    for (const Action& one : program_.actions) {
        std::vector<const Action*>& alike = known[{one.op, one.code.get(), one.instruction, one.in_backward}];
        const auto recent = std::span(alike).last(std::min(alike.size(), kMostCompared));
        const auto found = std::ranges::find_if(recent, [&](const Action* other) {
            return (is_view(one) && is_view(*other)) || does_the_same(one, *other);
        });
        if (found == recent.end()) alike.push_back(&one);
        kinds.push_back(found == recent.end() ? one.number : (*found)->number);
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
        int iterations = 0, period = 0, tried = 0;
        for (int j = next[static_cast<std::size_t>(i)]; j < size && tried < kMostTried && !iterations;
             j = next[static_cast<std::size_t>(j)], ++tried) {
            period = j - i;
            int same = 0;
            while (j + same < size && action(i + same) == action(j + same)) ++same;
            if (same + period >= std::max(kFewestSteps, kFewestIterations * period)) iterations = same / period + 1;
        }
        if (iterations) found.push_back({i, period, iterations});
        i += iterations ? iterations * period : 1;
    }
    return found;
}

// Of the iteration that is shown, by what it has in common with the one before.
std::optional<LoopFinder::Iteration> LoopFinder::look_at(const Repeat& of, int shown) const {
    Iteration iteration{.earliest = 0};
    for (int i = 0; i < of.period; ++i) {
        const Step &step = step_at(of.begin + shown * of.period + i),
                   &before = step_at(of.begin + (shown - 1) * of.period + i);
        if (!may_be_folded(step)) return std::nullopt;
        const bool moves = !does_the_same(*step.action, *before.action);
        iteration.moves.push_back(moves);
        std::vector<int> was, now;
        for_each_operand(before, [&](int reg) { was.push_back(reg); });
        for_each_operand(step, [&](int reg) { now.push_back(reg); });
        if (now.size() != was.size()) return std::nullopt;
        for (std::size_t k = 0; k < now.size(); ++k) {
            const std::optional<LoopMemory> what = what_is(now[k], was[k], of, shown);
            const bool fixed = what && what->kind == LoopMemory::Kind::Fixed;
            const bool is_output = k >= step.inputs.size() && k < step.inputs.size() + step.outputs.size();
            if (!what || (moves && is_output && !fixed)) return std::nullopt;
            iteration.operands.push_back(*what);
            if (const int made = fixed ? memory_at(what->memory).made_by : -1; made >= of.begin)
                iteration.earliest = std::max(iteration.earliest, (made - of.begin) / of.period + 1);
        }
    }
    return iteration;
}

bool LoopFinder::accept(const Repeat& of) {
    const int shown = of.iterations / 2;
    std::optional<Iteration> iteration = look_at(of, shown);
    if (!iteration) return false;
    auto& [operands, moves, earliest] = *iteration;
    int first = shown, last = shown;
    while (first > earliest && repeats_in(of, operands, first - 1, shown)) --first;
    while (last + 1 < of.iterations && repeats_in(of, operands, last + 1, shown)) ++last;
    if (first < earliest || !repeats_in(of, operands, shown, shown)) return false;
    FoundLoop loop{.begin = of.begin + first * of.period, .period = of.period, .iterations = last - first + 1};
    loop.shown = shown - first;
    for (LoopMemory& one : operands) one.at -= first, loop.lags = std::max(loop.lags, one.lag);
    loop.operands = std::move(operands);
    loop.moves = std::move(moves);
    if (loop.iterations < kFewestIterations || loop.iterations * loop.period < kFewestSteps || !may_write(loop) ||
        !may_leave(loop))
        return false;
    std::fill(loop_of_.begin() + loop.begin, loop_of_.begin() + loop.end(), static_cast<int>(found_.size()));
    found_.push_back(std::move(loop));
    return true;
}

}  // namespace clew
