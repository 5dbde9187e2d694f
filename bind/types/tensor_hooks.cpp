// Hooks on tensors and nodes, as clew.utils.hooks asks for them.
#include <cstring>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/types/tensor_attributes.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/view.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

PyObject* add_hook_to(const NodeRef& node, std::vector<Hook> NodeExtras::* list, int output, PyObject* function) {
    const std::uint64_t id = add_hook(*node, list, output, Handle::borrow(function));
    note_late_python();
    return Py_BuildValue("NK", wrap(node), static_cast<unsigned long long>(id));
}

}  // namespace

// -> (node, id), from which clew.utils.hooks makes a handle
PyObject* add_tensor_hook(PyObject* self, PyObject* function) {
    return guarded([&]() -> PyObject* {
        const Tensor tensor = tensor_of(self);
        if (!tensor.requires_grad())
            fail(ErrorKind::Runtime, "register_hook: cannot register a hook on a tensor that doesn't require gradient");
        if (!PyCallable_Check(function))
            fail(ErrorKind::Type, "register_hook: expected a callable, got %s", Py_TYPE(function)->tp_name);
        Edge edge = gradient_edge(tensor);
        // Note [Views that lead nowhere]: no gradient will come, but the hook has its place.
        if (!edge) edge = {accumulator_of(tensor), 0};
        PyObject* handle =
            add_hook_to(NodeRef(edge.node), &NodeExtras::tensor_hooks, static_cast<int>(edge.index), function);
        track_tensor(tensor.get());
        return handle;
    });
}
PyObject* add_accumulate_hook(PyObject* self, PyObject* function) {
    return guarded([&]() -> PyObject* {
        const Tensor tensor = tensor_of(self);
        if (!tensor.requires_grad())
            fail(
                ErrorKind::Runtime,
                "register_post_accumulate_grad_hook: cannot register a hook on a tensor that doesn't require gradient");
        if (grad_fn_of(tensor))
            fail(ErrorKind::Runtime,
                 "register_post_accumulate_grad_hook: post accumulate grad hooks cannot be registered on non-leaf "
                 "tensors");
        PyObject* handle = add_hook_to(NodeRef(accumulator_of(tensor)), &NodeExtras::accumulate_hooks, 0, function);
        track_tensor(tensor.get());
        return handle;
    });
}
PyObject* remove_hook_method(PyObject*, PyObject* args) {
    PyObject* node;
    unsigned long long id;
    if (!PyArg_ParseTuple(args, "OK", &node, &id)) return nullptr;
    return guarded([&] { return PyBool_FromLong(as_node(node) && remove_hook(*as_node(node), id)); });
}
// (node, where: "pre" | "post", function) -> (node, id)
PyObject* add_node_hook(PyObject*, PyObject* args) {
    PyObject *node, *function;
    const char* where;
    if (!PyArg_ParseTuple(args, "OsO", &node, &where, &function)) return nullptr;
    return guarded([&]() -> PyObject* {
        if (as_node(node) == nullptr)
            fail(ErrorKind::Type, "register_hook: expected a Node, got %s", Py_TYPE(node)->tp_name);
        return add_hook_to(NodeRef(as_node(node)),
                           std::strcmp(where, "pre") == 0 ? &NodeExtras::pre_hooks : &NodeExtras::post_hooks, 0,
                           function);
    });
}
// The node that a tensor's gradient goes to, and which of its outputs the tensor is.
PyObject* gradient_edge_method(PyObject* self, PyObject*) {
    return guarded([&]() -> PyObject* {
        const Edge edge = gradient_edge(tensor_of(self));
        return Py_BuildValue("NI", wrap(NodeRef(edge.node)), edge.index);
    });
}

}  // namespace clew::bind
