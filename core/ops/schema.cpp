#include "core/ops/schema.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "core/base/error.h"

namespace clew {

std::int64_t whole(double value) {
    if (value != value) return 0;
    return value >= 0x1p63 ? INT64_MAX : value <= -0x1p63 ? INT64_MIN : static_cast<std::int64_t>(value);
}

Text::Text(std::string_view text) {
    if (text.size() >= sizeof(data))
        fail(ErrorKind::Value, "argument: text '%.20s...' is too long", std::string(text).c_str());
    std::memcpy(data, text.data(), text.size());
}

namespace {

constexpr std::pair<std::string_view, ArgType> kTypes[] = {
    {"Tensor", ArgType::Tensor},
    {"Tensor[]", ArgType::TensorList},
    {"Operand", ArgType::Operand},
    {"bool", ArgType::Bool},
    {"int", ArgType::Int},
    {"float", ArgType::Float},
    {"Scalar", ArgType::Scalar},
    {"int[]", ArgType::IntList},
    {"str", ArgType::Text},
    {"dtype", ArgType::DType},
    {"memory_format", ArgType::Format},
};

std::string_view trim(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

Value parse_default(std::string_view text, ArgType type) {
    Value value;
    const std::string copy(text);
    if (text == "None") return value;
    if (text == "True" || text == "False") {
        value.tag = Value::Bool;
        value.integer = text == "True";
    } else if (text.front() == '\'') {
        value.tag = Value::Text;
        value.text = Text(text.substr(1, text.size() - 2));
    } else if (text.front() == '[') {
        value.tag = Value::IntList;
        for (std::string_view rest = text.substr(1, text.size() - 2); !rest.empty();) {
            const auto comma = std::min(rest.find(','), rest.size());
            value.dims.push_back(std::atoll(std::string(rest.substr(0, comma)).c_str()));
            rest.remove_prefix(std::min(comma + 1, rest.size()));
        }
    } else if (type == ArgType::Float || copy.find_first_of(".e") != std::string::npos) {
        value.tag = Value::Float;
        value.real = std::atof(copy.c_str());
    } else {
        value.tag = Value::Int;
        value.integer = std::atoll(copy.c_str());
        if (type == ArgType::IntList) {
            value.tag = Value::IntList;
            value.dims.push_back(value.integer);
        }
    }
    return value;
}

Argument parse_argument(std::string_view text, bool keyword_only) {
    Argument argument;
    argument.keyword_only = keyword_only;
    const auto space = text.find(' ');
    std::string_view type = text.substr(0, space);
    std::string_view rest = trim(text.substr(space + 1));
    if (type.back() == '?') {
        argument.optional = true;
        type.remove_suffix(1);
    }
    if (type.back() == '!') {
        argument.written = true;
        type.remove_suffix(1);
    }
    bool known = false;
    for (const auto& [name, value] : kTypes)
        if (name == type) argument.type = value, known = true;
    if (!known) fail(ErrorKind::Value, "schema: unknown type '%s'", std::string(type).c_str());
    if (const auto equals = rest.find('='); equals != std::string_view::npos) {
        argument.has_default = true;
        argument.default_text = std::string(rest.substr(equals + 1));
        argument.default_value = parse_default(rest.substr(equals + 1), argument.type);
        rest = rest.substr(0, equals);
    }
    argument.name = std::string(rest);
    return argument;
}

// Where the first of several arguments ends: a comma, but not one of a list.
std::size_t end_of_argument(std::string_view list) {
    int depth = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
        depth += (list[i] == '[') - (list[i] == ']');
        if (list[i] == ',' && depth == 0) return i;
    }
    return std::string_view::npos;
}

void add_argument(Schema& schema, Argument argument) {
    const auto tensors = std::count_if(schema.arguments.begin(), schema.arguments.end(), is_tensor);
    if (argument.written) schema.writes |= std::uint64_t{1} << tensors;
    schema.arguments.push_back(std::move(argument));
}

}  // namespace

bool is_tensor(const Argument& argument) {
    return argument.type == ArgType::Tensor || argument.type == ArgType::TensorList ||
           argument.type == ArgType::Operand;
}

Schema parse_schema(std::string_view line) {
    Schema schema;
    const auto open = line.find('(');
    std::string_view name = line.substr(0, open), list = line.substr(open + 1);
    list = list.substr(0, list.rfind(')'));
    if (const auto dot = name.find('.'); dot != std::string_view::npos) {
        schema.overload = std::string(name.substr(dot + 1));
        name = name.substr(0, dot);
    }
    schema.name = std::string(name);
    bool keyword_only = false;
    while (!(list = trim(list)).empty()) {
        const auto comma = end_of_argument(list);
        const std::string_view item = trim(list.substr(0, comma));
        if (item == "*")
            keyword_only = true;
        else
            add_argument(schema, parse_argument(item, keyword_only));
        list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    }
    return schema;
}

const char* type_name(ArgType type) {
    for (const auto& [name, value] : kTypes)
        if (value == type) return name.data();
    return "?";
}

std::string schema_text(const Schema& schema) {
    std::string text = schema.name + "(";
    bool keyword_only = false, first = true;
    for (const Argument& argument : schema.arguments) {
        if (!first) text += ", ";
        first = false;
        if (argument.keyword_only && !std::exchange(keyword_only, true)) text += "*, ";
        text += std::string(type_name(argument.type)) + (argument.optional ? "? " : " ") + argument.name;
        if (argument.has_default) text += "=" + argument.default_text;
    }
    return text + ")";
}

}  // namespace clew
