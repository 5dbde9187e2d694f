#include "core/budget/budget.h"

#include <algorithm>
#include <cstring>

#include "core/autograd/mode.h"

namespace clew::budget {
namespace {

constexpr int kDeepest = 2000;                   // recipes behind a value: then it stays, and they may go
constexpr std::int64_t kWorthDrawing = 16384;    // bytes: a recipe that draws has the generator's state
constexpr std::int64_t kLargestShareCopied = 8;  // of an operand that the call writes: a part of what it reads

bool is_known_memory(const Tensor& tensor) { return !tensor->storage->foreign && !tensor->storage->unbacked; }

bool reads(const OpCall& call, const Storage& storage) {
    return std::ranges::any_of(call.inputs,
                               [&](const Tensor& input) { return input && input->storage.get() == &storage; });
}

// Memory that the call has made.
bool is_new(const OpCall& call, const Tensor& output) {
    return output && is_known_memory(output) && !output->storage->watched && !reads(call, *output->storage);
}

std::int64_t bytes_read(const OpCall& call) {
    std::int64_t bytes = 0;
    for (const Tensor& input : call.inputs)
        if (input) bytes += input->storage->bytes;
    return bytes;
}

// Whatever reads what the call is about to write has to find it later.
void part_with_written(const OpCall& call) {
    if (call.op.is(kAxesInPlace)) return;
    for_each_written(call, [&](const Tensor& tensor) {
        Value* const value = present_value(*tensor->storage);
        if (value == nullptr) return;
        const ValueRef alive(value);
        const bool is_read = value->references > 1 + (value->lives ? 1u : 0u);
        part_from_storage(*value, is_read && !value->recipe);
    });
}

Operand number_operand(const Tensor& tensor) {
    Operand operand{.layout = tensor->layout, .dtype = tensor.dtype(), .is_number = true};
    std::memcpy(operand.number, tensor.data(), item_size(tensor.dtype()));
    return operand;
}

}  // namespace

Budget::Budget(std::int64_t limit) : account_(Ref<Account>::steal(new Account{.limit = limit})) { watch_storages(); }

Budget::~Budget() { end(); }

void Budget::begin() {
    if (!Interpreter::make_way())
        fail(ErrorKind::NotImplemented,
             "memory.budget: a block inside another one, or inside keep_graph() or a transform, is not supported; "
             "begin it outside");
    push();
    on_ = true;
}

void Budget::end() {
    if (!on_) return;
    on_ = false;
    pop();
    forget_useless();
}

void Budget::notice(const Notice& notice) {
    if (notice.event != Event::Backward || (account_->report.drops == 0 && account_->short_of == 0)) return;
    account_->check(least_for(*account_, notice.tensors), "for this backward");
}

void Budget::handle(OpCall& call) {
    switch (call.form) {
        case Form::Functional:
        case Form::InPlace:
            return run_and_note(call);
        case Form::Accumulate:
            part_with_written(call);
            [[fallthrough]];
        default:
            return dispatch(call);
    }
}

void Budget::run_and_note(OpCall& call) {
    const bool in_place = call.form == Form::InPlace && !call.op.is(kAxesInPlace);
    const bool writes = in_place || call.op.written_by(call.attributes) != 0;
    Ref<Recipe> recipe;
    const bool was_watched = in_place && call.inputs[0]->storage->watched;
    if (writes || call.op.draws) recipe = recipe_for(call);
    if (writes) part_with_written(call);
    const std::int64_t start = now_ns();
    dispatch(call);
    account_->now = now_ns();
    const auto cost = static_cast<double>(account_->now - start);
    if (in_place) {
        Storage& storage = *call.inputs[0]->storage;
        if (!was_watched) return;
        const ValueRef value = new_value(*account_, storage);
        if (recipe) {
            recipe->cost = cost;
            recipe->results.resize(1);
            give_recipe(*value, recipe, 0);
        }
    } else if (std::ranges::any_of(call.outputs, [&](const Tensor& output) { return is_new(call, output); })) {
        if (!writes && !call.op.draws) recipe = recipe_for(call);
        if (recipe) recipe->cost = cost;
        note_results(call, recipe);
    }
    account_->note_peak_without_drops();
    if (!account_->make_room(0)) account_->short_of = std::max(account_->short_of, account_->held);
    account_->note_peak();
}

Operand Budget::operand_of(const Tensor& tensor, bool written) {
    if (!tensor) return {};
    if (tensor->has(TensorObject::kWrappedNumber)) return number_operand(tensor);
    Storage& storage = *tensor->storage;
    ValueRef value(present_value(storage));
    if (written) {
        const Tensor copy = alias(tensor, tensor->layout, tensor->offset);
        copy->storage = copy_of(storage);
        value = older_value(*account_, copy);
    } else if (!value) {
        value = older_value(*account_, tensor);
    }
    value->last_use = account_->now;
    keep(*value);
    return {.value = std::move(value), .layout = tensor->layout, .offset = tensor->offset, .dtype = tensor.dtype()};
}

Ref<Recipe> Budget::recipe_for(const OpCall& call) {
    const bool in_place = call.form == Form::InPlace;
    if (call.op.text.schema == nullptr || call.op.in_python) return {};
    for (const Tensor& input : call.inputs)
        if (input && !is_known_memory(input)) return {};
    if (in_place) {
        const Value* const before = present_value(*call.inputs[0]->storage);
        if (before == nullptr || !before->recipe || before->depth >= kDeepest) return {};
    }
    if (++recipes_ > forget_after_) forget_useless();
    auto recipe = Ref<Recipe>::steal(new Recipe(call));
    const std::int64_t all = bytes_read(call);
    const std::uint64_t writes = call.op.written_by(call.attributes);
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        const Tensor& input = call.inputs[i];
        const bool written = input && i < 64 && (writes >> i & 1) && !(in_place && i == 0);
        if (written && input->storage->bytes * kLargestShareCopied > all) return {};
        recipe->operands.push_back(operand_of(input, written));
        if (recipe->operands.back().value && recipe->operands.back().value->depth >= kDeepest) return {};
    }
    if (call.op.draws) {
        recipe->draws = true;
        recipe->generator_state = call.details->generator->get_state();
    }
    return recipe;
}

void Budget::note_results(const OpCall& call, const Ref<Recipe>& recipe) {
    std::int64_t bytes = 0;
    for (const Tensor& output : call.outputs)
        if (output) bytes += output->storage->bytes;
    const bool worth = recipe && !(call.op.draws && bytes < kWorthDrawing);
    if (worth) recipe->results.resize(call.outputs.size());
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
        const Tensor& output = call.outputs[i];
        if (!is_new(call, output)) continue;
        const ValueRef value = new_value(*account_, *output->storage);
        worth ? give_recipe(*value, recipe, i) : recount(*value);
    }
}

// Where a state goes on from step to step, recipes would lead back to the first one.
void Budget::forget_useless() {
    const std::vector<ValueRef> present = [&] {
        std::vector<ValueRef> alive;
        for (Value* value : account_->present) alive.emplace_back(value);
        return alive;
    }();
    for (const ValueRef& value : present)
        if (value->lives && value->storage->saved == 0 && value->readers.empty()) forget_recipe(*value);
    recipes_ = 0;
    forget_after_ = std::max<std::size_t>(1000, 2 * account_->present.size());
}

}  // namespace clew::budget
