// Calls of operations: arguments from Python, the fast ways and the slow one, results back.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "bind/calls/operation.h"
#include "bind/calls/operation_object.h"
#include "bind/calls/parse.h"
#include "bind/calls/temporaries.h"
#include "bind/data/buffer.h"
#include "bind/data/interop.h"
#include "bind/errors.h"
#include "bind/transforms/autocast.h"
#include "bind/types/objects.h"
#include "bind/types/torch_function.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

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

}  // namespace

void no_overload(const OpGroup& group, bool in_place, const Arguments& arguments) {
    std::string why;
    Parsed parsed;
    parse(group.overloads[0], arguments, parsed, &why);
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

namespace {

bool is_exact_number(PyObject* object) {
    return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object);
}

// Plain tensors alone: no parsing. Null if this is not that case.
template <int kCount>
[[gnu::hot]] PyObject* call_with_tensors(OpGroup& group, PyObject* const* args, const TensorObject* donated) {
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
[[gnu::hot]] PyObject* call_with_tensors(OpGroup& group, PyObject* const* args, Py_ssize_t count,
                                         const TensorObject* donated) {
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
[[gnu::hot]] [[gnu::noinline]] PyObject* call_with_numbers(OpGroup& group, bool in_place, PyObject* const* args,
                                                           Py_ssize_t count, const TensorObject* donated) {
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

}  // namespace

namespace {

// Apart, so that what is hot stays small.
[[gnu::cold]] [[gnu::noinline]] PyObject* ask_about_operation(OpGroup& group, bool in_place,
                                                              const Arguments& arguments) {
    return ask(group.asked_for(in_place), arguments);
}

[[gnu::cold]] PyObject* call_in_autocast(OpGroup& group, const Arguments& arguments) {
    if (is_asked_about(arguments)) return ask_about_operation(group, false, arguments);
    return run_autocast(group.autocast, group.callable, arguments, [&](const Arguments& cast) {
        return call_group(group, false, cast.values, cast.count, cast.names);
    });
}

}  // namespace

[[gnu::hot]] PyObject* operation_call(PyObject* callable, PyObject* const* args, std::size_t flags, PyObject* names) {
    OperationObject* self = self_of(callable);
    return guarded([&] {
        const Py_ssize_t count = PyVectorcall_NARGS(flags);
        if (mode(kFunctionMode | kAutocast)) [[unlikely]] {
            if (mode(kFunctionMode) && !self->group->is_hidden())
                return ask_about_operation(*self->group, self->in_place, {args, count, names});
            if (is_autocast(self->group->autocast) && !self->in_place)
                return call_in_autocast(*self->group, {args, count, names});
        }
        const TensorObject* const donated = donated_argument(callable, args, count);
        return call_group(*self->group, self->in_place, args, count, names, donated);
    });
}

[[gnu::hot]] PyObject* call_group(OpGroup& group, bool in_place, PyObject* const* args, Py_ssize_t count,
                                  PyObject* names, const TensorObject* donated) {
    if (names == nullptr) {
        if (!in_place)
            if (PyObject* result = call_with_tensors(group, args, count, donated)) return result;
        if (PyObject* result = call_with_numbers(group, in_place, args, count, donated)) return result;
    }
    const Arguments arguments{args, count, names};
    if (!mode(kFunctionMode) && is_asked_about(arguments)) [[unlikely]]
        return ask_about_operation(group, in_place, arguments);
    return call_parsed(group, in_place, arguments, donated);
}

namespace {

bool is_factor(const Argument& argument) {
    return argument.keyword_only && (argument.name == "alpha" || argument.name == "beta" || argument.name == "value");
}

// Programs before PyTorch 1.5 give factors by place: add_(alpha, other), addcmul_(value, tensor1, tensor2),
// addmm(beta, self, alpha, mat1, mat2). True if these are such arguments; they are then parsed as keywords.
bool parse_older(const Overload& overload, const Arguments& arguments, Parsed& parsed) {
    const auto& schema = overload.def->schema.arguments;
    std::vector<PyObject*> values, factors;
    for (Py_ssize_t i = 0; i < arguments.count; ++i)
        (is_number(arguments.values[i]) ? factors : values).push_back(arguments.values[i]);
    const auto by_place = std::ranges::count_if(schema, [](const Argument& one) { return !one.keyword_only; });
    if (arguments.names || factors.empty() || std::ssize(values) != by_place) return false;
    PyObject* const names = checked(PyTuple_New(std::ssize(factors)));
    const Handle held = Handle::steal(names);
    Py_ssize_t named = 0;
    for (const Argument& argument : schema)
        if (is_factor(argument) && named < std::ssize(factors))
            PyTuple_SET_ITEM(names, named++, checked(PyUnicode_InternFromString(argument.name.c_str())));
    if (named < std::ssize(factors)) return false;
    values.insert(values.end(), factors.begin(), factors.end());
    return parse(overload, Arguments{values.data(), by_place, names}, parsed, nullptr);
}

}  // namespace

PyObject* call_parsed(OpGroup& group, bool in_place, const Arguments& arguments, const TensorObject* donated) {
    Parsed parsed;
    for (const bool older : {false, true}) {
        for (const Overload& overload : group.overloads) {
            if (in_place && !overload.def->is(kInPlace)) continue;
            if (older ? parse_older(overload, arguments, parsed) : parse(overload, arguments, parsed, nullptr))
                return run_parsed(group, *overload.def, in_place, parsed, donated);
        }
    }
    no_overload(group, in_place, arguments);
}

namespace {
bool is_operand(PyObject* object) { return as_tensor(object) || is_number(object); }

bool is_numpy_array(PyObject* object) { return PyObject_CheckBuffer(object) && is_array(object); }

// The user's variable that holds the object; or `otherwise`.
std::string variable_of(PyObject* object, const char* otherwise) {
    std::string found = otherwise;
    const Handle names = Handle::steal(PyImport_ImportModule("clew.graph.program.names"));
    const Handle name = Handle::steal(
        names ? PyObject_CallMethod(static_cast<PyObject*>(names.get()), "variable_of", "O", object) : nullptr);
    auto* text = static_cast<PyObject*>(name.get());
    if (text && PyUnicode_Check(text)) found = PyUnicode_AsUTF8(text);
    PyErr_Clear();
    return found;
}

// `array @ tensor`: NumPy leaves the operator to the tensor. Python's own error would name types alone, or, for +,
// speak of concatenation.
[[noreturn]] void fail_array_operand(const Operator& op, PyObject* array) {
    const std::string name = variable_of(array, "array");
    fail(ErrorKind::Type, "%s: expected two tensors, got a NumPy array and a tensor. To do: torch.from_numpy(%s)",
         op.group->name.c_str(), name.c_str());
}

// == and != of a tensor and an array, elementwise; null where the array holds no numbers.
PyObject* compare_with_array(const Operator& op, PyObject* tensor, PyObject* array) {
    Tensor other;
    try {
        other = make_tensor(array, std::nullopt);
    } catch (const Error&) {
        return nullptr;
    }
    const Handle held = Handle::steal(wrap(std::move(other)));
    PyObject* const in_order[] = {tensor, static_cast<PyObject*>(held.get())};
    return call_parsed(*op.group, false, {in_order, 2, nullptr}, nullptr);
}

// An operator of Tensor with operands that are not both plain. It refuses what it can't take, so that Python asks the
// other operand for its own operator.
PyObject* operate_unless_asked(const Operator& op, bool swapped, PyObject* const* args, const TensorObject* donated) {
    const Arguments arguments{args, 2, nullptr};
    if (is_asked_about(arguments)) {
        try {
            return ask_method(swapped ? op.reflected_name : op.name, arguments);
        } catch (const PythonError&) {
            if (as_tensor(args[1]) || !PyErr_ExceptionMatches(PyExc_TypeError)) throw;
            PyErr_Clear();
        } catch (const Error& error) {
            if (as_tensor(args[1]) || error.kind() != ErrorKind::Type) throw;
        }
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (!is_operand(args[0]) || !is_operand(args[1])) {
        const std::string_view name = op.name;
        if (name == "eq" || name == "ne") {
            PyObject* const found = is_numpy_array(args[1]) ? compare_with_array(op, args[0], args[1]) : nullptr;
            if (found) return found;
        } else if (swapped && is_numpy_array(args[1])) {
            fail_array_operand(op, args[1]);
        }
        Py_RETURN_NOTIMPLEMENTED;
    }
    const bool exchange = swapped && op.reflected == nullptr;
    PyObject* const in_order[] = {args[exchange ? 1 : 0], args[exchange ? 0 : 1]};
    if (is_autocast(op.group->autocast)) return call_in_autocast(*op.group, {in_order, 2, nullptr});
    return call_parsed(swapped && op.reflected ? *op.reflected : *op.group, false, {in_order, 2, nullptr}, donated);
}

}  // namespace

[[gnu::hot]] PyObject* binary_operator(const Operator& op, PyObject* a, PyObject* b) {
    if (op.group == nullptr) Py_RETURN_NOTIMPLEMENTED;
    return guarded([&]() -> PyObject* {
        PyObject* const args[] = {a, b};
        PyObject* const exchanged[] = {b, a};
        const TensorObject* const donated = donated_operand(a, b);
        if (!mode(kFunctionMode | kAutocast) || !(mode(kFunctionMode) || is_autocast(op.group->autocast))) [[likely]] {
            if (PyObject* result = call_with_tensors<2>(*op.group, args, donated)) return result;
            const bool reflect = op.reflected && (is_exact_number(a) || !as_tensor(a));
            PyObject* const result =
                call_with_numbers(reflect ? *op.reflected : *op.group, false, reflect ? exchanged : args, 2, donated);
            if (result) return result;
        }
        const bool swapped = !as_tensor(a);
        return operate_unless_asked(op, swapped, swapped ? exchanged : args, donated);
    });
}

PyObject* in_place_operator(const Operator& op, PyObject* a, PyObject* b) {
    if (op.group == nullptr) Py_RETURN_NOTIMPLEMENTED;
    return guarded([&]() -> PyObject* {
        PyObject* const args[] = {a, b};
        const Arguments arguments{args, 2, nullptr};
        if (is_asked_about(arguments)) return ask_method(op.in_place_name, arguments);
        if (!is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
        return call_group(*op.group, true, args, 2, nullptr);
    });
}

PyObject* unary_operator(const Operator& op, PyObject* a) {
    if (op.group == nullptr) {
        PyErr_SetString(PyExc_TypeError, "this operator is not defined for tensors");
        return nullptr;
    }
    return guarded([&] {
        if (is_asked_about(a)) return ask_method(op.name, {&a, 1, nullptr});
        return call_group(*op.group, false, &a, 1, nullptr);
    });
}

}  // namespace clew::bind
