#include "bind/operation.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include <structmember.h>

#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/interop.h"
#include "bind/objects.h"
#include "bind/parse.h"
#include "bind/temporaries.h"
#include "bind/torch_function.h"
#include "bind/type.h"
#include "core/base/error.h"
#include "core/ops/infer.h"

namespace clew::bind {
namespace {

std::map<std::string, std::unique_ptr<OpGroup>>& groups() {
    static auto* const all = new std::map<std::string, std::unique_ptr<OpGroup>>;
    return *all;
}

// The Python object: callable like a function, and a method of tensors when put into their type.
struct OperationObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    OpGroup* group;
    bool in_place;
    PyObject* name;
    PyObject* dict;
};
PyTypeObject operation_type = blank_type();

OperationObject* self_of(PyObject* object) { return reinterpret_cast<OperationObject*>(object); }

PyObject* results(OpGroup& group, const OpDef& def, std::vector<Tensor>& outputs) {
    if (outputs.size() == 1 && !def.count_outputs) return wrap(std::move(outputs[0]));
    PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(std::move(outputs[i])));
    if (group.return_type == nullptr || def.count_outputs) return tuple;
    PyObject* named = PyObject_CallOneArg(group.return_type, tuple);
    Py_DECREF(tuple);
    return checked(named);
}

std::vector<Tensor> read_out(PyObject* out, const OpDef& def) {
    std::vector<Tensor> destinations;
    if (TensorObject* one = as_tensor(out)) {
        destinations.emplace_back(one);
    } else if (PyTuple_Check(out) || PyList_Check(out)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(out); ++i) {
            TensorObject* tensor = as_tensor(PySequence_Fast_GET_ITEM(out, i));
            if (tensor == nullptr)
                fail(ErrorKind::Type, "%s: expected out= to hold tensors, got %s", def.name, Py_TYPE(out)->tp_name);
            destinations.emplace_back(tensor);
        }
    }
    if (destinations.size() != def.output_count)
        fail(ErrorKind::Type, "%s: expected out= to be %u tensor(s), got %s", def.name, def.output_count,
             Py_TYPE(out)->tp_name);
    return destinations;
}

PyObject* run_parsed(OpGroup& group, const OpDef& def, bool in_place, Parsed& parsed, const TensorObject* donated) {
    if (in_place || def.is(kWritesInput)) {
        if (!parsed.inputs[0])
            fail(ErrorKind::Type, "%s: expected a tensor to write into, got None", def.in_place_name.c_str());
        apply_in_place(def, parsed.inputs, parsed.attributes);
        return wrap(parsed.inputs[0]);
    }
    if (parsed.out) {
        std::vector<Tensor> destinations = read_out(parsed.out, def);
        apply_out(def, parsed.inputs, parsed.attributes, destinations);
        return Py_NewRef(parsed.out);
    }
    std::vector<Tensor> outputs(def.count_outputs ? def.count_outputs(parsed.inputs, parsed.attributes)
                                                  : def.output_count);
    if (donated && outputs.size() == 1) outputs[0] = output_over(def, parsed.inputs, parsed.attributes, donated);
    apply(def, parsed.inputs, parsed.attributes, outputs);
    return results(group, def, outputs);
}

[[noreturn]] void no_overload(const OpGroup& group, bool in_place, const Arguments& arguments, const std::string& why) {
    std::string text = group.name + (in_place ? "_" : "") + "(): ";
    if (group.overloads.size() == 1) {
        text += why + "; expected " + schema_text(group.overloads[0].def->schema);
    } else {
        text += "received an invalid combination of arguments - got (";
        for (Py_ssize_t i = 0; i < arguments.count; ++i)
            text += (i ? ", " : "") + std::string(Py_TYPE(arguments.values[i])->tp_name);
        const Py_ssize_t names = arguments.names ? PyTuple_GET_SIZE(arguments.names) : 0;
        for (Py_ssize_t i = 0; i < names; ++i)
            text += std::string(arguments.count + i ? ", " : "") +
                    PyUnicode_AsUTF8(PyTuple_GET_ITEM(arguments.names, i)) + "=" +
                    Py_TYPE(arguments.values[arguments.count + i])->tp_name;
        text += "), but expected one of:";
        for (const Overload& overload : group.overloads) text += "\n * " + schema_text(overload.def->schema);
    }
    throw Error(ErrorKind::Type, text);
}

