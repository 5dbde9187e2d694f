#include "core/ops/opdef.h"

#include <algorithm>
#include <bit>
#include <utility>

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

namespace {
const opdef_detail::Maker* last_maker = nullptr;
}

opdef_detail::Maker::Maker(OpDef& (*make)()) : make(make), next(std::exchange(last_maker, this)) {}

void make_all_operations() {
    for (const opdef_detail::Maker* one = last_maker; one; one = one->next) one->make();
}

OpDef::OpDef() = default;
OpDef::OpDef(const OpDef& other) = default;
OpDef::~OpDef() = default;

namespace {
Tensor saved_value(BackwardCall& call, SavedSlot& slot) {
    return slot.state == SlotState::Packed ? unpack_once(call, slot) : unpack(*call.node, slot);
}
}  // namespace

Tensor saved_input(BackwardCall& call, int input) {
    if (call.operands) return call.operands->inputs[static_cast<std::size_t>(input)];
    const SavedSlot* slot = find_slot(*call.node, SlotSource::Input, input);
    return slot ? in_strip(saved_value(call, const_cast<SavedSlot&>(*slot))) : Tensor();
}

Tensor saved_output(BackwardCall& call, int output) {
    if (call.operands) return call.operands->outputs[static_cast<std::size_t>(output)];
    const SavedSlot* slot = find_slot(*call.node, SlotSource::Output, output);
    return slot ? in_strip(saved_value(call, const_cast<SavedSlot&>(*slot))) : Tensor();
}

bool OpDef::same_attributes(std::span<const char> one, std::span<const char> other) const {
    if (fields.empty()) return std::ranges::equal(one, other);
    return std::ranges::all_of(fields, [&](const Field& field) { return field.same(one.data(), other.data()); });
}

bool OpDef::has_derivative(int input, int count) const {
    const auto is_tensors = [](const Argument& argument) {
        return argument.type == ArgType::Tensor || argument.type == ArgType::Operand ||
               argument.type == ArgType::TensorList;
    };
    const int in_list = count + 1 - static_cast<int>(std::ranges::count_if(schema.arguments, is_tensors));
    int place = 0, end = 0;
    for (const Argument& argument : schema.arguments) {
        if (!is_tensors(argument)) continue;
        end += argument.type == ArgType::TensorList ? in_list : 1;
        if (input < end) return !(constants >> place & 1);
        ++place;
    }
    return true;
}

