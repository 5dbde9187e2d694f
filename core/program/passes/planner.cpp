// Makes plans: which kernels run, on which memory.
#include <algorithm>

#include "core/base/frame.h"
#include "core/kernels/elementwise/derivative_call.h"
#include "core/program/passes/passes.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"
#include "core/program/results/outcome.h"

namespace clew {
Tensor look_at(const KeptRegister& reg, StorageRef storage, std::int64_t shift) {
    TensorObject* const object = new_tensor_object();
    object->storage = std::move(storage);
    object->layout = reg.layout;
    object->offset = (reg.offset + shift) / static_cast<std::int64_t>(item_size(reg.dtype));
    object->dtype = reg.dtype;
    object->set(TensorObject::kWrappedNumber, reg.number);
    return Tensor::steal(object);
}

constexpr std::int64_t kLine = 64;  // bytes of a cache's line

StorageRef Plan::new_arena() const { return Storage::make(arena_bytes + kLine); }

void Plan::put_arena(const StorageRef& memory) {
    arena.move(memory->data + -reinterpret_cast<std::uintptr_t>(memory->data) % kLine);
}

void Plan::point_into_arena(char** pointer, std::int64_t offset) {
    *pointer = arena.address + offset;
    if (!kept_arena) arena.places.push_back({pointer, offset});
}

std::int64_t Plan::bytes() const {
    const auto table = [](const auto& list) { return static_cast<std::int64_t>(list.capacity() * sizeof(list[0])); };
    std::int64_t sum = table(calls) + table(order) + table(bases) + table(base_of) + table(taken) + table(renewed) +
                       table(looking) + table(passing) + table(saved) + table(handed_over) + table(registers) +
                       table(direct) + table(arena.places) + (constants ? constants->bytes : 0) +
                       (kept_arena ? kept_arena->bytes : 0) + static_cast<std::int64_t>(loops->bytes());
    for (const Base& base : bases) sum += table(base.places);
    for (const auto& call : calls) sum += static_cast<std::int64_t>(call->bytes());
    if (moving) sum += static_cast<std::int64_t>(moving->bytes());
    return sum + (planner ? planner->bytes() : 0);
}

std::int64_t Planner::bytes() const {
    const auto table = [](const auto& list) { return list.capacity() * sizeof(list[0]); };
    std::size_t sum = sizeof(*this) + table(temporaries_) + table(varying_) + table(addresses_) + table(planned_) +
                      table(wanted_) + table(constant_) + table(places_);
    return static_cast<std::int64_t>(sum) + slabs_.bytes();
}

Planner::Planner(const Program& program, const Slice& slice)
    : program_(program), slice_(slice), varying_(program.registers.size()), addresses_(program.memories.size()) {
    slabs_.reserve(slice.replay_steps.size() * (sizeof(Noted) + sizeof(Call)));
    noted_ = SlabList<Noted>(slabs_, slice.replay_steps.size());
    const auto varies = [&](std::size_t constant) {
        varying_[static_cast<std::size_t>(program.constants[constant].first)] = 1;
    };
    for (const std::size_t constant : program.varying) varies(constant);
    for (const NumberUse& use : program.number_uses) varies(use.constant);
    if (!program.pinned.empty()) pinned_.assign(program.memories.size(), -1);
    for (std::size_t i = 0; i < program.pinned.size(); ++i)
        pinned_[static_cast<std::size_t>(program.pinned[i].memory)] = static_cast<int>(i);
}

const Step& Planner::step_at(std::size_t run) const {
    return program_.steps[static_cast<std::size_t>(slice_.replay_steps[run].step)];
}

void Planner::bind_address(int memory, char* address) { addresses_[static_cast<std::size_t>(memory)] = address; }

// What a forward does with a number need not be done by kernels. Those of optimizers read their options where the step
// has them.
bool Planner::may_be_captured(int index) const {
    const ReplayStep& run = slice_.replay_steps[static_cast<std::size_t>(index)];
    const std::span inputs(slice_.registers.data() + run.first, run.inputs);
    const Step& step = step_at(static_cast<std::size_t>(index));
    return run.kind == StepKind::Run && step.action->generator == nullptr && !step.action->op->draws &&
           (step.action->op->is(kOptimizerStep) || !run.varies) &&
           std::ranges::none_of(inputs, [&](int reg) { return reg >= 0 && varying_[static_cast<std::size_t>(reg)]; });
}

void Planner::note(int index, kernels::Capture& capture, const std::vector<Tensor>& registers) {
    if (!capture.complete || !may_be_captured(index)) return;
    const std::size_t first = temporaries_.size();
    Calls calls;
    calls.reserve(slabs_, capture.calls.size());
    for (auto& captured : capture.calls) {
        Call& call = calls.emplace_back(slabs_);
        call.call = std::move(captured);
        const kernels::Operands operands = call.call->operands();
        for (const kernels::Operand& operand : operands)
            if (!refer(operand, index, registers, call) && !refer_to_temporary(operand, first, call)) return;
    }
    for (const Call& call : calls) note_kind(call);
    kinds_.optimizer |= step_at(static_cast<std::size_t>(index)).action->op->is(kOptimizerStep);
    noted_[static_cast<std::size_t>(index)] = {true, std::move(calls)};
    if (temporaries_.size() == first) note_repeatable(index, registers);
}

void Planner::note_kind(const Call& call) {
    kinds_.traits |= call.call->traits();
    kinds_.most_work = std::max(kinds_.most_work, call.call->work());
    if (kinds_.derivative || call.references.size() != 2) return;
    const auto loop = call.call->flat();
    kinds_.derivative = loop && kernels::has_derivative(*loop);
}

// Into the memory of an input or an output of the step: most calls have their operands in the same order.
bool Planner::refer(const kernels::Operand& operand, int index, const std::vector<Tensor>& registers, Call& call) {
    const ReplayStep& run = slice_.replay_steps[static_cast<std::size_t>(index)];
    char* const address = *operand.place;
    const int count = run.inputs + run.outputs, before = static_cast<int>(call.references.size());
    const int likely = operand.written ? run.inputs : std::min(std::max(before - 1, 0), count);
    for (int i = 0; i < count; ++i) {
        const int at = i + likely < count ? i + likely : i + likely - count;
        const int reg = slice_.registers[static_cast<std::size_t>(run.first + at)];
        if (reg < 0 || !registers[static_cast<std::size_t>(reg)]) continue;
        const Storage& storage = *registers[static_cast<std::size_t>(reg)]->storage;
        if (address - operand.before < storage.data || address + operand.after > storage.data + storage.bytes) continue;
        const int memory = program_.of(reg).memory;
        char*& begin = addresses_[static_cast<std::size_t>(memory)];
        if (begin == nullptr) begin = storage.data;
        call.references.push_back({operand.place, address - begin, memory, operand.written});
        return true;
    }
    return false;
}

// Into memory that the forward takes and gives back, as for an operand in another dtype.
bool Planner::refer_to_temporary(const kernels::Operand& operand, std::size_t first, Call& call) {
    char* const address = *operand.place;
    const auto refer = [&](std::size_t i) {
        call.references.push_back({operand.place, 0, static_cast<int>(program_.memories.size() + i), operand.written});
        return true;
    };
    for (std::size_t i = first; i < temporaries_.size(); ++i) {
        Temporary& known = temporaries_[i];
        if (known.address == address) {
            known.before = std::max(known.before, operand.before);
            known.after = std::max(known.after, operand.after);
            return refer(i);
        }
        if (address + operand.after > known.address - known.before &&
            address - operand.before < known.address + known.after)
            return false;
    }
    if (!operand.written) return false;
    temporaries_.push_back({address, operand.before, operand.after});
    return refer(temporaries_.size() - 1);
}

// Each reference of a call that runs, and the steps that run as they are: these need memory whole.
std::vector<int> Planner::count_uses() const {
    std::vector<int> uses(memories());
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        for (const Call& call : noted_[i].calls)
            if (call.runs)
                for (const Reference& one : call.references) ++uses[static_cast<std::size_t>(one.memory)];
        if (noted_[i].captured) continue;
        const ReplayStep& run = slice_.replay_steps[i];
        for (int k = 0; k < run.inputs + run.outputs; ++k)
            if (const int reg = slice_.registers[static_cast<std::size_t>(run.first + k)]; reg >= 0)
                ++uses[static_cast<std::size_t>(program_.of(reg).memory)];
    }
    return uses;
}

