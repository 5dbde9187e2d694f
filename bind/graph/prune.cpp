#include "bind/graph/prune.h"

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/objects.h"
#include "core/autograd/leaf.h"
#include "core/autograd/prune.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

NodeRef node_of(PyObject* object, const char* what) {
    if (TensorObject* const tensor = as_tensor(object)) return grad_fn_of(Tensor(tensor));
    Node* const node = as_node(object);
    if (node == nullptr)
        fail(ErrorKind::Type, "%s: expected a Tensor or a Node, got %s", what, Py_TYPE(object)->tp_name);
    return NodeRef(node);
}

NodeRef history_of(PyObject* object, const char* what) {
    NodeRef node = node_of(object, what);
    if (!node || node->has(Node::kAccumulate))
        fail(ErrorKind::Runtime, "%s: expected a tensor with a history, got a leaf or one that needs no gradient",
             what);
    return node;
}

PyObject* py_free(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        free_graph(history_of(object, "free"));
        Py_RETURN_NONE;
    });
}

PyObject* py_cut(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        cut_history(*history_of(object, "cut"));
        Py_RETURN_NONE;
    });
}

PyObject* py_find_cut(PyObject*, PyObject* tensors) {
    return guarded([&]() -> PyObject* {
        const Release* const record = find_cut(nodes_of_list(tensors));
        return record ? checked(site_object(record->site)) : Py_NewRef(Py_None);
    });
}

PyMethodDef functions[] = {
    {"free_graph", py_free, METH_O, nullptr},
    {"cut_history", py_cut, METH_O, nullptr},
    {"find_cut", py_find_cut, METH_O, "The line that cut a graph below these tensors, or None."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

std::vector<NodeRef> nodes_of_list(PyObject* list) {
    std::vector<NodeRef> nodes;
    if (list == nullptr || list == Py_None) return nodes;
    if (as_tensor(list) || as_node(list)) {
        if (NodeRef node = node_of(list, "keep")) nodes.push_back(std::move(node));
        return nodes;
    }
    const Handle held = Handle::steal(
        checked(PySequence_Fast(list, "backward: expected for keep a list of tensors or nodes of the graph")));
    auto* const sequence = static_cast<PyObject*>(held.get());
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(sequence); ++i)
        if (NodeRef node = node_of(PySequence_Fast_GET_ITEM(sequence, i), "keep")) nodes.push_back(std::move(node));
    return nodes;
}

void init_prune(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
