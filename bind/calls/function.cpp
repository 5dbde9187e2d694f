// The C++ half of src/clew/autograd/function.py. A context object is the node itself (a Python subclass of Node): its
// edges, slots and outputs are filled in here after forward has run, and its backward calls the class's
// `_run_backward`.
#include "bind/calls/function.h"

#include <string>
#include <vector>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/function.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

struct FunctionKind : NodeKind {
    std::string text;
};

void function_backward(BackwardCall& call) {
    const Handle rule = Handle::steal(checked(PyObject_GetAttrString(as_object(call.node), "_run_backward")));
    call_python_rule(call, static_cast<PyObject*>(rule.get()));
}

std::vector<Tensor> tensors_of(PyObject* tuple) {
    std::vector<Tensor> tensors;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
        PyObject* object = PyTuple_GET_ITEM(tuple, i);
        TensorObject* tensor = as_tensor(object);
        if (tensor == nullptr && object != Py_None)
            fail(ErrorKind::Type, "Function: expected tensors, got %s", Py_TYPE(object)->tp_name);
        tensors.emplace_back(tensor);
    }
    return tensors;
}

// (node, tensor inputs, outputs, saved, dirty, non_differentiable, records) -> outputs
PyObject* record(PyObject*, PyObject* args) {
    PyObject *node_object, *inputs_object, *outputs_object, *saved_object, *dirty_object, *constant_object;
    int records;
    if (!PyArg_ParseTuple(args, "OO!O!O!O!O!p", &node_object, &PyTuple_Type, &inputs_object, &PyTuple_Type,
                          &outputs_object, &PyTuple_Type, &saved_object, &PyTuple_Type, &dirty_object, &PyTuple_Type,
                          &constant_object, &records))
        return nullptr;
    return guarded([&]() -> PyObject* {
        if (as_node(node_object) == nullptr) fail(ErrorKind::Type, "Function: expected a context");
        const NodeRef node(as_node(node_object));
        const auto inputs = tensors_of(inputs_object), saved = tensors_of(saved_object),
                   dirty = tensors_of(dirty_object), constants = tensors_of(constant_object);
        auto outputs = tensors_of(outputs_object);
        record_function(node, {inputs, outputs, saved, dirty, constants}, records != 0);
        PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
        for (std::size_t i = 0; i < outputs.size(); ++i)
            PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(outputs[i]));
        return tuple;
    });
}

// Calls `run`, which has no arguments; for dispatch().
struct FunctionCall {
    PyObject* run;
    PyObject* result;
};

// (name, tensor inputs, run) -> what run() gives: a call of the Function, while interpreters look on.
PyObject* call(PyObject*, PyObject* args) {
    const char* name;
    PyObject *inputs_object, *run;
    if (!PyArg_ParseTuple(args, "sO!O", &name, &PyTuple_Type, &inputs_object, &run)) return nullptr;
    return guarded([&]() -> PyObject* {
        static const OpDef op = unregistered("autograd.Function", [](OpCall& call) {
            auto& function = *static_cast<FunctionCall*>(const_cast<void*>(call.attributes));
            function.result = checked(PyObject_CallNoArgs(function.run));
        });
        const auto inputs = tensors_of(inputs_object);
        FunctionCall function{run, nullptr};
        const CallDetails details{.name = name};
        OpCall call{op, inputs, &function, {}, Form::Function, &details};
        dispatch(call);
        return function.result ? function.result : Py_NewRef(Py_None);
    });
}

PyObject* saved_tensors(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        Node* node = as_node(object);
        if (node == nullptr) fail(ErrorKind::Type, "saved_tensors: expected a context");
        if (node->has(Node::kFreed)) throw_freed(*node);
        PyObject* tuple = checked(PyTuple_New(node->slot_count));
        const Handle held = Handle::steal(tuple);
        for (int i = 0; i < node->slot_count; ++i) PyTuple_SET_ITEM(tuple, i, wrap(unpack(*node, node->slots()[i])));
        return Py_NewRef(tuple);
    });
}

// Zeros for an output that got no gradient.
PyObject* zero_gradient(PyObject*, PyObject* args) {
    PyObject* object;
    int i;
    if (!PyArg_ParseTuple(args, "Oi", &object, &i)) return nullptr;
    return guarded([&]() -> PyObject* {
        Node* node = as_node(object);
        if (node == nullptr || i < 0 || i >= node->output_count || node->outputs()[i].layout == nullptr) Py_RETURN_NONE;
        const SkipKernels skip(skips_kernels() || meta_operation != nullptr);
        return wrap(zeros(node->outputs()[i].layout->shape(), node->output_dtypes()[i]));
    });
}

// How many histories have been lost so far.
PyObject* history_breaks(PyObject*, PyObject*) { return PyLong_FromUnsignedLong(HistoryBreak::last_serial()); }