namespace opdef_detail {

OpDef* begin(const OpText& text) {
    auto* const def = new OpDef;
    def->text = text;
    return def;
}
void set_fields(OpDef& def, std::uint32_t bytes, std::initializer_list<Field> fields) {
    def.attribute_bytes = bytes;
    def.fields = fields;
}
void add_rule(OpDef& def, const Saves* saves) {
    if (saves == nullptr) def.constants |= std::uint64_t{1} << def.saved_by_rule.size();
    def.saved_by_rule.push_back(saves ? *saves : Saves{});
}

void assign(bool& field, const Value& value) { field = value.integer != 0; }
void assign(std::int64_t& field, const Value& value) { field = value.integer; }
void assign(double& field, const Value& value) {
    field = value.tag == Value::Float ? value.real : static_cast<double>(value.integer);
}
void assign(Scalar& field, const Value& value) {
    switch (value.tag) {
        case Value::Complex:
            field = Scalar::of(value.real, value.imag);
            break;
        case Value::Float:
            field = Scalar::of(value.real);
            break;
        default:
            field = Scalar::of(value.integer);
            if (value.tag == Value::Bool) field.kind = Scalar::Bool;
    }
}
void assign(Dims& field, const Value& value) {
    field = value.dims;
    if (value.tag == Value::Int) field = Dims{value.integer};
}
void assign(Axes& field, const Value& value) {
    field = value.tag == Value::Int ? Axes{value.integer} : Axes(value.dims);
}
void assign(Text& field, const Value& value) { field = value.text; }
void assign(DType& field, const Value& value) { field = static_cast<DType>(value.integer); }

void read(const bool& field, Value& value) { value = {.tag = Value::Bool, .integer = field}; }
void read(const std::int64_t& field, Value& value) { value = {.tag = Value::Int, .integer = field}; }
void read(const double& field, Value& value) { value = {.tag = Value::Float, .real = field}; }
void read(const Scalar& field, Value& value) {
    if (field.kind == Scalar::Complex)
        value = {.tag = Value::Complex, .real = field.real, .imag = field.imag};
    else if (field.kind == Scalar::Float)
        value = {.tag = Value::Float, .integer = field.integer, .real = field.real};
    else
        value = {.tag = field.kind == Scalar::Bool ? Value::Bool : Value::Int, .integer = field.integer};
}
void read(const Dims& field, Value& value) { value = {.tag = Value::IntList, .dims = field}; }
void read(const Axes& field, Value& value) { read(Dims(field), value); }
void read(const Text& field, Value& value) { value = {.tag = Value::Text, .text = field}; }
void read(const DType& field, Value& value) {
    value = {.tag = Value::DType, .integer = static_cast<std::int64_t>(field)};
}

bool same(const bool& one, const bool& other) { return one == other; }
bool same(const std::int64_t& one, const std::int64_t& other) { return one == other; }
bool same(const double& one, const double& other) {
    return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}
bool same(const Scalar& one, const Scalar& other) {
    return one.kind == other.kind && one.integer == other.integer && same(one.real, other.real);
}
bool same(const Dims& one, const Dims& other) { return one == other; }
bool same(const Axes& one, const Axes& other) { return std::ranges::equal(one, other); }
bool same(const Text& one, const Text& other) { return one == other; }
bool same(const DType& one, const DType& other) { return one == other; }

namespace {

template <class T>
void add_field(OpDef& def) {
    def.fields.push_back(field_at<T>(def.attribute_bytes));
    def.attribute_bytes += static_cast<std::uint32_t>((sizeof(T) + 7) / 8 * 8);
}

template <class T>
void add_field(OpDef& def, const Argument& argument) {
    argument.optional ? add_field<std::optional<T>>(def) : add_field<T>(def);
}

// For writes in place whose nodes have a name of their own.
OpDef* renamed(const OpDef& def, const char* name) {
    if (*name == 0) return nullptr;
    auto* form = new OpDef(def);
    name_nodes(*form, name);
    return form;
}

}  // namespace

void name_nodes(OpDef& def, const char* name) {
    def.full_name = name;
    const std::size_t name_space = std::string_view(name).rfind(':');
    def.node_name = name + (name_space == std::string_view::npos ? 0 : name_space + 1);
}

void lay_out_attributes(OpDef& def) {
    for (const Argument& argument : parse_schema(def.text.schema).arguments) switch (argument.type) {
            case ArgType::Bool:
            case ArgType::Format:
                add_field<bool>(def, argument);
                break;
            case ArgType::Int:
                add_field<std::int64_t>(def, argument);
                break;
            case ArgType::Float:
                add_field<double>(def, argument);
                break;
            case ArgType::Scalar:
                add_field<Scalar>(def, argument);
                break;
            case ArgType::IntList:
                add_field<Dims>(def, argument);
                break;
            case ArgType::Text:
                add_field<Text>(def, argument);
                break;
            case ArgType::DType:
                add_field<DType>(def, argument);
                break;
            case ArgType::Tensor:
            case ArgType::TensorList:
            case ArgType::Operand:
                break;
        }
}

void finish(OpDef& def) {
    constexpr std::uint32_t kNoElements = kView | kManyViews | kComposite | kAxesInPlace | kGeometryOnly;
    const bool fills = def.is(kWritesInput) && !def.is(kOptimizerStep);
    if ((def.text.flags & kNoElements) || def.is(kElementwise) || fills) def.text.flags |= kAnyDType;
    def.schema = parse_schema(def.text.schema);
    def.name = def.schema.name.c_str();
    name_nodes(def, def.text.node);
    def.elementwise = def.is(kElementwise);
    def.chooses = def.is(kChooses);
    def.in_place_name = def.schema.name + (def.is(kWritesInput) ? "" : "_");
    std::size_t tensors = 0, others = 0;
    for (const Argument& argument : def.schema.arguments) {
        (is_tensor(argument) ? tensors : others) += 1;
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
    def.writes = def.schema.writes;
    const bool by_element = def.is(kElementwise) || def.is(kElementByElement);
    const std::string first = def.is(kView) && !def.schema.arguments.empty() ? def.schema.arguments[0].name : "";
    def.derivative = parse_derivative_class(*def.text.derivative ? def.text.derivative
                                            : by_element         ? "elementwise"
                                                                 : first.c_str(),
                                            def.schema);
    def.in_place_form = renamed(def, def.text.in_place_node);
    if (OpDef* form = renamed(def, def.text.number_node)) {
        form->constants |= 0b10;
        def.number_form = form;
    }
    registry().push_back(&def);
}

}  // namespace opdef_detail

OpDef unregistered(const char* name, void (*forward)(OpCall&)) {
    OpDef def;
    def.name = def.node_name = def.full_name = name;
    def.in_place_name = name;
    def.forward = forward;
    return def;
}

}  // namespace clew
