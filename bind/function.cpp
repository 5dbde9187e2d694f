// The C++ half of src/clew/autograd/function.py. A context object is the node itself (a Python subclass of Node): its
// edges, slots and outputs are filled in here after forward has run, and its backward calls the class's
// `_run_backward`.
#include "bind/function.h"

#include <string>
#include <vector>

#include "bind/errors.h"
#include "bind/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

struct FunctionKind : NodeKind {
    std::string text;
};

void function_backward(BackwardCall& call) {
    const Handle rule = Handle::steal(checked(PyObject_GetAttrString(as_object(&call.node), "_run_backward")));
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

bool contains(const std::vector<Tensor>& list, const Tensor& tensor) {
    for (const Tensor& one : list)
        if (one && one.same(tensor)) return true;
    return false;
}

// What became of one output of forward.
Tensor finish_output(const NodeRef& node, int i, const Tensor& output, const std::vector<Tensor>& inputs, bool dirty,
                     bool records) {
    const bool is_input = contains(inputs, output);
    if (dirty) {
        bump_version(output, node->kind->name);
        if (records) rebase_history(output, node);
        return records || !output.requires_grad() ? output : detach(output);
    }
    if (!records) {
        if (!is_input) return output;
        // Not the argument itself: what is done to the result (requires_grad_) must not be done to it.
        if (output.requires_grad()) return detach(output);
        const Tensor view = alias(output, output->layout, output->offset);
        mark_view(view, output, ViewKind::NoGrad);
        return view;
    }
    if (is_input) {
        // Returned as it came: a view with this node as its history.
        const Tensor view = alias(output, output->layout, output->offset);
        mark_view(view, output, ViewKind::CustomFunction);
        set_history(view, node, i);
        return view;
    }
    if (output->base) output->view_kind = ViewKind::CustomFunction;
    set_history(output, node, i);
    return output;
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
        for (const Tensor& tensor : dirty) {
            if (!contains(inputs, tensor))
                fail(ErrorKind::Runtime,
                     "mark_dirty: expected an input of forward; only inputs can be modified in place");
            check_in_place(tensor, node->kind->name, records != 0);
        }
        if (records) {
            if (inputs.size() > 0xffff || outputs.size() > 0xffff || saved.size() > 0xffff)
                fail(ErrorKind::NotImplemented,
                     "Function: at most 65535 inputs, outputs and saved tensors are supported");
            attach_body(node.get(),
                        {static_cast<std::uint32_t>(inputs.size()), static_cast<std::uint16_t>(saved.size()),
                         static_cast<std::uint16_t>(outputs.size())});
            for (std::size_t i = 0; i < inputs.size(); ++i)
                set_edge(*node, static_cast<int>(i), gradient_edge(inputs[i]));
            node->sequence =
                tick();  // younger than what it leads to: an input that is a view may have got its node just now
        }
        for (std::size_t i = 0; i < outputs.size(); ++i) {
            if (!outputs[i]) continue;
            const bool constant = contains(constants, outputs[i]) || !is_floating(outputs[i].dtype());
            const bool is_dirty = contains(dirty, outputs[i]);
            if (constant && records)
                set_output_shape(*node, static_cast<int>(i), outputs[i].layout_ref(), outputs[i].dtype());
            outputs[i] = finish_output(node, static_cast<int>(i), outputs[i], inputs, is_dirty, records && !constant);
        }
        if (records)
            for (std::size_t i = 0; i < saved.size(); ++i) save_any(*node, node->slots()[i], saved[i], inputs, outputs);
        PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
        for (std::size_t i = 0; i < outputs.size(); ++i)
            PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), wrap(outputs[i]));
        return tuple;
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
        return wrap(zeros(node->outputs()[i].layout->shape(), node->output_dtypes()[i]));
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
    {"function_saved_tensors", saved_tensors, METH_O, nullptr},
    {"function_zero_gradient", zero_gradient, METH_VARARGS, nullptr},
    {"function_kind", new_kind, METH_O, nullptr},
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
    PyObject* results = checked(PyObject_CallFunctionObjArgs(rule, grads, needs, nullptr));
    const Handle held_results = Handle::steal(results);
    for (std::size_t i = 0; i < call.results.size(); ++i) {
        PyObject* result = PyTuple_GET_ITEM(results, static_cast<Py_ssize_t>(i));
        if (result == Py_None) continue;
        TensorObject* tensor = as_tensor(result);
        if (tensor == nullptr)
            fail(ErrorKind::Type, "%s: expected a gradient that is a Tensor or None, got %s at position %zu",
                 call.node.kind->node_name, Py_TYPE(result)->tp_name, i);
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