bool is_exact_number(PyObject* object) {
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object);
}

// Plain tensors alone: no parsing. Null if this is not that case.
template <int kCount>
PyObject* call_with_tensors(OpGroup& group, PyObject* const* args, const TensorObject* donated) {
    const Overload* const overload = group.plain[plain_index(kCount, 0)];
    if (overload == nullptr || overload->def->is(kWritesInput)) return nullptr;
    for (int i = 0; i < kCount; ++i)
        if (!is_exact_tensor(args[i])) return nullptr;
    Tensor inputs[kCount], output;
    for (int i = 0; i < kCount; ++i) inputs[i] = Tensor(reinterpret_cast<TensorObject*>(args[i]));
    if (donated) output = output_over(*overload->def, inputs, overload->defaults.data(), donated);
    apply(*overload->def, inputs, overload->defaults.data(), std::span<Tensor>(&output, 1));
    return wrap(std::move(output));
}
PyObject* call_with_tensors(OpGroup& group, PyObject* const* args, Py_ssize_t count, const TensorObject* donated) {
    switch (count) {
        case 1:
            return call_with_tensors<1>(group, args, donated);
        case 2:
            return call_with_tensors<2>(group, args, donated);
        case 3:
            return call_with_tensors<3>(group, args, donated);
        default:
            return nullptr;
    }
}

// The same where some are Python's own numbers, operands or attributes, and in place.
[[gnu::noinline]] PyObject* call_with_numbers(OpGroup& group, bool in_place, PyObject* const* args, Py_ssize_t count,
                                              const TensorObject* donated) {
    if (count > kMostPlain) return nullptr;
    std::uint32_t numbers = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (is_exact_tensor(args[i])) continue;
        if (!is_exact_number(args[i])) return nullptr;
        numbers |= 1u << i;
    }
    const Overload* const overload = group.plain[plain_index(count, numbers)];
    if (overload == nullptr) return nullptr;
    const OpDef& def = *overload->def;
    if (in_place && !def.is(kInPlace)) return nullptr;
    alignas(16) char attributes[kAttributeBytes];
    if (def.attribute_bytes) std::memcpy(attributes, overload->defaults.data(), def.attribute_bytes);
    Tensor inputs[kMostPlain], output;
    std::size_t tensors = 0, field = 0;
    for (Py_ssize_t i = 0; i < count; ++i) {
        const Argument& argument = def.schema.arguments[static_cast<std::size_t>(i)];
        if ((numbers >> i & 1) == 0)
            inputs[tensors++] = Tensor(reinterpret_cast<TensorObject*>(args[i]));
        else if (argument.type == ArgType::Operand)
            inputs[tensors++] = tensor_from_number(args[i]);
        else if (!set_attribute(def, field++, argument.type, args[i], attributes))
            return nullptr;
    }
    const Tensors given(inputs, tensors);
    if (in_place || def.is(kWritesInput)) {
        apply_in_place(def, given, attributes);
        return wrap(std::move(inputs[0]));
    }
    if (donated) output = output_over(def, given, attributes, donated);
    apply(def, given, attributes, std::span<Tensor>(&output, 1));
    return wrap(std::move(output));
}

PyObject* operation_call(PyObject* callable, PyObject* const* args, std::size_t flags, PyObject* names) {
    OperationObject* self = self_of(callable);
    return guarded([&] {
        const Py_ssize_t count = PyVectorcall_NARGS(flags);
        const TensorObject* const donated = donated_argument(callable, args, count);
        return call_group(*self->group, self->in_place, args, count, names, donated);
    });
}

}  // namespace