// (tensor, history_breaks() of before) -> whether it has no history because of no_grad, and lost it since.
PyObject* is_lost_since(PyObject*, PyObject* args) {
    PyObject* object;
    unsigned long before;
    if (!PyArg_ParseTuple(args, "Ok", &object, &before)) return nullptr;
    return guarded([&] {
        const TensorObject* const tensor = as_tensor(object);
        if (tensor == nullptr) fail(ErrorKind::Type, "is_lost_since: expected a tensor");
        const Ref<HistoryBreak>& lost = tensor->lost;
        const bool since = lost && static_cast<std::int32_t>(lost->serial - static_cast<std::uint32_t>(before)) > 0;
        return PyBool_FromLong(since && std::strcmp(lost->cause, "no_grad") == 0 && is_inexact(tensor->dtype) &&
                               !Tensor(const_cast<TensorObject*>(tensor)).requires_grad());
    });
}

// Tensors of no value, with the history of each input of the Function that needs a gradient.
PyObject* inputs_history(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        Node* node = as_node(object);
        if (node == nullptr) fail(ErrorKind::Type, "inputs_history: expected a context");
        const Handle list = Handle::steal(checked(PyList_New(0)));
        for (std::uint32_t i = 0; i < node->edge_count; ++i) {
            const Edge edge = node->edge(static_cast<int>(i));
            if (!edge) continue;
            const Tensor stand_in =
                saved_detail::with_history(zeros(Dims{}, edge.node->output_dtypes()[edge.index]), edge);
            const Handle item = Handle::steal(wrap(stand_in));
            if (PyList_Append(static_cast<PyObject*>(list.get()), static_cast<PyObject*>(item.get())) < 0)
                throw PythonError();
        }
        return Py_NewRef(static_cast<PyObject*>(list.get()));
    });
}

PyObject* new_kind(PyObject*, PyObject* name) {
    return guarded([&]() -> PyObject* {
        const char* text = PyUnicode_AsUTF8(name);
        if (text == nullptr) throw PythonError();
        auto* kind = new FunctionKind;  // as long as the program: nodes of the class point to it
        kind->text = text;
        kind->name = kind->node_name = kind->full_name = kind->text.c_str();
        kind->backward = function_backward;
        return PyLong_FromVoidPtr(kind);
    });
}

PyMethodDef functions[] = {
    {"function_record", record, METH_VARARGS, nullptr},
    {"function_call", call, METH_VARARGS, nullptr},
    {"function_saved_tensors", saved_tensors, METH_O, nullptr},
    {"function_zero_gradient", zero_gradient, METH_VARARGS, nullptr},
    {"function_kind", new_kind, METH_O, nullptr},
    {"history_breaks", history_breaks, METH_NOARGS, nullptr},
    {"is_lost_since", is_lost_since, METH_VARARGS, nullptr},
    {"function_inputs_history", inputs_history, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void call_python_rule(BackwardCall& call, PyObject* rule) {
    PyObject* grads = checked(PyTuple_New(static_cast<Py_ssize_t>(call.incoming.size())));
    const Handle held = Handle::steal(grads);
    for (std::size_t i = 0; i < call.incoming.size(); ++i)
        PyTuple_SET_ITEM(grads, static_cast<Py_ssize_t>(i), wrap(call.incoming[i]));
    PyObject* needs = checked(PyTuple_New(static_cast<Py_ssize_t>(call.results.size())));
    const Handle held_needs = Handle::steal(needs);
    for (std::size_t i = 0; i < call.results.size(); ++i)
        PyTuple_SET_ITEM(needs, static_cast<Py_ssize_t>(i), PyBool_FromLong(call.needs(static_cast<int>(i))));
    const SkipKernels skip(skips_kernels() && meta_operation == nullptr);  // Note [Meta tensors]: where it ends
    PyObject* results = checked(PyObject_CallFunctionObjArgs(rule, grads, needs, nullptr));
    const Handle held_results = Handle::steal(results);
    for (std::size_t i = 0; i < call.results.size(); ++i) {
        PyObject* result = PyTuple_GET_ITEM(results, static_cast<Py_ssize_t>(i));
        if (result == Py_None) continue;
        TensorObject* tensor = as_tensor(result);
        if (tensor == nullptr)
            fail(ErrorKind::Type, "%s: expected a gradient that is a Tensor or None, got %s at position %zu",
                 (call.operands ? call.operands->op : call.node->kind)->node_name, Py_TYPE(result)->tp_name, i);
        if (call.needs(static_cast<int>(i))) call.results[i] = Tensor(tensor);
    }
}

const NodeKind* function_kind_of(PyTypeObject* type) {
    PyObject* number = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(type), "_kind"));
    void* kind = PyLong_AsVoidPtr(number);
    Py_DECREF(number);
    if (kind == nullptr) throw PythonError();
    return static_cast<const NodeKind*>(kind);
}

void init_function(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
