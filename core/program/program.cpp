#include "core/program/program.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/program/loops/loop.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/replay/slice.h"
#include "core/program/results/graph_gradient.h"
#include "core/program/results/outcome.h"

namespace clew {

Program::Program() = default;

// Inputs may keep other programs alive, and these their inputs, and so on: they go one by one.
Program::~Program() {
    static std::vector<Tensor> graves;
    static bool digging = false;
    forget_nodes(*this);
    forget_tensors(*this);
    for (Input& input : inputs) graves.push_back(std::move(input.tensor));
    if (std::exchange(digging, true)) return;
    while (!graves.empty()) {
        const Tensor last = std::move(graves.back());
        graves.pop_back();
    }
    digging = false;
}

std::string name_of(const Step& step) {
    if (step.action->kind == StepKind::Read) return std::string("read.") + step.action->name;
    if (step.action->name) return step.action->name;
    if (step.action->kind == StepKind::Rebind) return "set_grad";
    return step.action->form == Form::InPlace ? step.action->op->in_place_name : step.action->op->name;
}

bool NumberWitness::holds(double number) const {
    const bool found[] = {number<constant, number <= constant, number == constant, number != constant, number> constant,
                          number >= constant};
    return found[operation] == outcome;
}

const Tensor& Input::present_grad() const {
    static const Tensor none;
    return tensor->extras ? tensor->extras->grad : none;
}

Tensor leaf_of(const Program& program, const Leaf& leaf) {
    if (leaf.input >= 0) return program.inputs[static_cast<std::size_t>(leaf.input)].tensor;
    if (leaf.tracked >= 0) return Tensor(program.tracked[static_cast<std::size_t>(leaf.tracked)].tensor);
    return {};
}

Bytes bytes_of(const Layout& layout, std::int64_t offset, DType dtype) {
    if (layout.numel == 0) return {offset, offset};
    const Extent reach = extent(layout);
    const auto size = static_cast<std::int64_t>(item_size(dtype));
    return {offset + reach.low * size, offset + (reach.high + 1) * size};
}

Bytes KeptRegister::bytes() const { return bytes_of(*layout, offset, dtype); }

std::span<const char> Recorded::keep_bytes(std::span<const char> bytes) {
    if (bytes.empty()) return {};
    char* const kept = static_cast<char*>(slabs->take(bytes.size()));
    std::ranges::copy(bytes, kept);
    return {kept, bytes.size()};
}

bool does_the_same(const Action& one, const Action& other) {
    return one.op == other.op && one.instruction == other.instruction && one.code.get() == other.code.get() &&
           one.name == other.name && one.generator == other.generator && one.form == other.form &&
           one.kind == other.kind && one.read == other.read && one.in_backward == other.in_backward && !one.varies &&
           one.attributes.size() == other.attributes.size() &&
           (one.attributes.empty() || one.op->same_attributes(one.attributes, other.attributes));
}

const Action* Recorded::keep(Action&& action) {
    if (!known_) known_ = std::make_unique<Known>();
    const std::size_t place = reinterpret_cast<std::uintptr_t>(action.op) / alignof(std::max_align_t) +
                              static_cast<std::size_t>(action.instruction);
    auto& known = known_->actions[place % kKnown];
    for (const Action* const one : known)
        if (one && does_the_same(*one, action)) return one;
    std::move_backward(known, known + kOfOne - 1, known + kOfOne);
    return known[0] = &add(std::move(action));
}

Action& Recorded::add(Action&& action) {
    action.attributes = keep_bytes(action.attributes);
    action.number = static_cast<int>(actions.size());
    return actions.emplace_back(std::move(action));
}

Action& Recorded::keep_alone(const Action& action) {
    Action& own = add(Action(action));
    own.varies = true;
    return own;
}

void* Recorded::vary_attributes(Step& step) {
    if (!step.action->varies) step.action = &keep_alone(*step.action);
    return const_cast<char*>(step.action->attributes.data());
}

std::int64_t bytes_of(const Program& program) {
    std::unordered_set<const Storage*> seen;
    std::int64_t sum = 0;
    const auto add = [&](const Tensor& tensor) {
        if (tensor && seen.insert(tensor->storage.get()).second) sum += tensor->storage->bytes;
    };
    const auto table = [&](const auto& list) { sum += static_cast<std::int64_t>(list.size() * sizeof(list[0])); };
    for (const auto& [reg, value] : program.constants) add(value);
    for (const Tensor& read : program.reads) add(read);
    for (const auto& slice : program.slices) {
        if (slice->plan) sum += slice->plan->bytes();
    }
    for (const Step& step : program.steps) table(step.inputs), table(step.outputs);
    table(program.inputs);
    if (program.outcome)
        for (const auto& gradient : {program.outcome->gradient, program.outcome->from_head})
            if (gradient) sum += gradient->bytes();
    for (const auto& loop : program.loops) {
        table(loop->bindings), table(loop->begins), table(loop->reaches);
        sum += static_cast<std::int64_t>(sizeof(Loop)) + bytes_of(loop->body);
    }
    return sum + program.slabs->bytes();
}

// A new tensor: what earlier results saved stays as it was.
void set_constant(Program& program, std::size_t constant, Tensor value) {
    auto& [reg, now] = program.constants[constant];
    now = std::move(value);
    for (const auto& slice : program.slices)
        if (slice->plan) slice->plan->registers[static_cast<std::size_t>(reg)] = now;
}

std::uint64_t history_of(const Tensor& tensor) { return tensor->grad_fn ? tensor->grad_fn->sequence : 0; }

bool Program::decides(const Step& read) const {
    const auto index = static_cast<std::size_t>(read.index);
    return followed.empty() || !followed[index] || reads[index].numel() != 1 ||
           std::ranges::any_of(comparisons, [&](const NumberWitness& one) { return one.read == read.index; });
}

bool Program::writes(int step, int reg) const {
    return std::ranges::any_of(steps[static_cast<std::size_t>(step)].writes, [&](const KeptWrite& written) {
        return of(written.reg).memory == of(reg).memory && of(written.reg).bytes().meets(of(reg).bytes());
    });
}

// A number that changes when hooks come or go; 0: there are none.
std::uint64_t hooks_of(const Tensor& tensor) {
    std::uint64_t sum = 0;
    each_hook(*tensor.get(), [&](const Hook& hook) { sum = sum * 1000003 + hook.id + 1; });
    return sum;
}

ReplayFailed::ReplayFailed(std::string text, const Step* step) : Error(ErrorKind::Runtime, std::move(text)) {
    if (step == nullptr) return;
    code = step->action->code;
    instruction = step->action->instruction;
}

}  // namespace clew
