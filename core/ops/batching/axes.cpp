// Operations along axes: what names an axis of the sample names the next one of the value.
#include <algorithm>
#include <optional>

#include "core/base/error.h"
#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"

namespace clew::batching {
namespace {

bool names_axes(std::string_view name) {
    constexpr std::string_view kNames[] = {"dim",   "dims",  "dim0", "dim1",     "dim2",
                                           "axis0", "axis1", "axis", "dimension"};
    return std::ranges::find(kNames, name) != std::end(kNames);
}

bool has_axes(const OpDef& op) {
    return std::ranges::any_of(op.schema.arguments,
                               [](const Argument& one) { return !is_tensor(one) && names_axes(one.name); });
}

// Axes of the result that are no axes of the input may be named, too.
bool adds_an_axis(const OpDef& op) { return op.text.batching == BatchBy::NewAxis; }

std::optional<std::int64_t> shifted(std::int64_t axis, int rank) {
    if (axis < -rank || axis >= rank) return {};
    return axis < 0 ? axis : axis + 1;
}

std::optional<Dims> shifted(const Dims& axes, int rank) {
    Dims result;
    for (const std::int64_t axis : axes) {
        const auto one = shifted(axis, rank);
        if (!one) return {};
        result.push_back(*one);
    }
    return result;
}

Dims all_axes(int rank) {
    Dims axes;
    for (int axis = 1; axis <= rank; ++axis) axes.push_back(axis);
    return axes;
}

// The attributes as the values have axes; false where this is not the way.
bool shift_attributes(const OpDef& op, int rank, AttributeCopy& attributes) {
    const bool reduces = attributes.has("keepdim");
    for (const Argument& argument : op.schema.arguments) {
        if (is_tensor(argument) || !names_axes(argument.name)) continue;
        const Value value = attributes.get(argument.name);
        if (value.tag == Value::Int) {
            const auto axis = shifted(value.integer, rank);
            if (!axis) return false;
            attributes.set(argument.name, *axis);
        } else if (value.tag == Value::IntList && !value.dims.empty()) {
            const auto axes = shifted(value.dims, rank);
            if (!axes) return false;
            attributes.set(argument.name, *axes);
        } else if ((reduces || argument.optional) && argument.type == ArgType::IntList) {
            attributes.set(argument.name, all_axes(rank));
        } else if (!op.is(kView)) {
            return false;
        }
    }
    return true;
}

// All with a batch in front, except indices of one axis, which say the same of each sample.
bool line_up(const Call& call, std::vector<Tensor>& inputs) {
    for (std::size_t i = 0; i < call.count(); ++i) {
        if (!call.has(i)) continue;
        if (call.op().text.batching == BatchBy::IndexedAxis && i == 1) {
            if (call.batched(i)) return false;
            continue;
        }
        if (call.rank(i) == 0 && !adds_an_axis(call.op())) {
            if (call.batched(i)) return false;
            continue;
        }
        inputs[i] = call.expanded(i);
    }
    return true;
}

}  // namespace

bool along_axes(const Call& call) {
    const OpDef& op = call.op();
    if (!has_axes(op) || op.is(kWritesInput) || call.count() == 0 || !call.has(0)) return false;
    const int rank = call.rank(0) + (adds_an_axis(op) ? 1 : 0);
    if (rank == 0) return false;
    AttributeCopy attributes(op, call.call.attributes);
    if (!shift_attributes(op, rank, attributes)) return false;
    std::vector<Tensor> inputs = call.values;
    if (!line_up(call, inputs)) return false;
    call.run(std::move(inputs), attributes.data());
    return true;
}

namespace {

// The same along an axis. Not one that names an element, to which all of the gradient goes: without axes, equal ones
// share it.
const OpDef* along_one_axis(const OpDef& op) {
    if (has_axes(op) || op.schema.arguments.empty()) return nullptr;
    const std::string& name = op.schema.name;
    const std::string wanted = name == "max" || name == "min" ? "a" + name : name;
    for (const OpDef* other : all_operations())
        if (other != &op && other->schema.name == wanted && has_axes(*other) && !other->is(kComposite) &&
            other->output_count == 1 && AttributeCopy(*other).has("keepdim"))
            return other;
    return nullptr;
}

}  // namespace

bool of_everything(const Call& call) {
    const OpDef& op = call.op();
    if (call.count() != 1 || call.call.form != Form::Functional || call.call.outputs.size() != 1) return false;
    const OpDef* const other = along_one_axis(op);
    if (other == nullptr || count_elements(call.call.inputs[0].sizes()) == 0) return false;
    AttributeCopy own(op, call.call.attributes), attributes(*other);
    for (const Argument& argument : other->schema.arguments)
        if (!is_tensor(argument) && own.has(argument.name)) attributes.set(argument.name, own.get(argument.name));
    if (attributes.get("dim").tag == Value::Int ||
        std::ranges::any_of(other->schema.arguments,
                            [](const Argument& one) { return one.name == "dim" && one.type == ArgType::Int; }))
        attributes.set("dim", 1);
    else
        attributes.set("dim", Dims{1});
    const Tensor inputs[] = {flattened_sample(call.values[0])};
    std::vector<Tensor> outputs(other->output_count);
    OpCall inner{*other, inputs, attributes.data(), outputs};
    dispatch(inner);
    call.give(0, outputs[0]);
    return true;
}

bool by_leading_axes(const Call& call) {
    if (!call.op().is(kLeadingAxes)) return false;
    std::vector<Tensor> inputs = call.values;
    if (call.count() > 1)
        for (std::size_t i = 0; i < call.count(); ++i) {
            if (!call.has(i)) continue;
            if (call.rank(i) < 2) return false;
            inputs[i] = call.expanded(i);
        }
    call.run(std::move(inputs), call.call.attributes);
    return true;
}

}  // namespace clew::batching
