// What rules share.
#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"

namespace clew::batching {

Call::Call(OpCall& call, const Batching& by) : call(call), by(by) {
    for (const Tensor& input : call.inputs) {
        is_batched.push_back(is_batched_by(input, by.batch));
        values.push_back(is_batched.back() ? clew::batched(input).value : input);
    }
}

bool Call::any() const { return std::ranges::find(is_batched, true) != is_batched.end(); }

bool Call::alike() const {
    return std::ranges::all_of(call.inputs, [&](const Tensor& input) {
        return !is_batched_by(input, by.batch) || clew::batched(input).alike;
    });
}

int Call::highest_rank() const {
    int highest = 0;
    for (std::size_t i = 0; i < count(); ++i)
        if (has(i)) highest = std::max(highest, rank(i));
    return highest;
}

Tensor Call::expanded(std::size_t i) const {
    if (batched(i) || !has(i)) return values[i];
    Dims sizes(values[i].sizes());
    sizes.insert(0, by.size);
    return expand_view(values[i], sizes);
}

void Call::run(std::vector<Tensor> inputs, const void* attributes) const {
    if (call.form != Form::InPlace) return run_as(op(), std::move(inputs), attributes);
    CallDetails details = call.details ? *call.details : CallDetails{};
    Tensor before;
    if (details.before) {
        if (is_batched_by(*details.before, by.batch)) before = clew::batched(*details.before).value;
        details.before = before ? &before : nullptr;
    }
    OpCall inner{op(), inputs, attributes, {}, Form::InPlace, &details};
    dispatch(inner);
}

void Call::run_as(const OpDef& op, std::vector<Tensor> inputs, const void* attributes) const {
    std::vector<Tensor> outputs(call.outputs.size());
    CallDetails details = call.details ? *call.details : CallDetails{};
    OpCall inner{op, inputs, attributes, outputs, Form::Functional, &details};
    dispatch(inner);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        if (outputs[i]) give(i, outputs[i]);
}

AttributeCopy::AttributeCopy(const OpDef& op, const void* attributes) : op_(op), bytes_(op.attribute_bytes) {
    if (!bytes_.empty()) std::memcpy(bytes_.data(), attributes, bytes_.size());
}

AttributeCopy::AttributeCopy(const OpDef& op) : op_(op), bytes_(op.attribute_bytes) {
    std::size_t field = 0;
    for (const Argument& argument : op.schema.arguments) {
        if (is_tensor(argument)) continue;
        if (argument.has_default) op.fields[field].set(bytes_.data(), argument.default_value);
        ++field;
    }
}

int AttributeCopy::field(std::string_view name) const {
    int field = 0;
    for (const Argument& argument : op_.schema.arguments) {
        if (is_tensor(argument)) continue;
        if (argument.name == name) return field;
        ++field;
    }
    return -1;
}

Value AttributeCopy::get(std::string_view name) const {
    Value value;
    op_.fields[static_cast<std::size_t>(field(name))].get(bytes_.data(), value);
    return value;
}
void AttributeCopy::set(std::string_view name, const Value& value) {
    op_.fields[static_cast<std::size_t>(field(name))].set(bytes_.data(), value);
}
void AttributeCopy::set(std::string_view name, std::int64_t value) {
    set(name, {.tag = Value::Int, .integer = value, .real = static_cast<double>(value), .dims = {}, .text = {}});
}
void AttributeCopy::set(std::string_view name, const Dims& value) {
    set(name, {.tag = Value::IntList, .dims = value, .text = {}});
}

Tensor reshaped_sample(const Tensor& value, Sizes sizes) {
    Dims all(sizes);
    all.insert(0, value.size(0));
    return reshape(value, all);
}

Tensor at_rank(const Tensor& value, int rank) {
    if (value.ndim() == rank + 1) return value;
    Dims sizes(value.sizes().subspan(1));
    while (sizes.size() < rank) sizes.insert(0, 1);
    return reshaped_sample(value, sizes);
}

Tensor flattened_sample(const Tensor& value) {
    return reshaped_sample(value, Dims{count_elements(value.sizes().subspan(1))});
}

}  // namespace clew::batching