bool Planner::runs_as_it_is(std::size_t step) const {
    const StepKind kind = slice_.replay_steps[step].kind;
    return !noted_[step].captured && (kind == StepKind::Run || kind == StepKind::Read);
}

bool Planner::is_planned(int memory) const {
    const auto index = static_cast<std::size_t>(memory);
    return index >= program_.memories.size() || planned_[index];
}

std::unique_ptr<Plan> Planner::make() {
    // In this order. Analyses are no passes: they can't be left out.
    static constexpr struct {
        const char* pass;  // of passes.cpp; null: an analysis
        void (Planner::*run)();
    } kOrder[] = {
        {nullptr, &Planner::find_planned},
        {"share_transposes", &Planner::share_transposes},
        {"keep_scores", &Planner::keep_scores},
        {nullptr, &Planner::find_wanted},
        {nullptr, &Planner::find_constants},
        {"eliminate_dead_calls", &Planner::eliminate_dead_calls},
        {"fold_constants", &Planner::fold_constants},
        {"keep_derivatives", &Planner::keep_derivatives},
        {"fuse_pairs", &Planner::fuse_pairs},
        {"hoist_checks", &Planner::hoist_checks},
        {nullptr, &Planner::find_last_failing},
        {"elide_copies", &Planner::elide_copies},
        {"fuse_strips", &Planner::fuse_strips},
        {"fuse_epilogues", &Planner::fuse_epilogues},
        {"hoist_optimizer_steps", &Planner::hoist_optimizer_steps},
        {"share_results", &Planner::share_results},
        {"make_call_tables", &Planner::make_call_tables},
    };
    for (const auto& one : kOrder)
        if (one.pass == nullptr || is_pass_on(one.pass)) (this->*one.run)();
    auto plan = std::make_unique<Plan>();
    plan->loops = loops_;
    find_taken(*plan);
    lay_out(*plan);
    order(*plan);
    look(*plan);
    find_direct(*plan);
    plan->calls_only = is_calls_only(*plan);
    plan->bare = plan->calls_only && is_bare(*plan);
    return plan;
}

