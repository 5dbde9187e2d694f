#include "bind/types/node_attributes.h"

#include <cstring>
#include <string>

#include "bind/calls/function.h"
#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"
#include "core/ops/opdef.h"

namespace clew::bind {
namespace {

Node* self_of(PyObject* object) { return reinterpret_cast<Node*>(object); }

PyObject* name_method(PyObject* self, PyObject*) { return PyUnicode_FromString(self_of(self)->kind->full_name); }

PyObject* get_op(PyObject* self, void*) { return PyUnicode_FromString(self_of(self)->kind->name); }
PyObject* get_made_at(PyObject* self, void*) { return site_object({self_of(self)->code, self_of(self)->instruction}); }
PyObject* get_sequence(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(self_of(self)->sequence); }
PyObject* sequence_method(PyObject* self, PyObject*) { return get_sequence(self, nullptr); }
PyObject* get_bytes(PyObject* self, void*) { return PyLong_FromSize_t(node_bytes(*self_of(self))); }

PyObject* get_next(PyObject* object, void*) {
    return guarded([&] {
        Node* self = self_of(object);
        const std::vector<int> shown = shown_inputs(*self);
        PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(shown.size())));
        for (std::size_t k = 0; k < shown.size(); ++k) {
            const Edge edge = self->edge(shown[k]);
            PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(k),
                             Py_BuildValue("NI", wrap(NodeRef(edge.node)), edge.index));
        }
        return tuple;
    });
}

PyObject* get_variable(PyObject* object, void*) { return wrap(Tensor(self_of(object)->outputs()[0].tensor)); }

PyObject* get_metadata(PyObject* object, void*) {
    return guarded([&]() -> PyObject* {
        NodeExtras& extras = extras_of(*self_of(object));
        if (!extras.metadata) {
            extras.metadata = Handle::steal(checked(PyDict_New()));
            mark_python(*self_of(object));
            note_late_python();
        }
        return Py_NewRef(static_cast<PyObject*>(extras.metadata.get()));
    });
}
PyObject* get_saved(PyObject* object, void*) {
    return guarded([&]() -> PyObject* {
        Node* self = self_of(object);
        PyObject* list = checked(PyList_New(0));
        const Handle held = Handle::steal(list);
        Node* owner =
            self->extras && self->extras->inner ? self->extras->inner.get() : self;  // CopySlices shows what it wraps
        for (int i = 0; i < owner->slot_count; ++i) {
            SavedSlot& slot = owner->slots()[i];
            if (slot.state == SlotState::Empty || slot.layout == nullptr) continue;
            PyObject* record = slot_record(slot_name(*owner, slot), *slot.layout, slot.dtype, facts_of(slot));
            PyList_Append(list, record);
            Py_DECREF(record);
        }
        return PyList_AsTuple(list);
    });
}

PyObject* get_released(PyObject* object, void*) {
    return guarded([&]() -> PyObject* {
        const Release* record = self_of(object)->released;
        if (record == nullptr) Py_RETURN_NONE;
        return release_object(record);
    });
}

PyObject* get_outputs(PyObject* object, void*) {
    return guarded([&]() -> PyObject* {
        Node* self = self_of(object);
        PyObject* tuple = checked(PyTuple_New(self->output_count));
        for (int i = 0; i < self->output_count; ++i) {
            const Layout* layout = self->outputs()[i].layout;
            PyObject* pair =
                layout ? Py_BuildValue("NN", plain_tuple(layout->shape()), dtype_object(self->output_dtypes()[i]))
                       : Py_BuildValue("OO", Py_None, Py_None);
            PyTuple_SET_ITEM(tuple, i, checked(pair));
        }
        return tuple;
    });
}