PyObject* call_group(OpGroup& group, bool in_place, PyObject* const* args, Py_ssize_t count, PyObject* names,
                     const TensorObject* donated) {
    if (names == nullptr) {
        if (!in_place)
            if (PyObject* result = call_with_tensors(group, args, count, donated)) return result;
        if (PyObject* result = call_with_numbers(group, in_place, args, count, donated)) return result;
    }
    const Arguments arguments{args, count, names};
    if (const Dispatch dispatch = find_dispatch(arguments)) return dispatch_call(dispatch, group, in_place, arguments);
    Parsed parsed;
    for (const Overload& overload : group.overloads) {
        if (in_place && !overload.def->is(kInPlace)) continue;
        if (parse(overload, arguments, parsed, nullptr))
            return run_parsed(group, *overload.def, in_place, parsed, donated);
    }
    std::string why;
    parse(group.overloads[0], arguments, parsed, &why);
    no_overload(group, in_place, arguments, why);
}

namespace {
bool is_operand(PyObject* object) { return as_tensor(object) || is_number(object); }

PyObject* operate(OpGroup& group, PyObject* a, PyObject* b, const TensorObject* donated) {
    PyObject* const args[] = {a, b};
    if (PyObject* result = call_with_numbers(group, false, args, 2, donated)) return result;
    if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
    return call_group(group, false, args, 2, nullptr, donated);
}
}  // namespace

PyObject* binary_operator(OpGroup* group, OpGroup* reflected, PyObject* a, PyObject* b) {
    if (group == nullptr) Py_RETURN_NOTIMPLEMENTED;
    return guarded([&]() -> PyObject* {
        PyObject* const args[] = {a, b};
        const TensorObject* const donated = donated_operand(a, b);
        if (PyObject* result = call_with_tensors<2>(*group, args, donated)) return result;
        if (reflected && (is_exact_number(a) || !as_tensor(a))) return operate(*reflected, b, a, donated);
        return operate(*group, a, b, donated);
    });
}