bool Planner::is_calls_only(const Plan& plan) {
    const auto is_short_call = [](const Planned& one) { return one.call && !one.takes_long; };
    return std::ranges::all_of(plan.order, is_short_call) && plan.taken.empty() && plan.renewed.empty() &&
           plan.looking.empty() && plan.passing.empty() && plan.saved.empty();
}

bool Planner::is_bare(const Plan& plan) const {
    bool lies = true;
    for (std::size_t i = 0; i < program_.memories.size(); ++i)
        lies = lies && (!slice_.written[i] || program_.memories[i].input < 0 || plan.direct[i]);
    // What is given may be an input itself, of which the plan knows nothing.
    const bool gives = program_.outcome && !program_.outcome->given.empty();
    return lies && !gives && last_failing_ < 0;
}

// Memory that captured steps make. A step that gives a view of other memory that is made by a step has to run as it is.
void Planner::find_planned() {
    planned_.assign(program_.memories.size(), 0);
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        if (!noted_[i].captured) continue;
        const ReplayStep& run = slice_.replay_steps[i];
        const int index = run.step;
        for (const int reg : std::span(slice_.registers.data() + run.first + run.inputs, run.outputs)) {
            if (reg < 0) continue;
            const auto memory = static_cast<std::size_t>(program_.of(reg).memory);
            const Memory& of = program_.memories[memory];
            if (of.made_by == index)
                planned_[memory] = 1;
            else if (of.made_by >= 0 && !planned_[memory])
                noted_[i] = {};
        }
    }
}

void Planner::find_wanted() {
    wanted_.assign(memories(), 0);
    for (std::size_t reg = 0; reg < program_.registers.size(); ++reg)
        if (slice_.wanted[reg]) wanted_[static_cast<std::size_t>(program_.registers[reg].memory)] = 1;
    for (Noted& noted : noted_)
        for (Call& call : noted.calls) call.runs = true;
}

// Memory of constants that nothing writes.
void Planner::find_constants() {
    constant_.assign(memories(), 0);
    for (const auto& [reg, value] : program_.constants)
        constant_[static_cast<std::size_t>(program_.of(reg).memory)] = 1;
    for (const Noted& noted : noted_)
        for (const Call& call : noted.calls)
            for (const Reference& one : call.references)
                if (one.written) constant_[static_cast<std::size_t>(one.memory)] = 0;
    for (const SliceWrite& one : slice_.writes) constant_[static_cast<std::size_t>(program_.of(one.reg).memory)] = 0;
}

bool Planner::writes_inputs() const {
    for (std::size_t i = 0; i < program_.memories.size(); ++i)
        if (program_.memories[i].input >= 0 && slice_.written[i]) return true;
    return false;
}

bool Planner::may_change_between(std::size_t first, std::size_t last, int memory) const {
    if (is_input(memory)) return writes_inputs();
    for (std::size_t step = first + 1; step < last; ++step) {
        for (const Call& call : noted_[step].calls)
            for (const Reference& one : call.references)
                if (one.written && one.memory == memory) return true;
    }
    return std::ranges::any_of(slice_.writes, [&](const SliceWrite& one) {
        return first < one.run && one.run < last && program_.of(one.reg).memory == memory;
    });
}

void Planner::eliminate_dead_calls() {
    std::vector<char> needed = wanted_;
    for (std::size_t i = 0; i < program_.memories.size(); ++i)
        if (program_.memories[i].input >= 0) needed[i] = 1;
    for (std::size_t i = noted_.size(); i-- > 0;) {
        const ReplayStep& run = slice_.replay_steps[i];
        if (!noted_[i].captured) {
            for (int k = 0; k < run.inputs && !step_at(i).action->op->is(kGeometryOnly); ++k)
                if (const int reg = slice_.registers[static_cast<std::size_t>(run.first + k)]; reg >= 0)
                    needed[static_cast<std::size_t>(program_.of(reg).memory)] = 1;
            continue;
        }
        Calls& calls = noted_[i].calls;
        for (std::size_t k = calls.size(); k-- > 0;) {
            calls[k].runs = calls[k].call->may_fail();
            for (const Reference& one : calls[k].references)
                calls[k].runs |= one.written && needed[static_cast<std::size_t>(one.memory)];
            if (!calls[k].runs) continue;
            for (const Reference& one : calls[k].references)
                if (!one.written) needed[static_cast<std::size_t>(one.memory)] = 1;
        }
    }
}

}  // namespace clew
