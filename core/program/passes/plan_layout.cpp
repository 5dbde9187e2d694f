// Where the memory of a plan lies, in which order it runs, and which tensors it needs.
#include <algorithm>
#include <ranges>
#include <unordered_map>
#include <utility>

#include "core/base/frame.h"
#include "core/program/passes/arena.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"
#include "core/program/results/outcome.h"

namespace clew {
namespace {

constexpr std::int64_t kNoPlace = -1;

}  // namespace

// Gives each memory its place, and all pointers what they point to.
void Planner::lay_out(Plan& plan) {
    std::vector<int> first(memories(), -1), last = first;  // positions
    places_.assign(memories(), kNoPlace);
    plan.base_of.assign(memories(), -1);
    int position = 0;
    const auto lives_at = [&](int memory) {
        if (int& begin = first[static_cast<std::size_t>(memory)]; begin < 0) begin = position;
        last[static_cast<std::size_t>(memory)] = position;
    };
    std::size_t references = 0;
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        for (const Call& call : noted_[i].calls) {
            if (!call.runs) continue;
            for (const Reference& one : call.references) lives_at(one.memory);
            references += call.references.size();
            ++position;
        }
        if (noted_[i].captured) continue;
        const ReplayStep& run = slice_.replay_steps[i];
        for (int k = 0; k < run.inputs; ++k)
            if (const int reg = slice_.registers[static_cast<std::size_t>(run.first + k)]; reg >= 0)
                lives_at(program_.of(reg).memory);
        ++position;
    }

    Arena arena, constants;
    const auto bytes_of = [&](std::size_t memory) {
        if (memory < program_.memories.size()) return program_.memories[memory].bytes;
        const Temporary& temporary = temporaries_[memory - program_.memories.size()];
        return temporary.before + temporary.after;
    };
    ByPosition begins(static_cast<std::size_t>(position), memories()), ends = begins, handed;
    const std::vector<char> is_handed = reused_buffers(last);
    if (std::ranges::count(is_handed, 1)) handed = ByPosition(static_cast<std::size_t>(position), memories());
    for (std::size_t i = memories(); i-- > 0;) {
        if (!is_planned(static_cast<int>(i)) || wanted_[i] || first[i] < 0) continue;
        if (constant_[i]) {
            places_[i] = constants.take(bytes_of(i));
            continue;
        }
        begins.add_first(first[i], i);
        (is_handed[i] ? handed : ends).add_first(last[i], i);
    }
    for (std::size_t at = 0; at < static_cast<std::size_t>(position); ++at) {
        const auto give = [&](std::size_t memory) { arena.give(places_[memory], bytes_of(memory)); };
        handed.each(at, give);
        begins.each(at, [&](std::size_t memory) { places_[memory] = arena.take(bytes_of(memory)); });
        ends.each(at, give);
    }
    plan.arena_bytes = arena.bytes();
    const auto table = static_cast<std::int64_t>(references * sizeof(Plan::Place));
    if (plan.arena_bytes > table)
        plan.arena.places.reserve(references);
    else if (plan.arena_bytes)
        plan.put_arena(plan.kept_arena = plan.new_arena());
    if (constants.bytes()) plan.constants = Storage::make(constants.bytes());

    const auto base = [&](std::size_t memory) {
        if (const Pinned* const pinned = pinned_at(memory)) memory = static_cast<std::size_t>(pinned->into);
        int& index = plan.base_of[memory];
        if (index < 0) {
            index = static_cast<int>(plan.bases.size());
            plan.bases.push_back({.address = addresses_[memory]});
        }
    };
    for (const auto* list : {&plan.taken, &plan.renewed})
        for (const Plan::Taken& one : *list) base(static_cast<std::size_t>(one.memory));
    for (const Pinned& one : program_.pinned) base(static_cast<std::size_t>(one.into));
    [[maybe_unused]] const DispatchFrame frame;
    for (Noted& noted : noted_)
        for (Call& call : noted.calls) {
            if (!call.runs) continue;
            for (const Reference& one : call.references) {
                const auto memory = static_cast<std::size_t>(one.memory);
                if (places_[memory] == kNoPlace && !constant_[memory]) base(memory);
                const Plan::Located::Operand at = locate(plan, one);
                if (at.base == Plan::Located::kFixed)
                    *one.pointer = at.fixed;
                else if (at.base == Plan::Located::kArena)
                    plan.point_into_arena(one.pointer, at.offset);
                else
                    plan.bases[static_cast<std::size_t>(at.base)].point(one.pointer, at.offset);
            }
            if (call.constant) call.call->run();
        }
}

