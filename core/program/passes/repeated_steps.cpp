// Steps of the first replay that do what another one did, on other memory.
//
// Note [Repeated steps]
// What a forward leaves behind depends on its operation, attributes and operands' geometry (Note [Captured kernels]),
// on which of these are one tensor, and on the values of Python numbers. So of steps with one action, as the iterations
// of a loop have, only the first runs its forward, if that is a view or a few loops over what it reads and makes; the
// others are these loops on theirs.
#include <algorithm>
#include <cstring>

#include "core/base/frame.h"
#include "core/program/passes/plan.h"
#include "core/program/replay/guards.h"
#include "core/program/replay/slice.h"

namespace clew {
namespace {

std::uint64_t bits_of_number(const Tensor& number) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, number.data(), std::min(item_size(number.dtype()), sizeof(bits)));
    return bits;
}

// Where the elements of a tensor begin, as its register counts.
std::int64_t shift_of(const Tensor& tensor, const KeptRegister& reg) {
    return tensor->offset * static_cast<std::int64_t>(item_size(reg.dtype)) - reg.offset;
}

}  // namespace

const int* Planner::registers_of(const ReplayStep& run) const { return slice_.registers.data() + run.first; }

Planner::Result Planner::result_of(const ReplayStep& run) const {
    const int* const inputs = registers_of(run);
    if (run.form == Form::Accumulate && run.outputs == 0 && inputs[0] >= 0 && program_.memory_of(inputs[0]).input < 0)
        return {Result::Kind::Sum, inputs[0]};
    const int made = run.outputs == 1 ? inputs[run.inputs] : -1;
    if (made < 0 || !program_.steps[static_cast<std::size_t>(run.step)].writes.empty()) return {};
    if (program_.memory_of(made).made_by == run.step)
        return program_.of(made).offset == 0 ? Result{Result::Kind::New, made} : Result{};
    for (int i = 0; i < run.inputs; ++i)
        if (inputs[i] >= 0 && inputs[i] != made && program_.of(inputs[i]).memory == program_.of(made).memory)
            return {Result::Kind::View, made, i};
    return {};
}

// Which register of the step a call's operand is in: the result (-1) or an input. There may be no doubt.
std::optional<Planner::Repeatable::Operand> Planner::operand_of(const Reference& one, const ReplayStep& run,
                                                                const Result& result) const {
    std::optional<Repeatable::Operand> found;
    int found_reg = -1;
    const int* const inputs = registers_of(run);
    for (int i = -1; i < run.inputs; ++i) {
        const int reg = i < 0 ? result.reg : inputs[i];
        if (reg < 0 || program_.of(reg).memory != one.memory) continue;
        if (found && found_reg != reg) return std::nullopt;
        if (!found) found = Repeatable::Operand{i, one.offset - program_.of(reg).offset};
        found_reg = reg;
    }
    return found;
}

void Planner::note_repeatable(int index, const std::vector<Tensor>& registers) {
    const ReplayStep& run = slice_.replay_steps[static_cast<std::size_t>(index)];
    const Calls& calls = noted_[static_cast<std::size_t>(index)].calls;
    const Result result = result_of(run);
    if (result.kind == Result::Kind::Other || run.inputs > Repeatable::kMostInputs) return;
    if (calls.size() > (result.kind == Result::Kind::View ? 0 : Repeatable::kMostCalls)) return;
    Repeatable known{.run = index, .count = static_cast<int>(calls.size())};
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (!(calls[i].call->traits() & kernels::kFewFlat)) return;
        known.calls[i].loop = calls[i].call->flat();
        for (std::size_t k = 0; k < calls[i].references.size(); ++k) {
            const auto operand = operand_of(calls[i].references[k], run, result);
            if (!operand || (k == 0 && operand->input >= 0)) return;
            known.calls[i].operands[k] = *operand;
        }
    }
    const int* const inputs = registers_of(run);
    for (int i = 0; i < run.inputs; ++i) {
        if (inputs[i] < 0 || !program_.of(inputs[i]).number) continue;
        const Tensor& number = registers[static_cast<std::size_t>(inputs[i])];
        if (!number || item_size(number.dtype()) > sizeof(std::uint64_t)) return;
        known.numbers[i] = bits_of_number(number);
    }
    repeatable_.insert_or_assign(step_at(static_cast<std::size_t>(index)).action, known);
}