PyGetSetDef properties[] = {
    {"op", get_op, nullptr, "the operation's name in the registry", nullptr},
    {"made_at", get_made_at, nullptr, "the user's line that made it", nullptr},
    {"sequence_nr", get_sequence, nullptr, "what has the larger number was made later", nullptr},
    {"next_functions", get_next, nullptr, "for each input: its node and which output of it", nullptr},
    {"metadata", get_metadata, nullptr, "a dict for the user's notes", nullptr},
    {"saved", get_saved, nullptr, "what it saved: one record for each slot", nullptr},
    {"released", get_released, nullptr, "the call that dropped what it saved, or None", nullptr},
    {"outputs", get_outputs, nullptr, "shape and dtype of each output", nullptr},
    {"nbytes", get_bytes, nullptr, "bytes of the node itself", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyGetSetDef leaf_properties[] = {
    {"variable", get_variable, nullptr, "the leaf, or None when it is gone", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyObject* dir_method(PyObject* self, PyObject*);

PyMethodDef methods[] = {
    {"name", name_method, METH_NOARGS, "PyTorch's name of the node."},
    {"_sequence_nr", sequence_method, METH_NOARGS, nullptr},
    {"__dir__", dir_method, METH_NOARGS, "Its attributes, what it saved among them."},
    {nullptr, nullptr, 0, nullptr},
};
// Programs that draw graphs look here for what begins with _saved_.
PyObject* dir_method(PyObject* object, PyObject*) {
    return guarded([&] {
        Node& node = *self_of(object);
        PyObject* plain = reinterpret_cast<PyObject*>(&PyBaseObject_Type);
        const Handle names = Handle::steal(checked(PyObject_CallMethod(plain, "__dir__", "O", object)));
        const Handle all = Handle::steal(checked(PySet_New(static_cast<PyObject*>(names.get()))));
        for (const std::string& name : saved_names(node)) {
            const Handle text = Handle::steal(checked(PyUnicode_FromString(("_saved_" + name).c_str())));
            checked(PySet_Add(static_cast<PyObject*>(all.get()), static_cast<PyObject*>(text.get())));
        }
        if (node.extras && node.extras->attributes)
            Py_XDECREF(checked(PyObject_CallMethod(static_cast<PyObject*>(all.get()), "update", "O",
                                                   static_cast<PyObject*>(node.extras->attributes.get()))));
        return checked(PySequence_List(static_cast<PyObject*>(all.get())));
    });
}

PyObject* get_attribute(PyObject* object, PyObject* name) {
    PyObject* found = PyObject_GenericGetAttr(object, name);
    if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    Node* self = self_of(object);
    const char* text = PyUnicode_AsUTF8(name);
    bool failed = false;
    if (text && std::strncmp(text, "_saved_", 7) == 0)
        found = guarded([&] { return saved_value(*self, text + 7); });
    else if (self->extras && self->extras->attributes)
        found = Py_XNewRef(PyDict_GetItemWithError(static_cast<PyObject*>(self->extras->attributes.get()), name));
    failed = PyErr_Occurred() != nullptr;
    if (found || failed) {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        return found;
    }
    PyErr_Restore(type, value, traceback);
    return nullptr;
}

// Attributes of plain nodes live in extras, so that nodes without any stay small; subclasses have a dict.
int set_attribute(PyObject* object, PyObject* name, PyObject* value) {
    if (self_of(object)->has(Node::kFunction) || _PyType_Lookup(Py_TYPE(object), name))
        return PyObject_GenericSetAttr(object, name, value);
    return guarded(
        [&] {
            NodeExtras& extras = extras_of(*self_of(object));
            if (!extras.attributes) extras.attributes = Handle::steal(checked(PyDict_New()));
            mark_python(*self_of(object));
            note_late_python();
            auto* dict = static_cast<PyObject*>(extras.attributes.get());
            checked(value ? PyDict_SetItem(dict, name, value) : PyDict_DelItem(dict, name));
            return 0;
        },
        -1);
}

}  // namespace

std::vector<int> shown_inputs(Node& node) {
    // A write into a view has the inputs of the operation that wrote.
    Node& asked = node.extras && node.extras->inner ? *node.extras->inner : node;
    const OpDef* def = is_operation(asked) ? static_cast<const OpDef*>(asked.kind) : nullptr;
    const int count = static_cast<int>(node.edge_count);
    std::vector<int> shown;
    for (int i = 0; i < count; ++i)
        if (node.edge(i) || def == nullptr || (i == 0 && &asked != &node) || def->has_derivative(i, count))
            shown.push_back(i);
    return shown;
}
PyObject* node_display_name(Node* node) { return PyUnicode_FromString(node->kind->node_name); }

PyObject* node_new(PyTypeObject* type, PyObject*, PyObject*) {
    return guarded([&]() -> PyObject* {
        if (type == &node_type) fail(ErrorKind::Type, "Node: nodes are made by operations, not by calling the class");
        const NodeKind* kind = function_kind_of(type);
        PyObject* object = checked(type->tp_alloc(type, 0));
        Node* self = self_of(object);
        construct_node(self, *kind);
        self->set(Node::kFunction);
        self->set(Node::kPython);
        self->set(Node::kTracked);
        return object;
    });
}

void add_node_attributes(PyTypeObject& type) {
    type.tp_getset = properties;
    type.tp_methods = methods;
    type.tp_getattro = get_attribute;
    type.tp_setattro = set_attribute;
}
void add_leaf_attributes(PyTypeObject& type) { type.tp_getset = leaf_properties; }

}  // namespace clew::bind