Plan::Located::Operand Planner::locate(Plan& plan, const Reference& one) {
    const auto memory = static_cast<std::size_t>(one.memory);
    const bool temporary = memory >= program_.memories.size();
    const std::int64_t before = temporary ? temporaries_[memory - program_.memories.size()].before : 0;
    const std::int64_t offset = places_[memory] + one.offset + before;
    // Constants of the program stay where they are.
    if (const Pinned* const pinned = pinned_at(memory))
        return {plan.base_of[static_cast<std::size_t>(pinned->into)], pinned->place + one.offset, nullptr};
    if (places_[memory] == kNoPlace)
        return {constant_[memory] ? Plan::Located::kFixed : plan.base_of[memory], one.offset, *one.pointer};
    if (constant_[memory]) return {Plan::Located::kFixed, 0, plan.constants->data + offset};
    return {Plan::Located::kArena, offset, nullptr};
}

// After which step memory is let go that a step makes which runs as it is.
ByPosition Planner::last_uses() const {
    const auto is_let_go = [&](std::size_t memory) {
        const Memory& of = program_.memories[memory];
        return of.input < 0 && of.made_by >= 0 && !planned_[memory] && !wanted_[memory];
    };
    std::vector<std::size_t> let_go;
    for (std::size_t i = 0; i < program_.memories.size(); ++i)
        if (is_let_go(i)) let_go.push_back(i);
    if (let_go.empty()) return {};
    std::vector<int> last(program_.memories.size(), -1);  // entry that uses it
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        const ReplayStep& run = slice_.replay_steps[i];
        for (int k = 0; k < run.inputs + run.outputs; ++k)
            if (const int reg = slice_.registers[static_cast<std::size_t>(run.first + k)]; reg >= 0)
                last[static_cast<std::size_t>(program_.of(reg).memory)] = static_cast<int>(i);
        // A call may do what one of an earlier step did (Note [Joined calls]).
        for (const Call& call : noted_[i].calls)
            for (const Reference& one : call.references)
                if (const auto memory = static_cast<std::size_t>(one.memory); call.runs && memory < last.size())
                    last[memory] = static_cast<int>(i);
    }
    ByPosition made(noted_.size(), last.size());
    for (const std::size_t memory : let_go | std::views::reverse)
        if (last[memory] >= 0) made.add_first(last[memory], memory);
    return made;
}

void Planner::order(Plan& plan) {
    const ByPosition let_go = last_uses();
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        if (static_cast<int>(i) == last_failing_ + 1) plan.safe = plan.order.size();
        for (Call& call : noted_[i].calls) {
            if (!call.runs || call.constant || call.is_gathered()) continue;
            const int step = call.step < 0 ? static_cast<int>(i) : call.step;
            plan.order.push_back({call.call.get(), step, call.call->work() > WithoutGil::kWorthIt});
            plan.calls.push_back(std::move(call.call));
        }
        if (runs_as_it_is(i)) plan.order.push_back({nullptr, static_cast<int>(i)});
        let_go.each(i, [&](std::size_t memory) {
            for (int reg = program_.memories[memory].last; reg >= 0; reg = program_.of(reg).before)
                plan.order.push_back({nullptr, -1 - reg});
        });
    }
}

// Of each register: only slots of a compiled call's nodes are to have it, which ask where its memory lies.
std::vector<char> Planner::only_saved() const {
    std::vector<char> saved(program_.registers.size());
    if (program_.outcome == nullptr) return saved;
    saved = slice_.wanted;
    for (const int reg : program_.outcome->given_registers()) saved[static_cast<std::size_t>(reg)] = 0;
    for (const int index : slice_.rebinds)
        saved[static_cast<std::size_t>(program_.steps[static_cast<std::size_t>(index)].inputs[0])] = 0;
    for (std::size_t i = 0; i < saved.size(); ++i) saved[i] = saved[i] && !program_.registers[i].number;
    return saved;
}

