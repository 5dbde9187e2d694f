#include "bind/node_attributes.h"

#include <cstring>
#include <string>

#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/function.h"
#include "bind/objects.h"
#include "bind/site.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"
#include "core/ops/opdef.h"

namespace clew::bind {
namespace {

Node* self_of(PyObject* object) { return reinterpret_cast<Node*>(object); }

bool is_operation(const Node* node) {
    return !node->has(Node::kAccumulate) && !node->has(Node::kFunction) && node->extras == nullptr
               ? true
               : node->kind->input_name != nullptr;
}

PyObject* name_method(PyObject* self, PyObject*) { return node_display_name(self_of(self)); }

PyObject* get_op(PyObject* self, void*) { return PyUnicode_FromString(self_of(self)->kind->name); }
PyObject* get_made_at(PyObject* self, void*) { return site_object({self_of(self)->code, self_of(self)->instruction}); }
PyObject* get_sequence(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(self_of(self)->sequence); }
PyObject* sequence_method(PyObject* self, PyObject*) { return get_sequence(self, nullptr); }
PyObject* get_bytes(PyObject* self, void*) { return PyLong_FromSize_t(node_bytes(*self_of(self))); }

PyObject* get_next(PyObject* object, void*) {
    Node* self = self_of(object);
    PyObject* tuple = PyTuple_New(self->edge_count);
    for (std::uint32_t i = 0; tuple && i < self->edge_count; ++i) {
        const Edge edge = self->edge(static_cast<int>(i));
        PyTuple_SET_ITEM(tuple, i, Py_BuildValue("NI", wrap(NodeRef(edge.node)), edge.index));
    }
    return tuple;
}

PyObject* get_variable(PyObject* object, void*) {
    Node* self = self_of(object);
    if (!self->has(Node::kAccumulate)) {
        PyErr_SetString(PyExc_AttributeError, "variable: only AccumulateGrad nodes have a leaf");
        return nullptr;
    }
    return wrap(Tensor(self->outputs()[0].tensor));
}

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

const char* state_name(SlotState state) {
    constexpr const char* names[] = {"empty", "held", "packed", "freed"};
    return names[static_cast<int>(state)];
}

// Kept from the first use: a ledger asks for many.
PyObject* record_type(const char* name) {
    static PyObject* const module = checked(PyImport_ImportModule("clew.graph.records"));
    static PyObject* const slot = checked(PyObject_GetAttrString(module, "SavedSlot"));
    static PyObject* const release = checked(PyObject_GetAttrString(module, "Release"));
    return std::strcmp(name, "SavedSlot") == 0 ? slot : release;
}

PyObject* slot_record(Node& node, SavedSlot& slot) {
    const Storage* storage = slot.held_storage();
    const auto view_bytes = slot.layout->numel * static_cast<std::int64_t>(item_size(slot.dtype));
    PyObject* record = PyObject_CallFunction(
        record_type("SavedSlot"), "sNNLLsNIIO", slot_name(node, slot), plain_tuple(slot.layout->shape()),
        dtype_object(slot.dtype), static_cast<long long>(storage ? storage->bytes : view_bytes),
        static_cast<long long>(view_bytes), state_name(slot.state), PyLong_FromVoidPtr(const_cast<Storage*>(storage)),
        slot.version, current_version(slot), storage && storage->foreign ? Py_True : Py_False);
    return checked(record);
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
            PyObject* record = slot_record(*owner, slot);
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
    {"variable", get_variable, nullptr, "AccumulateGrad: the leaf, or None when it is gone", nullptr},
    {"metadata", get_metadata, nullptr, "a dict for the user's notes", nullptr},
    {"saved", get_saved, nullptr, "what it saved: one record for each slot", nullptr},
    {"released", get_released, nullptr, "the call that dropped what it saved, or None", nullptr},
    {"outputs", get_outputs, nullptr, "shape and dtype of each output", nullptr},
    {"nbytes", get_bytes, nullptr, "bytes of the node itself", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef methods[] = {
    {"name", name_method, METH_NOARGS, "PyTorch's name of the node."},
    {"_sequence_nr", sequence_method, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

void read_attribute_field(const OpDef& def, Node& node, std::size_t field, PyObject*& result) {
    Value value;
    def.fields[field].get(node.attributes(), value);
    switch (value.tag) {
        case Value::None:
            result = Py_NewRef(Py_None);
            break;
        case Value::Bool:
            result = PyBool_FromLong(value.integer != 0);
            break;
        case Value::Int:
            result = PyLong_FromLongLong(value.integer);
            break;
        case Value::Float:
            result = PyFloat_FromDouble(value.real);
            break;
        case Value::IntList:
            result = plain_tuple(value.dims);
            break;
        case Value::Text:
            result = PyUnicode_FromString(value.text.data);
            break;
        case Value::DType:
            result = dtype_object(static_cast<DType>(value.integer));
            break;
    }
}

// _saved_<name>: a saved tensor, or an attribute of the operation. Null without an error if there is none.
PyObject* saved_value(Node& node, const char* name) {
    for (int i = 0; i < node.slot_count; ++i) {
        SavedSlot& slot = node.slots()[i];
        if (slot.state == SlotState::Empty || std::strcmp(slot_name(node, slot), name) != 0) continue;
        return wrap(unpack(node, slot));
    }
    if (!is_operation(&node) || node.has(Node::kFunction)) return nullptr;
    const auto& def = static_cast<const OpDef&>(*node.kind);
    // What another call would have saved, but no input of this one needed.
    for (const Saves& saves : def.saved_by_rule) {
        for (int i = 0; i < 32; ++i) {
            if ((saves.inputs >> i & 1) && std::strcmp(def.input_name(def, i), name) == 0) Py_RETURN_NONE;
            if ((saves.outputs >> i & 1) && std::strcmp(def.output_name(def, i), name) == 0) Py_RETURN_NONE;
        }
    }
    std::size_t field = 0;
    PyObject* result = nullptr;
    for (const Argument& argument : def.schema.arguments) {
        if (argument.type == ArgType::Tensor || argument.type == ArgType::Operand ||
            argument.type == ArgType::TensorList)
            continue;
        if (argument.name == name) {
            read_attribute_field(def, node, field, result);
            return result;
        }
        ++field;
    }
    return nullptr;
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
    if (Py_TYPE(object) != &node_type || _PyType_Lookup(&node_type, name))
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

PyObject* release_object(const Release* record) {
    return checked(PyObject_CallFunction(record_type("Release"), "sNK", record->kind, site_object(record->site),
                                         static_cast<unsigned long long>(record->serial)));
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

}  // namespace clew::bind
