#include "bind/calls/operation.h"

#include <algorithm>
#include <map>
#include <memory>

#include "bind/calls/operation_object.h"
#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

std::map<std::string, std::unique_ptr<OpGroup>>& groups() {
    static auto* const all = new std::map<std::string, std::unique_ptr<OpGroup>>;
    return *all;
}

}  // namespace

OpGroup* find_group(const std::string& name) {
    const auto it = groups().find(name);
    return it == groups().end() ? nullptr : it->second.get();
}

OpGroup* group_for_operator(const char* dunder) {
    const std::string wanted = dunder;
    for (const auto& [name, group] : groups()) {
        std::string all = std::string(" ") + group->overloads[0].def->text.operators + " ";
        if (all.find(" " + wanted + " ") != std::string::npos) return group.get();
    }
    return nullptr;
}

namespace {

OpGroup& add_overload(const OpDef& def) {
    auto& group = groups()[def.schema.name];
    if (!group) group = std::make_unique<OpGroup>(OpGroup{.name = def.schema.name, .overloads = {}});
    Overload overload{.def = &def, .defaults = std::vector<char>(def.attribute_bytes), .names = {}};
    if (def.attribute_bytes > kAttributeBytes) fail(ErrorKind::Value, "%s: attributes are too large", def.name);
    std::size_t field = 0;
    for (const Argument& argument : def.schema.arguments) {
        overload.names.push_back(argument_name(argument.name.c_str()));
        if (is_tensor_type(argument.type)) continue;
        if (argument.has_default) def.fields[field].set(overload.defaults.data(), argument.default_value);
        ++field;
    }
    group->overloads.push_back(std::move(overload));
    return *group;
}

// Can a tensor or a number be read as this? (Of the attributes, numbers are read one by one, and some don't fit.)
bool may_be(ArgType type, bool number) {
    switch (type) {
        case ArgType::Int:
        case ArgType::Float:
        case ArgType::Scalar:
        case ArgType::IntList:
        case ArgType::Operand:
            return true;
        case ArgType::Tensor:
            return !number;
        case ArgType::Bool:
            return number;
        default:
            return false;
    }
}

bool may_take(const OpDef& def, Py_ssize_t count, std::uint32_t numbers) {
    Py_ssize_t place = 0;
    for (const Argument& argument : def.schema.arguments) {
        if (argument.keyword_only || place >= count) {
            if (!argument.has_default) return false;
            continue;
        }
        if (!may_be(argument.type, (numbers >> place & 1) != 0)) return false;
        if (argument.type == ArgType::IntList) return true;  // it may take more than one
        ++place;
    }
    return place == count;
}

// And if the numbers can be read, is it sure to?
bool surely_takes(const OpDef& def, Py_ssize_t count, std::uint32_t numbers) {
    if (def.count_outputs || def.output_count != 1) return false;
    Py_ssize_t place = 0;
    for (const Argument& argument : def.schema.arguments) {
        if (argument.keyword_only || place >= count) {
            if (!argument.has_default || is_tensor_type(argument.type)) return false;
            continue;
        }
        const bool number = (numbers >> place & 1) != 0;
        if (!may_be(argument.type, number) || (!number && !is_tensor_type(argument.type))) return false;
        ++place;
    }
    return place == count;
}

void find_plain(OpGroup& group) {
    for (Py_ssize_t count = 1; count <= kMostPlain; ++count)
        for (std::uint32_t numbers = 0; numbers < 1u << count; ++numbers) {
            const auto first = std::ranges::find_if(
                group.overloads, [&](const Overload& overload) { return may_take(*overload.def, count, numbers); });
            if (first != group.overloads.end() && surely_takes(*first->def, count, numbers))
                group.plain[plain_index(count, numbers)] = &*first;
        }
}

void add_return_type(OpGroup& group) {
    const OpDef* several = nullptr;
    for (const Overload& overload : group.overloads)
        if (overload.def->output_names.size() > 1 && !overload.def->count_outputs) several = overload.def;
    if (several == nullptr || several->is(kHidden)) return;
    const Handle collections = Handle::steal(checked(PyImport_ImportModule("collections")));
    group.return_type = checked(PyObject_CallMethod(static_cast<PyObject*>(collections.get()), "namedtuple", "ss",
                                                    group.name.c_str(), several->text.outputs));
    // namedtuple takes fields one by one: keep its _make, which takes a tuple.
    PyObject* make = checked(PyObject_GetAttrString(group.return_type, "_make"));
    Py_SETREF(group.return_type, make);
}

PyObject* every_operation = nullptr;  // clew._core.ops: all of them, hidden or not
PyObject* functions = nullptr;        // what clew.<name> is

void publish_group(OpGroup& group) {
    add_return_type(group);
    find_plain(group);
    PyObject* methods = tensor_type.tp_dict;
    const std::string& name = group.name;
    PyObject* plain = group.callable = new_operation(&group, false);
    checked(PyObject_SetAttrString(every_operation, name.c_str(), plain));
    std::uint32_t flags = 0;
    for (const Overload& overload : group.overloads) flags |= overload.def->text.flags;
    if (flags & kFunction) checked(PyDict_SetItemString(functions, name.c_str(), plain));
    if (flags & kMethod) checked(PyDict_SetItemString(methods, name.c_str(), plain));
    if (flags & kProperty) {
        const Handle property = Handle::steal(new_property(group));
        checked(PyDict_SetItemString(methods, name.c_str(), static_cast<PyObject*>(property.get())));
    }
    if (flags & kInPlace) {
        PyObject* in_place = group.in_place_callable = new_operation(&group, true);
        const std::string written = name + "_";
        checked(PyObject_SetAttrString(every_operation, written.c_str(), in_place));
        checked(PyDict_SetItemString(methods, written.c_str(), in_place));
        if (flags & kFunction) checked(PyDict_SetItemString(functions, written.c_str(), in_place));
    }
}

PyObject* find_operation(PyObject*, PyObject* args) {
    const char* name;
    int in_place;
    if (!PyArg_ParseTuple(args, "sp", &name, &in_place)) return nullptr;
    return guarded([&]() -> PyObject* {
        OpGroup* group = find_group(name);
        if (group == nullptr) fail(ErrorKind::Value, "no operation is called '%s'", name);
        return Py_NewRef(group->callable_for(in_place != 0));
    });
}
PyObject* ask_as(PyObject*, PyObject* args) {
    const char* name;
    PyObject* function;
    if (!PyArg_ParseTuple(args, "sO", &name, &function)) return nullptr;
    return guarded([&]() -> PyObject* {
        OpGroup* group = find_group(name);
        if (group == nullptr) fail(ErrorKind::Value, "no operation is called '%s'", name);
        Py_XSETREF(group->asked, Py_NewRef(function));
        Py_RETURN_NONE;
    });
}
PyMethodDef queries[] = {
    {"_find_operation", find_operation, METH_VARARGS, "(name, in_place): the callable of an operation."},
    {"ask_as", ask_as, METH_VARARGS, "(name, function): the function that __torch_function__ gets for an operation."},
    {}};

}  // namespace

PyObject* publish(const OpDef& def) {
    if (find_group(def.schema.name))
        fail(ErrorKind::Value, "%s: an operation of this name is defined already", def.name);
    OpGroup& group = add_overload(def);
    publish_group(group);
    PyType_Modified(&tensor_type);
    return Py_NewRef(group.callable);
}

void init_operations(PyObject* module) {
    init_operation_type(module);
    init_operation_queries(module);
    const Handle types = Handle::steal(checked(PyImport_ImportModule("types")));
    every_operation = checked(PyObject_CallMethod(static_cast<PyObject*>(types.get()), "SimpleNamespace", nullptr));
    functions = checked(PyDict_New());
    for (const OpDef* def : all_operations()) add_overload(*def);
    for (auto& [name, group] : groups()) publish_group(*group);
    PyType_Modified(&tensor_type);
    checked(PyModule_AddObjectRef(module, "functions", functions));
    checked(PyModule_AddObjectRef(module, "ops", every_operation));
    checked(PyModule_AddFunctions(module, queries));
}

}  // namespace clew::bind