bool Planner::repeats(const Repeatable& known, const ReplayStep& run, const Result& result,
                      const std::vector<Tensor>& registers) const {
    const ReplayStep& first = slice_.replay_steps[static_cast<std::size_t>(known.run)];
    const Result other = result_of(first);
    if (run.inputs != first.inputs || result.kind != other.kind || result.input != other.input) return false;
    const int *const theirs = registers_of(first), *const ours = registers_of(run);
    const auto is_alike = [&](int their, int our) {
        const KeptRegister &one = program_.of(their), &now = program_.of(our);
        return one.number == now.number && same_geometry(*now.layout, now.dtype, one);
    };
    for (int i = 0; i < run.inputs; ++i) {
        if ((theirs[i] < 0) != (ours[i] < 0)) return false;
        if (ours[i] < 0) continue;
        if (!is_alike(theirs[i], ours[i])) return false;
        for (int k = 0; k < i; ++k)
            if ((theirs[k] == theirs[i]) != (ours[k] == ours[i])) return false;
        if (program_.of(ours[i]).number &&
            bits_of_number(registers[static_cast<std::size_t>(ours[i])]) != known.numbers[i])
            return false;
    }
    if (result.kind != Result::Kind::Sum) return is_alike(other.reg, result.reg);
    const auto lies_there = [&](int reg) {
        return reg >= 0 && program_.of(reg).memory == program_.of(result.reg).memory;
    };
    return std::none_of(ours + 1, ours + run.inputs, lies_there);  // what is added lies apart
}

bool Planner::repeat(int index, std::vector<Tensor>& registers) {
    const auto at = static_cast<std::size_t>(index);
    const ReplayStep& run = slice_.replay_steps[at];
    const auto found = repeatable_.find(step_at(at).action);
    if (found == repeatable_.end() || !may_be_captured(index)) return false;
    const Repeatable& known = found->second;
    const Result result = result_of(run);
    if (!repeats(known, run, result, registers)) return false;
    [[maybe_unused]] const DispatchFrame frame;
    const int* const given = registers_of(run);
    const KeptRegister& made = program_.of(result.reg);
    Tensor& place = registers[static_cast<std::size_t>(result.reg)];
    if (result.kind == Result::Kind::New) place = look_at(made, Storage::make(program_.memory_of(result.reg).bytes), 0);
    if (result.kind == Result::Kind::View) {
        const int reg = given[result.input];
        const Tensor& of = registers[static_cast<std::size_t>(reg)];
        place = look_at(made, of->storage, shift_of(of, program_.of(reg)));
    }
    Calls calls;
    calls.reserve(slabs_, static_cast<std::size_t>(known.count));
    for (const Repeatable::OneCall& one : std::span(known.calls).first(static_cast<std::size_t>(known.count))) {
        Call& call = calls.emplace_back(slabs_);
        char* data[kernels::kFewOperands];
        int regs[kernels::kFewOperands];
        for (int k = 0; k < one.loop->operands; ++k) {
            regs[k] = one.operands[k].input < 0 ? result.reg : given[one.operands[k].input];
            data[k] = static_cast<char*>(registers[static_cast<std::size_t>(regs[k])].data()) + one.operands[k].delta;
        }
        one.loop->run(data, one.loop->count);
        call.call = kernels::call_of(one.loop, data);
        for (const kernels::Operand& operand : call.call->operands()) {
            const int reg = regs[call.references.size()], memory = program_.of(reg).memory;
            char*& begin = addresses_[static_cast<std::size_t>(memory)];
            if (begin == nullptr) begin = registers[static_cast<std::size_t>(reg)]->storage->data;
            call.references.push_back({operand.place, *operand.place - begin, memory, operand.written});
        }
    }
    noted_[at] = {true, std::move(calls)};
    return true;
}

}  // namespace clew
