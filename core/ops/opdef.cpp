#include "core/ops/opdef.h"

#include "core/autograd/strips.h"

#include "core/base/error.h"

namespace clew {

namespace {

std::vector<OpDef*>& registry() {
    static auto* const operations = new std::vector<OpDef*>;
    return *operations;
}

const SavedSlot* find_slot(Node& node, SlotSource source, int index) {
    for (int i = 0; i < node.slot_count; ++i) {
        const SavedSlot& slot = node.slots()[i];
        if (slot.source == source && slot.index == index && slot.layout) return &slot;
    }
    return nullptr;
}

}  // namespace

const std::vector<OpDef*>& all_operations() { return registry(); }

Tensor saved_input(BackwardCall& call, int input) {
    const SavedSlot* slot = find_slot(call.node, SlotSource::Input, input);
    return slot ? in_strip(unpack(call.node, const_cast<SavedSlot&>(*slot))) : Tensor();
}

Tensor saved_output(BackwardCall& call, int output) {
    const SavedSlot* slot = find_slot(call.node, SlotSource::Output, output);
    return slot ? in_strip(unpack(call.node, const_cast<SavedSlot&>(*slot))) : Tensor();
}

namespace opdef_detail {

void assign(bool& field, const Value& value) { field = value.integer != 0; }
void assign(std::int64_t& field, const Value& value) { field = value.integer; }
void assign(double& field, const Value& value) {
    field = value.tag == Value::Float ? value.real : static_cast<double>(value.integer);
}
void assign(Scalar& field, const Value& value) {
    field.kind = value.tag == Value::Float ? Scalar::Float : value.tag == Value::Bool ? Scalar::Bool : Scalar::Int;
    field.integer = value.integer;
    field.real = value.tag == Value::Float ? value.real : static_cast<double>(value.integer);
}
void assign(Dims& field, const Value& value) {
    field = value.dims;
    if (value.tag == Value::Int) field = Dims{value.integer};
}
void assign(Text& field, const Value& value) { field = value.text; }
void assign(DType& field, const Value& value) { field = static_cast<DType>(value.integer); }

void read(const bool& field, Value& value) {
    value = {.tag = Value::Bool, .integer = field, .real = 0, .dims = {}, .text = {}};
}
void read(const std::int64_t& field, Value& value) {
    value = {.tag = Value::Int, .integer = field, .real = 0, .dims = {}, .text = {}};
}
void read(const double& field, Value& value) {
    value = {.tag = Value::Float, .integer = 0, .real = field, .dims = {}, .text = {}};
}
void read(const Scalar& field, Value& value) {
    const auto tag = field.kind == Scalar::Float ? Value::Float : field.kind == Scalar::Bool ? Value::Bool : Value::Int;
    value = {.tag = tag, .integer = field.integer, .real = field.real, .dims = {}, .text = {}};
}
void read(const Dims& field, Value& value) {
    value = {.tag = Value::IntList, .integer = 0, .real = 0, .dims = field, .text = {}};
}
void read(const Text& field, Value& value) {
    value = {.tag = Value::Text, .integer = 0, .real = 0, .dims = {}, .text = field};
}
void read(const DType& field, Value& value) {
    value = {.tag = Value::DType, .integer = static_cast<std::int64_t>(field), .real = 0, .dims = {}, .text = {}};
}

void finish(OpDef& def) {
    def.schema = parse_schema(def.text.schema);
    def.name = def.schema.name.c_str();
    def.node_name = def.text.node;
    def.elementwise = def.is(kElementwise);
    def.in_place_name = def.schema.name + (def.is(kWritesInput) ? "" : "_");
    std::size_t tensors = 0, others = 0;
    for (const Argument& argument : def.schema.arguments) {
        const bool tensor = argument.type == ArgType::Tensor || argument.type == ArgType::Operand ||
                            argument.type == ArgType::TensorList;
        (tensor ? tensors : others) += 1;
        def.variadic = def.variadic || argument.type == ArgType::TensorList;
    }
    if (others != def.fields.size())
        fail(ErrorKind::Value, "%s: the schema has %zu attributes, the struct %zu fields", def.name, others,
             def.fields.size());
    if (def.saved_by_rule.size() > tensors) fail(ErrorKind::Value, "%s: more rules than tensor arguments", def.name);
    if (def.is(kNonDifferentiable)) def.differentiable = false;
    std::string names = def.text.outputs;
    for (std::size_t start = 0; start <= names.size();) {
        const auto end = std::min(names.find(' ', start), names.size());
        def.output_names.push_back(names.substr(start, end - start));
        start = end + 1;
    }
    def.input_name = [](const NodeKind& kind, int index) -> const char* {
        int tensor = 0;
        for (const Argument& argument : static_cast<const OpDef&>(kind).schema.arguments) {
            if (argument.type == ArgType::TensorList) return argument.name.c_str();
            if (argument.type != ArgType::Tensor && argument.type != ArgType::Operand) continue;
            if (tensor++ == index) return argument.name.c_str();
        }
        return "tensor";
    };
    def.output_name = [](const NodeKind& kind, int index) -> const char* {
        const auto& names_of = static_cast<const OpDef&>(kind).output_names;
        return index < static_cast<int>(names_of.size()) ? names_of[static_cast<std::size_t>(index)].c_str() : "result";
    };
    registry().push_back(&def);
}

}  // namespace opdef_detail
}  // namespace clew