PyObject* in_place_operator(OpGroup* group, PyObject* a, PyObject* b) {
    if (group == nullptr) Py_RETURN_NOTIMPLEMENTED;
    return guarded([&]() -> PyObject* {
        if (!is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
        PyObject* const args[] = {a, b};
        return call_group(*group, true, args, 2, nullptr);
    });
}

PyObject* unary_operator(OpGroup* group, PyObject* a) {
    if (group == nullptr) {
        PyErr_SetString(PyExc_TypeError, "this operator is not defined for tensors");
        return nullptr;
    }
    return guarded([&] { return call_group(*group, false, &a, 1, nullptr); });
}

OpGroup* find_group(const std::string& name) {
    const auto it = groups().find(name);
    return it == groups().end() ? nullptr : it->second.get();
}

const OpDef* operation_of(PyObject* object) {
    if (!Py_IS_TYPE(object, &operation_type) || self_of(object)->group->overloads.size() != 1) return nullptr;
    return self_of(object)->group->overloads[0].def;
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

PyObject* operation_repr(PyObject* object) { return PyUnicode_FromFormat("<operation %U>", self_of(object)->name); }

PyObject* operation_get(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

PyObject* operation_doc(PyObject* object, void*) {
    const OpGroup& group = *self_of(object)->group;
    std::string text;
    for (const Overload& overload : group.overloads) text += schema_text(overload.def->schema) + "\n";
    text.append("\n").append(group.overloads[0].def->text.doc);
    if (self_of(object)->in_place) text += "\nIn place: writes the result over self.";
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* operation_reduce(PyObject* object, PyObject*) {
    PyObject* finder = PyObject_GetAttrString(PyImport_AddModule("clew._core"), "_find_operation");
    if (finder == nullptr) return nullptr;
    return Py_BuildValue("N(sO)", finder, self_of(object)->group->name.c_str(),
                         self_of(object)->in_place ? Py_True : Py_False);
}

std::string saves_text(const OpDef& def) {
    const auto list = [&](const Saves& saves) {
        std::string text;
        for (int i = 0; i < 32; ++i)
            if (saves.inputs >> i & 1) text += (text.empty() ? "" : ", ") + std::string(def.input_name(def, i));
        for (int i = 0; i < 32; ++i)
            if (saves.outputs >> i & 1) text += (text.empty() ? "" : ", ") + std::string(def.output_name(def, i));
        return text;
    };
    std::string text;
    for (std::size_t i = 0; i < def.saved_by_rule.size(); ++i)
        text +=
            (i ? "; " : "") + std::string(def.input_name(def, static_cast<int>(i))) + ": " + list(def.saved_by_rule[i]);
    return text;
}

// What the registry says, for docs, stubs and tests.
PyObject* operation_overloads(PyObject* object, void*) {
    return guarded([&]() -> PyObject* {
        const OpGroup& group = *self_of(object)->group;
        PyObject* list = checked(PyList_New(0));
        for (const Overload& overload : group.overloads) {
            const OpDef& def = *overload.def;
            PyObject* arguments = checked(PyList_New(0));
            for (const Argument& a : def.schema.arguments) {
                PyObject* one = checked(Py_BuildValue("{s:s,s:s,s:O,s:O,s:s}", "name", a.name.c_str(), "type",
                                                      type_name(a.type), "optional", a.optional ? Py_True : Py_False,
                                                      "keyword_only", a.keyword_only ? Py_True : Py_False, "default",
                                                      a.has_default ? a.default_text.c_str() : nullptr));
                PyList_Append(arguments, one);
                Py_DECREF(one);
            }
            PyObject* outputs = checked(PyList_New(0));
            for (const std::string& output : def.output_names) {
                PyObject* text = checked(PyUnicode_FromString(output.c_str()));
                PyList_Append(outputs, text);
                Py_DECREF(text);
            }
            PyObject* one = checked(Py_BuildValue(
                "{s:s,s:s,s:N,s:s,s:O,s:k,s:s,s:s,s:s,s:s,s:I,s:N}", "schema", schema_text(def.schema).c_str(), "name",
                def.schema.full_name().c_str(), "arguments", arguments, "node", def.node_name, "differentiable",
                def.differentiable ? Py_True : Py_False, "flags", static_cast<unsigned long>(def.text.flags), "domain",
                def.text.domain, "doc", def.text.doc, "saves", saves_text(def).c_str(), "operators", def.text.operators,
                "outputs", def.output_count, "output_names", outputs));
            PyList_Append(list, one);
            Py_DECREF(one);
        }
        return list;
    });
}

PyObject* operation_signature(PyObject* object, void*) {
    PyObject* module = PyImport_ImportModule("clew._signatures");
    if (module == nullptr) return nullptr;
    PyObject* signature = PyObject_CallMethod(module, "signature_of", "O", object);
    Py_DECREF(module);
    return signature;
}

PyGetSetDef operation_attributes[] = {
    {"__doc__", operation_doc, nullptr, nullptr, nullptr},
    {"overloads", operation_overloads, nullptr, "what the registry says of each overload", nullptr},
    {"__signature__", operation_signature, nullptr, "for inspect.signature", nullptr},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMemberDef operation_members[] = {
    {"__name__", T_OBJECT_EX, offsetof(OperationObject, name), READONLY, nullptr},
    {"__qualname__", T_OBJECT_EX, offsetof(OperationObject, name), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef operation_methods[] = {
    {"__reduce__", operation_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* new_operation(OpGroup* group, bool in_place) {
    auto* made = PyObject_New(OperationObject, &operation_type);
    checked(reinterpret_cast<PyObject*>(made));
    made->vectorcall = operation_call;
    made->group = group;
    made->in_place = in_place;
    made->dict = nullptr;
    const bool writes = group->overloads[0].def->is(kWritesInput);
    made->name = checked(PyUnicode_FromString((group->name + (in_place && !writes ? "_" : "")).c_str()));
    return reinterpret_cast<PyObject*>(made);
}

PyObject* property_get(PyObject* tensor, void* closure) {
    return guarded([&] {
        OpGroup& group = *static_cast<OpGroup*>(closure);
        PyObject* result = call_with_tensors<1>(group, &tensor, nullptr);
        return result ? result : call_group(group, false, &tensor, 1, nullptr);
    });
}

// x.T, an operation without parentheses. The type keeps the definition for good.
PyObject* new_property(OpGroup& group) {
    auto* definition =
        new PyGetSetDef{group.name.c_str(), property_get, nullptr, group.overloads[0].def->text.doc, &group};
    return checked(PyDescr_NewGetSet(&tensor_type, definition));
}

OpGroup& add_overload(const OpDef& def) {
    auto& group = groups()[def.schema.name];
    if (!group) group = std::make_unique<OpGroup>(OpGroup{.name = def.schema.name, .overloads = {}});
    Overload overload{.def = &def, .defaults = std::vector<char>(def.attribute_bytes)};
    if (def.attribute_bytes > kAttributeBytes) fail(ErrorKind::Value, "%s: attributes are too large", def.name);
    std::size_t field = 0;
    for (const Argument& argument : def.schema.arguments) {
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
// [(size, stride, dtype, the input that it is a view of, or None)] for each result; None where there is none.
PyObject* inferred_list(const std::vector<Inferred>& results, Tensors inputs) {
    PyObject* list = checked(PyList_New(0));
    const Handle held = Handle::steal(list);
    for (const Inferred& result : results) {
        const Handle item = Handle::steal(
            !result.layout
                ? Py_NewRef(Py_None)
                : checked(Py_BuildValue("(NNNN)", size_tuple(result.layout->shape()),
                                        size_tuple(result.layout->strides()), dtype_object(result.dtype),
                                        result.view_of < 0 ? Py_NewRef(Py_None)
                                                           : wrap(inputs[static_cast<std::size_t>(result.view_of)]))));
        checked(PyList_Append(list, static_cast<PyObject*>(item.get())));
    }
    return Py_NewRef(list);
}

PyObject* infer_results(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        if (count == 0 || !Py_IS_TYPE(args[0], &operation_type))
            fail(ErrorKind::Type, "infer: expected an operation and its arguments");
        OpGroup& group = *self_of(args[0])->group;
        const Arguments arguments{args + 1, count - 1, names};
        Parsed parsed;
        for (const Overload& overload : group.overloads)
            if (parse(overload, arguments, parsed, nullptr))
                return inferred_list(infer(*overload.def, parsed.inputs, parsed.attributes), parsed.inputs);
        std::string why;
        parse(group.overloads[0], arguments, parsed, &why);
        no_overload(group, false, arguments, why);
    });
}
PyMethodDef infer_def = {"infer", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(infer_results)),
                         METH_FASTCALL | METH_KEYWORDS,
                         "(operation, *args, **kwargs): sizes, strides, dtype and base of each result, uncomputed."};

PyMethodDef find_operation_def = {"_find_operation", find_operation, METH_VARARGS,
                                  "(name, in_place): the callable of an operation."};

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
    operation_type.tp_name = "clew.Operation";
    operation_type.tp_basicsize = sizeof(OperationObject);
    operation_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                              Py_TPFLAGS_DISALLOW_INSTANTIATION;
    operation_type.tp_vectorcall_offset = offsetof(OperationObject, vectorcall);
    operation_type.tp_call = PyVectorcall_Call;
    operation_type.tp_descr_get = operation_get;
    operation_type.tp_repr = operation_repr;
    operation_type.tp_getset = operation_attributes;
    operation_type.tp_members = operation_members;
    operation_type.tp_methods = operation_methods;
    operation_type.tp_dictoffset = offsetof(OperationObject, dict);
    checked(PyType_Ready(&operation_type));
    const Handle types = Handle::steal(checked(PyImport_ImportModule("types")));
    every_operation = checked(PyObject_CallMethod(static_cast<PyObject*>(types.get()), "SimpleNamespace", nullptr));
    functions = checked(PyDict_New());
    for (const OpDef* def : all_operations()) add_overload(*def);
    for (auto& [name, group] : groups()) publish_group(*group);
    PyType_Modified(&tensor_type);
    checked(PyModule_AddObjectRef(module, "functions", functions));
    checked(PyModule_AddObjectRef(module, "ops", every_operation));
    checked(PyModule_AddObjectRef(module, "infer", checked(PyCFunction_New(&infer_def, nullptr))));
    PyObject* finder = checked(PyCFunction_New(&find_operation_def, nullptr));
    checked(PyModule_AddObjectRef(module, "_find_operation", finder));
    checked(PyModule_AddObjectRef(module, "Operation", reinterpret_cast<PyObject*>(&operation_type)));
}

}  // namespace clew::bind
