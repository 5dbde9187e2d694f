#include "core/budget/account.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/frame.h"

namespace clew::budget {

Impossible::Impossible(std::int64_t least, std::int64_t limit, const char* when)
    : Error(ErrorKind::Runtime,
            format("memory.budget: impossible: the least is %lld bytes %s, and the budget is %lld. To do: give it that "
                   "much, or delete references to tensors that the program holds, as these can't be dropped",
                   static_cast<long long>(least), when, static_cast<long long>(limit))),
      least(least) {}

// ------------------------------------------------------------------------------------- dropping
Value* Account::cheapest() const {
    Value* best = nullptr;
    double lowest = 0;
    for (Value* value : present) {
        if (value->counted == 0 || !value->can_go()) continue;
        const auto worth = static_cast<double>(value->bytes) * static_cast<double>(now - value->last_use + 1);
        const double score = cost_of_dropping(*value) / worth;
        if (best && score >= lowest) continue;
        best = value;
        lowest = score;
    }
    return best;
}

void Account::drop(Value& value) {
    report.dropped += value.bytes;
    ++report.drops;
    if (value.kept) {
        value.storage->watched = false;
        part_from_storage(value, false);
        return;
    }
    graph_counters.bytes_saved -= value.bytes;
    drop_data(*value.storage);
    note_dropped(value);
    recount(value);
}

void Account::check(std::int64_t least, const char* when) {
    const std::int64_t most = std::max(std::exchange(short_of, 0), least);
    if (most > limit) throw Impossible(std::min(most, peak_without_drops), limit, when);
}

bool Account::make_room(std::int64_t extra) {
    while (held + extra > limit) {
        Value* const value = cheapest();
        if (value == nullptr) return false;
        drop(*value);
    }
    return true;
}

// ------------------------------------------------------------------------------------- computing again
namespace {

struct Frame {
    Value* value;
    std::size_t next = 0;  // operands that come before it in the recipe's order are locked
};

// Unlocks what an error leaves locked.
struct Frames {
    std::vector<Frame> stack;
    ~Frames() {
        while (!stack.empty()) pop();
    }
    void pop() {
        const Frame& frame = stack.back();
        for (std::size_t i = 0; i < frame.next; ++i)
            if (Value* operand = operand_at(*frame.value, i)) --operand->locks;
        stack.pop_back();
    }
};

void check_unwritten(const Value& value, const Recipe& recipe) {
    if (!value.present() || was_written(value))
        fail(ErrorKind::Runtime,
             "memory.budget: %s has to be computed again, but a tensor that it reads was modified in place outside the "
             "block of the budget. To do: write inside the block, or run the backward before the write",
             recipe.op->name);
}

Tensor tensor_of(const Operand& operand, StorageRef storage) {
    TensorObject* const object = new_tensor_object();
    object->storage = std::move(storage);
    object->layout = operand.layout;
    object->offset = operand.offset;
    object->dtype = operand.dtype;
    return Tensor::steal(object);
}

// What the operation gives for each result: the storage that holds it.
std::vector<StorageRef> run(const Recipe& recipe) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 0; i < recipe.operands.size(); ++i) {
        const Operand& operand = recipe.operands[i];
        if (!operand.value) {
            inputs.push_back(operand.is_number ? operand.number_tensor() : Tensor());
            continue;
        }
        check_unwritten(*operand.value, recipe);
        Storage& storage = *operand.value->storage;
        inputs.push_back(tensor_of(operand, recipe.writes(i) ? copy_of(storage) : StorageRef(&storage)));
    }
    std::optional<Generator> generator;
    if (recipe.draws) generator.emplace().set_state(recipe.generator_state);
    const CallDetails details{.generator = generator ? &*generator : nullptr};
    std::vector<Tensor> outputs(recipe.results.size());
    if (recipe.in_place) outputs[0] = inputs[0];
    OpCall call{
        *recipe.op, inputs, recipe.attributes.data(), outputs, recipe.in_place ? Form::InPlace : Form::Functional,
        &details};
    {
        const ModeGuard quietly(kNoGrad | kInBackward, true);
        const ModeGuard plainly(kInterpreted | kTiming | kInferenceMode | kSavedHooks, false);
        [[maybe_unused]] const DispatchFrame frame;
        run_forward(call);
    }
    std::vector<StorageRef> made;
    for (const Tensor& output : outputs) made.push_back(output ? output->storage : StorageRef());
    return made;
}

// Gives the value its bytes: to the storage that slots hold, or, if there is none, kept by itself.
void fill(Value& value, const StorageRef& made) {
    if (made->bytes != value.bytes)
        fail(ErrorKind::Runtime, "memory.budget: %s gave %lld bytes when it was computed again, and %lld before",
             value.recipe->op->name, static_cast<long long>(made->bytes), static_cast<long long>(value.bytes));
    if (value.storage) {
        move_data(*value.storage, *made);
        if (value.storage->saved) graph_counters.bytes_saved += value.bytes;
    } else {
        look_at(value, *made);
        value.kept = made;
    }
    note_present(value);
    value.last_use = value.account->now;
    recount(value);
}

}  // namespace

void Account::compute(Value& value) {
    const Ref<Recipe> recipe = value.recipe;
    if (!make_room(value.bytes) && short_of == 0) throw Impossible(held + value.bytes, limit, "here");
    const std::int64_t start = now;
    const std::vector<StorageRef> made = run(*recipe);
    now = now_ns();
    // The one that is wanted takes the room that was made for it; others take what is left.
    const auto wanted = static_cast<std::size_t>(std::ranges::find(recipe->results, &value) - recipe->results.begin());
    if (made[wanted]) fill(value, made[wanted]);
    for (std::size_t i = 0; i < made.size(); ++i) {
        Value* const result = recipe->results[i];
        if (result && !result->present() && made[i] && held + result->bytes <= limit) fill(*result, made[i]);
    }
    ++report.recomputed;
    report.recompute_ns += now - start;
    note_peak();
}

void Account::restore(Value& target) {
    const ValueRef alive(&target);
    Frames frames;
    frames.stack.push_back({&target});
    while (!frames.stack.empty()) {
        Frame& frame = frames.stack.back();
        if (frame.next == frame.value->recipe->operands.size()) {
            compute(*frame.value);
            frames.pop();
            continue;
        }
        Value* const operand = operand_at(*frame.value, frame.next++);
        if (operand == nullptr) continue;
        ++operand->locks;
        operand->last_use = now;
        if (operand->recipe && operand->present() && was_written(*operand)) part_from_storage(*operand, false);
        if (operand->recipe && !operand->present()) frames.stack.push_back({operand});
    }
}

}  // namespace clew::budget
