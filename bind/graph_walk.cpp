#include "bind/graph_walk.h"

#include <string>
#include <vector>

#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/node_attributes.h"
#include "bind/node_sequence.h"
#include "bind/node_set.h"
#include "bind/objects.h"
#include "bind/site.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

PyObject* node_object(Node* node) { return Py_NewRef(as_object(node)); }

// (roots, held=False) -> nodes in topological order
PyObject* graph_nodes(PyObject*, PyObject* args) {
    PyObject* roots_object;
    int held = 0;
    if (!PyArg_ParseTuple(args, "O|p", &roots_object, &held)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Sequence roots(roots_object);
        NodeSet seen;
        std::vector<Node*> finished;
        // From the last root to the first: the list is reversed in the end.
        for (Py_ssize_t i = roots.size(); i-- > 0;) {
            std::vector<Node*> nodes;
            each_root_of(roots[i], [&](Node* node) { nodes.push_back(node); });
            for (std::size_t j = nodes.size(); j-- > 0;)
                walk(nodes[j], held ? Reach::Held : Reach::Backward, seen, &finished);
        }
        PyObject* list = checked(PyList_New(static_cast<Py_ssize_t>(finished.size())));
        for (std::size_t i = 0; i < finished.size(); ++i)
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), node_object(finished[finished.size() - 1 - i]));
        return list;
    });
}

// ---------------------------------------------------------------------------------------------------------- holders
// (roots, target: a node, or the number of a storage) -> (hits, slots). `hits` has (i, node) for each root i that leads
// to the target: through `node`, which saved the storage or is the target. `slots` has (i, node, slot's name) for each
// slot that holds the storage; i is the first root that leads to it.
PyObject* graph_holders(PyObject*, PyObject* args) {
    PyObject *roots_object, *target;
    if (!PyArg_ParseTuple(args, "OO", &roots_object, &target)) return nullptr;
    return guarded([&]() -> PyObject* {
        Node* wanted = as_node(target);
        const void* storage = wanted ? nullptr : PyLong_AsVoidPtr(target);
        if (PyErr_Occurred()) throw PythonError();
        const Sequence roots(roots_object);
        const auto saved_it = [&](const SavedSlot& slot) { return storage && slot.held_storage() == storage; };

        PyObject *hits = checked(PyList_New(0)), *slots = checked(PyList_New(0));
        const Handle held_hits = Handle::steal(hits), held_slots = Handle::steal(slots);
        NodeSet seen;
        std::vector<Node*> leads_to;  // for each node of `seen`: the target that it leads to
        for (Py_ssize_t i = 0; i < roots.size(); ++i) {
            Node* hit = nullptr;
            each_root_of(roots[i], [&](Node* root) {
                std::vector<Node*> finished;
                walk(root, Reach::Held, seen, &finished);
                leads_to.resize(seen.size());
                for (Node* node : finished) {  // children first
                    Node* found = node == wanted ? node : nullptr;
                    each_slot(*node, [&](SavedSlot& slot) {
                        if (!saved_it(slot)) return;
                        found = node;
                        append(slots, Py_BuildValue("nNs", i, node_object(node), slot_name(saver_of(*node), slot)));
                    });
                    each_below(*node, Reach::Held, [&](Node* child) {
                        if (found == nullptr) found = leads_to[seen.index_of(child)];
                    });
                    leads_to[seen.index_of(node)] = found;
                }
                if (hit == nullptr) hit = leads_to[seen.index_of(root)];
            });
            if (hit) append(hits, Py_BuildValue("nN", i, node_object(hit)));
        }
        return Py_BuildValue("OO", hits, slots);
    });
}

// ------------------------------------------------------------------------------------------------ what Python's is
// roots -> [(i, node, what, object)], i being the first root that leads to the node: the hooks, packed values and
// attributes that nodes hold. `what` is "tensor hook", "pre-hook", "hook", "post-accumulate hook", "metadata",
// "attributes", "packed <slot>", "unpack hook" or "ctx".
PyObject* graph_python_things(PyObject*, PyObject* roots_object) {
    return guarded([&]() -> PyObject* {
        const Sequence roots(roots_object);
        NodeSet seen;
        std::vector<std::size_t> ends;  // how many nodes each root and those before it lead to
        for (Py_ssize_t i = 0; i < roots.size(); ++i) {
            each_root_of(roots[i], [&](Node* node) { walk(node, Reach::Held, seen); });
            ends.push_back(seen.size());
        }
        PyObject* list = checked(PyList_New(0));
        const Handle held = Handle::steal(list);
        std::size_t root = 0;
        for (std::size_t i = 0; i < seen.size(); ++i) {
            while (ends[root] <= i) ++root;
            Node* shown = seen[i];
            const auto add = [&](const std::string& what, void* object) {
                if (object)
                    append(list, Py_BuildValue("nOsO", static_cast<Py_ssize_t>(root), as_object(shown), what.c_str(),
                                               object));
            };
            const auto add_own = [&](Node& node) {
                if (node.has(Node::kFunction)) {
                    const Handle dict = Handle::steal(checked(PyObject_GenericGetDict(as_object(&node), nullptr)));
                    add("ctx", dict.get());
                }
                for (int j = 0; j < node.slot_count; ++j) {
                    const SavedSlot& slot = node.slots()[j];
                    if (!slot.has_rest) continue;
                    add(std::string("packed ") + slot_name(node, slot), slot.rest->packed.get());
                    add("unpack hook", slot.rest->unpack.get());
                }
                NodeExtras* extras = node.extras;
                if (extras == nullptr) return;
                for (const Hook& hook : extras->tensor_hooks) add("tensor hook", hook.callable.get());
                for (const Hook& hook : extras->pre_hooks) add("pre-hook", hook.callable.get());
                for (const Hook& hook : extras->post_hooks) add("hook", hook.callable.get());
                for (const Hook& hook : extras->accumulate_hooks) add("post-accumulate hook", hook.callable.get());
                add("metadata", extras->metadata.get());
                add("attributes", extras->attributes.get());
            };
            add_own(*shown);
            Node& saver = saver_of(*shown);
            if (&saver != shown) add_own(saver);
        }
        return Py_NewRef(list);
    });
}

// tensor -> (attributes, gradient, base), each None if there is none. Unlike vars(), `.grad` and `.is_leaf` it makes no
// dict, warns of nothing and brings no view's history up to date.
PyObject* tensor_holds(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        TensorObject* tensor = as_tensor(object);
        if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(object)->tp_name);
        PyObject* dict = tensor->dict ? static_cast<PyObject*>(tensor->dict) : Py_None;
        return Py_BuildValue("ONN", dict, wrap(tensor->extras ? tensor->extras->grad : Tensor()),
                             wrap(Tensor(tensor->base.get())));
    });
}

// Whether the memory is NumPy's or another library's.
PyObject* storage_is_foreign(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        TensorObject* tensor = as_tensor(object);
        if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(object)->tp_name);
        return PyBool_FromLong(tensor->storage->foreign);
    });
}

PyMethodDef functions[] = {
    {"graph_nodes", graph_nodes, METH_VARARGS, nullptr},
    {"graph_holders", graph_holders, METH_VARARGS, nullptr},
    {"graph_python_things", graph_python_things, METH_O, nullptr},
    {"tensor_holds", tensor_holds, METH_O, nullptr},
    {"storage_is_foreign", storage_is_foreign, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_graph_walk(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
