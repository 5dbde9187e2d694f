#include "core/program/program.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/program/graph_gradient.h"
#include "core/program/kept.h"
#include "core/program/outcome.h"
#include "core/program/slice.h"

namespace clew {

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
    if (step.kind == StepKind::Read) return std::string("read.") + step.name;
    if (step.name) return step.name;
    if (step.kind == StepKind::Rebind) return "set_grad";
    return step.form == Form::InPlace ? step.op->in_place_name : step.op->name;
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

std::uint64_t place_of(const TensorObject& tensor) {
    const std::uint64_t identity = identity_of(*tensor.storage);
    return identity ? identity : reinterpret_cast<std::uintptr_t>(tensor.storage.get());
}

Tensor leaf_of(const Program& program, const Leaf& leaf) {
    if (leaf.input >= 0) return program.inputs[static_cast<std::size_t>(leaf.input)].tensor;
    if (leaf.living >= 0) return Tensor(program.living[static_cast<std::size_t>(leaf.living)].tensor);
    return {};
}

Bytes bytes_of(const Layout& layout, std::int64_t offset, DType dtype) {
    if (layout.numel == 0) return {offset, offset};
    const Extent reach = extent(layout);
    const auto size = static_cast<std::int64_t>(item_size(dtype));
    return {offset + reach.low * size, offset + (reach.high + 1) * size};
}

Bytes KeptRegister::bytes() const { return bytes_of(*layout, offset, dtype); }

std::span<const char> Recorded::keep_bytes(const void* bytes, std::size_t count) {
    if (count == 0) return {};
    char* const kept = static_cast<char*>(slabs->take(count));
    std::memcpy(kept, bytes, count);
    return {kept, count};
}

std::span<const char> Recorded::keep_attributes(const OpDef& op, const void* attributes) {
    if (op.attribute_bytes == 0) return {};
    auto& known = known_[reinterpret_cast<std::uintptr_t>(&op) / alignof(std::max_align_t) % kKnown];
    for (const Known& one : known)
        if (one.op == &op && op.same_attributes(one.attributes, attributes))
            return {one.attributes, op.attribute_bytes};
    const std::span<const char> kept = keep_bytes(attributes, op.attribute_bytes);
    std::move_backward(known, known + kOfOne - 1, known + kOfOne);
    known[0] = {&op, kept.data()};
    return kept;
}

void* Recorded::vary_attributes(Step& step) {
    if (!std::exchange(step.varies, true)) step.attributes = keep_bytes(step.attributes.data(), step.attributes.size());
    return const_cast<char*>(step.attributes.data());
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

// A number that changes when hooks come or go: those of the node where the tensor's gradient goes.
std::uint64_t hooks_of(const Tensor& tensor) {
    const Node* node = tensor->grad_fn.get();
    if (node == nullptr && tensor->extras) node = tensor->extras->accumulator.get();
    if (node == nullptr || node->extras == nullptr) return 0;
    std::uint64_t sum = 0;
    for (const auto* list : {&node->extras->tensor_hooks, &node->extras->pre_hooks, &node->extras->post_hooks,
                             &node->extras->accumulate_hooks})
        for (const Hook& hook : *list) sum = sum * 1000003 + hook.id + 1;
    return sum;
}

ReplayFailed::ReplayFailed(std::string text, const Step* step) : Error(ErrorKind::Runtime, std::move(text)) {
    if (step == nullptr) return;
    code = step->code;
    instruction = step->instruction;
}

}  // namespace clew
