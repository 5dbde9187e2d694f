// What can be asked of an operation without calling it.
#include <string>

#include "bind/calls/operation_object.h"
#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/ops/infer.h"
#include "core/ops/jvp.h"

namespace clew::bind {
namespace {

// "self: other; other: self". Joint rules are asked input by input; those with lists of tensors save the lists.
std::string saves_text(const OpDef& def) {
    std::string text;
    const auto add = [&](const std::string& input, const std::string& saved) {
        text += (text.empty() ? "" : "; ") + input + ": " + saved;
    };
    if (def.joint_saves && def.variadic) {
        std::string lists;
        for (const Argument& argument : def.schema.arguments)
            if (argument.type == ArgType::TensorList) lists += (lists.empty() ? "" : ", ") + argument.name;
        for (const Argument& argument : def.schema.arguments)
            if (is_tensor(argument) && argument.type != ArgType::TensorList) add(argument.name, lists);
        return text;
    }
    std::vector<Saves> saved = def.saved_by_rule;
    if (def.joint_saves) {
        std::vector<Tensor> inputs;
        for (const Argument& argument : def.schema.arguments)
            if (is_tensor(argument)) inputs.emplace_back();
        for (std::size_t i = 0; i < inputs.size(); ++i)
            saved.push_back(def.joint_saves(inputs, std::uint64_t{1} << i, nullptr));
    }
    for (std::size_t i = 0; i < saved.size(); ++i) {
        std::string names;
        for (int k = 0; k < 32; ++k)
            if (saved[i].inputs >> k & 1) names += (names.empty() ? "" : ", ") + std::string(def.input_name(def, k));
        for (int k = 0; k < 32; ++k)
            if (saved[i].outputs >> k & 1) names += (names.empty() ? "" : ", ") + std::string(def.output_name(def, k));
        add(def.input_name(def, static_cast<int>(i)), names);
    }
    return text;
}

}  // namespace

PyObject* overloads_list(const OpGroup& group) {
    return guarded([&]() -> PyObject* {
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
                "{s:s,s:s,s:N,s:s,s:O,s:k,s:s,s:s,s:s,s:s,s:s,s:s,s:O,s:I,s:N}", "schema",
                schema_text(def.schema).c_str(), "name", def.schema.full_name().c_str(), "arguments", arguments, "node",
                def.node_name, "differentiable", def.differentiable ? Py_True : Py_False, "flags",
                static_cast<unsigned long>(def.text.flags), "domain", def.text.domain, "derivative",
                def.derivative.text.c_str(), "doc", def.text.doc, "example", def.text.example, "saves",
                saves_text(def).c_str(), "operators", def.text.operators, "draws", def.draws ? Py_True : Py_False,
                "outputs", def.output_count, "output_names", outputs));
            PyList_Append(list, one);
            Py_DECREF(one);
        }
        return list;
    });
}

namespace {

// Reads the arguments of the first overload that takes them.
const OpDef& parse_for(const char* who, PyObject* operation, const Arguments& arguments, Parsed& parsed) {
    if (!Py_IS_TYPE(operation, &operation_type))
        fail(ErrorKind::Type, "%s: expected an operation and its arguments, got %s", who, Py_TYPE(operation)->tp_name);
    const OpGroup& group = *self_of(operation)->group;
    for (const Overload& overload : group.overloads)
        if (parse(overload, arguments, parsed, nullptr)) return *overload.def;
    no_overload(group, false, arguments);
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
        if (count == 0) fail(ErrorKind::Type, "infer: expected an operation and its arguments");
        Parsed parsed;
        const OpDef& def = parse_for("infer", args[0], {args + 1, count - 1, names}, parsed);
        return inferred_list(infer(def, parsed.inputs, parsed.attributes), parsed.inputs);
    });
}

std::vector<Tensor> tensor_list(PyObject* sequence) {
    const Handle fast = Handle::steal(checked(PySequence_Fast(sequence, "jvp: expected a sequence of tensors")));
    auto* items = static_cast<PyObject*>(fast.get());
    std::vector<Tensor> list;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
        list.emplace_back(as_tensor(PySequence_Fast_GET_ITEM(items, i)));
    return list;
}

// Tangents of the inputs of a call, by the tensors that they belong to.
std::vector<Tensor> tangents_of(const std::vector<Tensor>& inputs, PyObject* pairs) {
    if (!PyDict_Check(pairs))
        fail(ErrorKind::Type, "jvp: expected a dict of tangents, got %s", Py_TYPE(pairs)->tp_name);
    std::vector<Tensor> tangents(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i]) continue;
        const Handle key = Handle::steal(wrap(inputs[i]));
        PyObject* found = PyDict_GetItemWithError(pairs, static_cast<PyObject*>(key.get()));
        if (found == nullptr) continue;
        tangents[i] = Tensor(as_tensor(found));
        if (!tangents[i] || !same_sizes(tangents[i].sizes(), inputs[i].sizes()) ||
            tangents[i].dtype() != inputs[i].dtype())
            fail(ErrorKind::Value, "jvp: expected tangents of the sizes and dtypes of their inputs");
    }
    return tangents;
}

PyObject* jvp_results(PyObject*, PyObject* const* args, Py_ssize_t count, PyObject* names) {
    return guarded([&]() -> PyObject* {
        if (count < 4) fail(ErrorKind::Type, "jvp: expected an operation, its results, tangents and its arguments");
        Parsed parsed;
        const OpDef& def = parse_for("jvp", args[0], {args + 4, count - 4, names}, parsed);
        const std::vector<Tensor> outputs = tensor_list(args[1]), tangents = tangents_of(parsed.inputs, args[2]);
        const bool by_rule = PyObject_IsTrue(args[3]) == 1;
        std::vector<Tensor> found = jvp(def, parsed.inputs, parsed.attributes, outputs, tangents, by_rule);
        PyObject* list = checked(PyList_New(0));
        const Handle held = Handle::steal(list);
        for (Tensor& one : found) checked(PyList_Append(list, static_cast<PyObject*>(Handle::steal(wrap(one)).get())));
        return Py_NewRef(list);
    });
}

PyMethodDef functions[] = {
    {"infer", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(infer_results)), METH_FASTCALL | METH_KEYWORDS,
     "(operation, *args, **kwargs): sizes, strides, dtype and base of each result, uncomputed."},
    {"jvp", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(jvp_results)), METH_FASTCALL | METH_KEYWORDS,
     "(operation, results, tangents, by_rule, *args, **kwargs): tangents of the results of a call."},
    {}};

}  // namespace

void init_operation_queries(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
