// Node as a Python type: allocation by the core, deletion through the queue, and what the collector may see.
#include <map>
#include <string_view>

#include "bind/errors.h"
#include "bind/types/node_attributes.h"
#include "bind/types/objects.h"
#include "bind/types/type.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"

namespace clew::bind {

PyTypeObject node_type = blank_type();

namespace {

Node* self_of(PyObject* object) { return reinterpret_cast<Node*>(object); }

// Note [Garbage collection of nodes]
// A node is tracked only if it, or something below it, holds Python things (Node::kPython, copied along edges when they
// are made). tp_traverse visits each reference that the node itself owns, once, and looks through nothing that is
// shared. Storages hold no Python objects, so slots matter only if they are packed. A full collection is preceded by a
// look at what became Python's later (collector.cpp).
int node_traverse(PyObject* object, visitproc visit, void* arg) {
    Node* self = self_of(object);
    for (std::uint32_t i = 0; i < self->edge_count; ++i) Py_VISIT(as_object(self->edge_nodes()[i]));
    for (int i = 0; i < self->slot_count; ++i) {
        const SavedSlot& slot = self->slots()[i];
        if (!slot.has_rest) continue;
        Py_VISIT(static_cast<PyObject*>(slot.rest->packed.get()));
        Py_VISIT(static_cast<PyObject*>(slot.rest->unpack.get()));
        Py_VISIT(as_object(slot.rest->edge.get()));
    }
    if (NodeExtras* extras = self->extras) {
        for (auto list : {&NodeExtras::tensor_hooks, &NodeExtras::pre_hooks, &NodeExtras::post_hooks,
                          &NodeExtras::accumulate_hooks})
            for (const Hook& hook : extras->*list) Py_VISIT(static_cast<PyObject*>(hook.callable.get()));
        Py_VISIT(static_cast<PyObject*>(extras->metadata.get()));
        Py_VISIT(static_cast<PyObject*>(extras->attributes.get()));
        Py_VISIT(as_object(extras->inner.get()));
    }
    return 0;
}

// Only Python things are dropped: every cycle passes through one.
int node_clear(PyObject* object) {
    Node* self = self_of(object);
    for (int i = 0; i < self->slot_count; ++i) {
        SavedSlot& slot = self->slots()[i];
        if (slot.state != SlotState::Packed) continue;
        Handle packed = std::move(slot.rest->packed), unpack_hook = std::move(slot.rest->unpack);
    }
    if (NodeExtras* extras = self->extras) {
        const auto tensor_hooks = std::move(extras->tensor_hooks), pre_hooks = std::move(extras->pre_hooks),
                   post_hooks = std::move(extras->post_hooks), accumulate_hooks = std::move(extras->accumulate_hooks);
        const Handle metadata = std::move(extras->metadata), attributes = std::move(extras->attributes);
    }
    return 0;
}

[[gnu::hot]] void node_dealloc(PyObject* object) {
    Node* self = self_of(object);
    PyObject_GC_UnTrack(object);
    if (self->has(Node::kKept)) [[unlikely]]
        kept_node_died(self);
    if (self->weak_references) PyObject_ClearWeakRefs(object);
    destruct_node(self);
    self->has(Node::kFunction) ? Py_TYPE(object)->tp_free(object) : free_node(self);
    drain_dead_nodes();
}

PyObject* node_repr(PyObject* object) {
    return PyUnicode_FromFormat("<%s object at %p>", self_of(object)->kind->node_name, object);
}

// Note [Classes of nodes]
// `type(node).__name__` is the operation's ("MulBackward0"), and each such class a subclass of Node. They are static
// types, so a node holds no reference to its own; kinds whose nodes have one name share a class. A class is made with
// the first node of its kind (NodeKind::node_type), which costs microseconds, and none of it at import.
PyTypeObject* made_class(const char* name) {
    auto* type = new PyTypeObject(blank_type());
    type->tp_name = name;
    type->tp_base = &node_type;
    type->tp_basicsize = sizeof(Node);
    type->tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    if (name == std::string_view(accumulate_kind.node_name)) add_leaf_attributes(*type);
    checked(PyType_Ready(type));
    return type;
}

}  // namespace

PyTypeObject* node_class(const char* name) {
    static auto* const classes = new std::map<std::string_view, PyTypeObject*>;
    PyTypeObject*& type = (*classes)[name];
    if (type == nullptr) type = made_class(name);
    return type;
}

void init_node_type(PyObject* module) {
    node_type.tp_name = "clew.autograd.Node";
    node_type.tp_basicsize = sizeof(Node);
    node_type.tp_dealloc = node_dealloc;
    node_type.tp_repr = node_repr;
    node_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE;
    node_type.tp_doc =
        "Node()\n--\n\nA node of the graph: an operation that ran, its inputs' nodes, and what its derivative needs.";
    node_type.tp_traverse = node_traverse;
    node_type.tp_clear = node_clear;
    node_type.tp_weaklistoffset = offsetof(Node, weak_references);
    node_type.tp_free = PyObject_GC_Del;
    node_type.tp_new = node_new;
    add_node_attributes(node_type);
    checked(PyType_Ready(&node_type));
    checked(PyModule_AddObjectRef(module, "Node", reinterpret_cast<PyObject*>(&node_type)));
    PyTypeObject* accumulate_type = node_class(accumulate_kind.node_name);
    checked(PyModule_AddObjectRef(module, "AccumulateGrad", reinterpret_cast<PyObject*>(accumulate_type)));
}

}  // namespace clew::bind