// Which registers have to be there as tensors, and what they look at.
void Planner::look(Plan& plan) {
    std::vector<char> needed = slice_.wanted, made(program_.registers.size()), saved = only_saved();
    for (const Pinned& one : program_.pinned) needed[static_cast<std::size_t>(one.reg)] = 0;
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        if (noted_[i].captured) continue;
        const ReplayStep& run = slice_.replay_steps[i];
        for (int k = 0; k < run.inputs + run.outputs; ++k)
            if (const int reg = slice_.registers[static_cast<std::size_t>(run.first + k)]; reg >= 0) {
                (k < run.inputs ? needed : made)[static_cast<std::size_t>(reg)] = 1;
                saved[static_cast<std::size_t>(reg)] = 0;
            }
    }
    plan.registers.resize(program_.registers.size());
    std::vector<char> alone(program_.registers.size());  // a tensor of its own in each replay
    std::vector<std::vector<int>*> looking(program_.memories.size());
    for (auto* list : {&plan.taken, &plan.renewed})
        for (Plan::Taken& one : *list) looking[static_cast<std::size_t>(one.memory)] = &one.looking;
    std::vector<StorageRef> parts(program_.memories.size());
    for (const auto& [reg, value] : program_.constants) {
        plan.registers[static_cast<std::size_t>(reg)] = value;
        parts[static_cast<std::size_t>(program_.of(reg).memory)] = value->storage;
    }
    for (std::size_t i = 0; i < program_.registers.size(); ++i) {
        const KeptRegister& reg = program_.registers[i];
        const auto memory = static_cast<std::size_t>(reg.memory);
        if (plan.registers[i]) continue;
        if (made[i]) plan.passing.push_back(static_cast<int>(i));
        if (!needed[i] || made[i]) continue;
        if (program_.memories[memory].input >= 0 || looking[memory]) {
            if (saved[i]) {
                plan.saved.push_back(static_cast<int>(i));
                continue;
            }
            (looking[memory] ? *looking[memory] : plan.looking).push_back(static_cast<int>(i));
            plan.passing.push_back(static_cast<int>(i));
            alone[i] = looking[memory] != nullptr;
            continue;
        }
        if (places_[memory] != kNoPlace && !parts[memory]) {
            char* const begin = constant_[memory] ? plan.constants->data + places_[memory] : nullptr;
            parts[memory] = Storage::wrap(begin, program_.memories[memory].bytes, nullptr, nullptr);
            if (begin == nullptr) plan.point_into_arena(&parts[memory]->data, places_[memory]);
        }
        if (const Pinned* const pinned = pinned_at(memory); pinned && !parts[memory]) {
            Plan::Base& into =
                plan.bases[static_cast<std::size_t>(plan.base_of[static_cast<std::size_t>(pinned->into)])];
            parts[memory] = Storage::wrap(nullptr, program_.memories[memory].bytes, nullptr, nullptr);
            into.point(&parts[memory]->data, pinned->place);
        }
        if (parts[memory]) plan.registers[i] = look_at(reg, parts[memory], 0);
    }
    // The tensor of a new gradient is made only if the one before can't be used.
    for (Plan::Taken& one : plan.renewed) std::erase(one.looking, one.gradient);
    if (program_.outcome == nullptr) return;
    // A .grad that is no result is another tensor than a result of the same values.
    for (const int index : slice_.gradients) {
        const Step& step = program_.steps[static_cast<std::size_t>(index)];
        if (step.inputs[0] >= 0 && program_.leaves[static_cast<std::size_t>(step.index)].result < 0)
            alone[static_cast<std::size_t>(step.inputs[0])] = 0;
    }
    const std::vector<int> leaving = program_.outcome->given_registers();
    for (const ResultOutline& one : program_.outcome->results)
        plan.handed_over.push_back(one.reg >= 0 && alone[static_cast<std::size_t>(one.reg)] &&
                                   !program_.of(one.reg).number && std::ranges::count(leaving, one.reg) == 1);
}

bool Planner::may_fail(std::size_t index) const {
    if (noted_[index].captured)
        return (kinds_.traits & kernels::kMayFail) && std::ranges::any_of(noted_[index].calls, [](const Call& call) {
                   return call.runs && !call.constant && call.call->may_fail();
               });
    const ReplayStep& run = slice_.replay_steps[index];
    if (run.kind == StepKind::Run) return !step_at(index).action->op->is(kOptimizerStep);
    return run.kind == StepKind::Read && program_.decides(step_at(index));
}

void Planner::find_last_failing() {
    for (std::size_t i = 0; i < noted_.size(); ++i)
        if (may_fail(i)) last_failing_ = static_cast<int>(i);
}

// Memory of what leaves the call; of gradients, if they can be written where those before lie.
void Planner::find_taken(Plan& plan) const {
    const int last_step = last_failing_ < 0 ? -1 : slice_.replay_steps[static_cast<std::size_t>(last_failing_)].step;
    std::unordered_map<int, const Step*> sets_gradient;  // by memory
    for (const int index : slice_.gradients) {
        const Step& step = program_.steps[static_cast<std::size_t>(index)];
        if (step.inputs[0] >= 0) sets_gradient[program_.of(step.inputs[0]).memory] = &step;
    }
    for (std::size_t i = 0; i < program_.memories.size(); ++i) {
        if (!planned_[i] || !wanted_[i] || pinned_at(i)) continue;
        Plan::Taken taken{static_cast<int>(i)};
        if (const auto found = sets_gradient.find(taken.memory); found != sets_gradient.end()) {
            taken.leaf = found->second->index;
            taken.gradient = found->second->inputs[0];
        }
        const bool renews = taken.leaf >= 0 && program_.memories[i].made_by > last_step;
        (renews ? plan.renewed : plan.taken).push_back(std::move(taken));
    }
}

// Memory from before the block that is written where it lies, since nothing that runs then can fail: steps of
// optimizers at the end, and whatever has been captured.
void Planner::find_direct(Plan& plan) const {
    plan.direct.assign(program_.memories.size(), 1);
    if (program_.is_body) return;
    for (const SliceWrite& one : slice_.writes) {
        const KeptRegister& reg = program_.of(one.reg);
        // A step that runs as it is may need memory for a copy.
        if (static_cast<int>(one.run) <= last_failing_ || (!noted_[one.run].captured && !reg.layout->contiguous))
            plan.direct[static_cast<std::size_t>(reg.memory)] = 0;
    }
}

}  // namespace clew
