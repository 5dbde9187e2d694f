#include "bind/calls/parse.h"

#include <algorithm>
#include <cstring>

#include "bind/calls/attribute_values.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

bool is_integer(PyObject* object) { return PyLong_Check(object) && !PyBool_Check(object); }

bool read_tensors(PyObject* object, const Argument& argument, std::vector<Tensor>& inputs) {
    if (argument.type == ArgType::TensorList) {
        if (!PyTuple_Check(object) && !PyList_Check(object)) return false;
        const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
        for (Py_ssize_t i = 0; i < count; ++i) {
            TensorObject* tensor = as_tensor(PySequence_Fast_GET_ITEM(object, i));
            if (tensor == nullptr && !(argument.optional && PySequence_Fast_GET_ITEM(object, i) == Py_None))
                return false;
            inputs.emplace_back(tensor);
        }
        return true;
    }
    if (TensorObject* tensor = as_tensor(object)) {
        inputs.emplace_back(tensor);
        return true;
    }
    if (argument.type == ArgType::Operand && is_number(object)) {
        inputs.push_back(tensor_from_number(object));
        return true;
    }
    return false;
}

bool same_name(PyObject* given, const ArgumentName& name) {
    const auto is = [&](PyObject* one) {
        return one && (given == one || (!PyUnicode_CHECK_INTERNED(given) && PyUnicode_Compare(given, one) == 0));
    };
    return is(name.name) || std::ranges::any_of(name.others, is);
}

// Only then may it take all numbers that are left: roll(1, 0) has two lists of one.
bool is_last_positional(const Schema& schema, const Argument& argument) {
    const Argument* after = &argument + 1;
    return after == schema.arguments.data() + schema.arguments.size() || after->keyword_only;
}

PyObject* find_keyword(const Arguments& arguments, const ArgumentName& name, Py_ssize_t& used) {
    if (arguments.names == nullptr || used == PyTuple_GET_SIZE(arguments.names)) return nullptr;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments.names); ++i) {
        if (!same_name(PyTuple_GET_ITEM(arguments.names, i), name)) continue;
        ++used;
        return arguments.values[arguments.count + i];
    }
    return nullptr;
}

std::string mismatch(const Argument& argument, PyObject* got) {
    return format("argument '%s' must be %s, not %s", argument.name.c_str(), type_name(argument.type),
                  Py_TYPE(got)->tp_name);
}

}  // namespace
ArgumentName argument_name(const char* name) {
    const auto interned = [](const char* text) { return checked(PyUnicode_InternFromString(text)); };
    const std::string_view in_schema(name), in_python = in_schema == "self" ? "input" : in_schema;
    ArgumentName all{interned(name)};
    std::size_t count = 0;
    if (in_python != in_schema) all.others[count++] = interned(in_python.data());
    for (const auto& [numpys, own] : kNumpysNames)
        if (own == in_python && in_schema != "input") all.others[count++] = interned(numpys);
    return all;
}

PyObject* attribute_object(const OpDef& def, const void* attributes, std::size_t field) {
    Value value;
    def.fields[field].get(attributes, value);
    switch (value.tag) {
        case Value::None:
            return Py_NewRef(Py_None);
        case Value::Bool:
            return PyBool_FromLong(value.integer != 0);
        case Value::Int:
            return PyLong_FromLongLong(value.integer);
        case Value::Float:
            return PyFloat_FromDouble(value.real);
        case Value::Complex:
            return PyComplex_FromDoubles(value.real, value.imag);
        case Value::IntList:
            return plain_tuple(value.dims);
        case Value::Text:
            return PyUnicode_FromString(value.text.data);
        case Value::DType:
            return dtype_object(static_cast<DType>(value.integer));
    }
    Py_RETURN_NONE;
}

[[gnu::hot]] bool set_attribute(const OpDef& def, std::size_t field, ArgType type, PyObject* object, void* attributes) {
    Value value;
    if (!read_attribute(object, type, value)) return false;
    def.fields[field].set(attributes, value);
    return true;
}

[[gnu::hot]] bool parse(const Overload& overload, const Arguments& arguments, Parsed& parsed, std::string* why) {
    const OpDef& def = *overload.def;
    parsed.inputs.clear();
    parsed.out = nullptr;
    if (def.attribute_bytes) std::memcpy(parsed.attributes, overload.defaults.data(), def.attribute_bytes);
    Py_ssize_t next = 0, used_names = 0;
    std::size_t field = 0;
    Value value;
    const Argument* const first = def.schema.arguments.data();
    for (const Argument& argument : def.schema.arguments) {
        PyObject* given = nullptr;
        bool rest = false;
        if (next < arguments.count && !argument.keyword_only) {
            given = arguments.values[next++];
            // x.view(2, 3) as well as x.view((2, 3))
            rest = argument.type == ArgType::IntList && next < arguments.count &&
                   (is_integer(given) || PyIndex_Check(given)) && is_last_positional(def.schema, argument);
        } else {
            given = find_keyword(arguments, overload.names[static_cast<std::size_t>(&argument - first)], used_names);
        }
        const bool tensor = is_tensor_type(argument.type);
        const std::size_t this_field = tensor ? 0 : field++;
        if (given == nullptr) {
            if (!argument.has_default) {
                if (why) *why = format("missing required argument '%s'", argument.name.c_str());
                return false;
            }
            if (tensor) parsed.inputs.emplace_back();
            continue;
        }
        if (given == Py_None && argument.optional && argument.type != ArgType::TensorList) {
            if (tensor) {
                parsed.inputs.emplace_back();
            } else {
                value.tag = Value::None;
                def.fields[this_field].set(parsed.attributes, value);
            }
            continue;
        }
        if (tensor) {
            if (!read_tensors(given, argument, parsed.inputs)) {
                if (why) *why = mismatch(argument, given);
                return false;
            }
            continue;
        }
        if (rest) {
            value.tag = Value::IntList;
            value.dims.count = 0;
            for (--next; next < arguments.count; ++next) {
                std::int64_t one;
                if (!read_int(arguments.values[next], one)) break;
                value.dims.push_back(one);
            }
        } else if (!read_attribute(given, argument.type, value)) {
            if (why) *why = mismatch(argument, given);
            return false;
        }
        def.fields[this_field].set(parsed.attributes, value);
    }
    if (next < arguments.count) {
        const auto by_place =
            std::ranges::count_if(def.schema.arguments, [](const auto& one) { return !one.keyword_only; });
        if (why) *why = format("takes at most %td positional arguments, got %zd", by_place, arguments.count);
        return false;
    }
    const Py_ssize_t names = arguments.names ? PyTuple_GET_SIZE(arguments.names) : 0;
    if (names > used_names && def.is(kOutArgument)) {
        static const ArgumentName out_name = argument_name("out");
        parsed.out = find_keyword(arguments, out_name, used_names);
        if (parsed.out == Py_None) parsed.out = nullptr;
    }
    if (names > used_names) {
        for (Py_ssize_t i = 0; i < names; ++i) {
            bool known = false;
            for (const ArgumentName& name : overload.names)
                known = known || same_name(PyTuple_GET_ITEM(arguments.names, i), name);
            if (!known) {
                if (why)
                    *why = format("got an unexpected keyword argument '%s'",
                                  PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments.names, i)));
                return false;
            }
        }
        if (why) *why = "got multiple values for an argument";
        return false;
    }
    return true;
}

}  // namespace clew::bind
