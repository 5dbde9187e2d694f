// What functions that walk over graphs take and give: sequences of tensors and nodes, dicts and lists.
#pragma once
#include <Python.h>

#include "bind/errors.h"
#include "bind/node_set.h"
#include "bind/objects.h"
#include "core/base/error.h"

namespace clew::bind {

// The nodes that one element of a sequence of tensors and nodes stands for.
template <class Visit>
void each_root_of(PyObject* object, const Visit& visit) {
    if (Node* node = as_node(object))
        visit(node);
    else if (TensorObject* tensor = as_tensor(object))
        each_root(*tensor, visit);
    else
        fail(ErrorKind::Type, "graph walk: expected tensors and nodes, got %s", Py_TYPE(object)->tp_name);
}

// A sequence whose elements stay where they are while it is read.
class Sequence {
public:
    explicit Sequence(PyObject* object) : tuple_(Handle::steal(checked(PySequence_Tuple(object)))) {}
    Py_ssize_t size() const { return PyTuple_GET_SIZE(get()); }
    PyObject* operator[](Py_ssize_t i) const { return PyTuple_GET_ITEM(get(), i); }

private:
    PyObject* get() const { return static_cast<PyObject*>(tuple_.get()); }
    Handle tuple_;
};

inline void walk_all(const Sequence& roots, Reach reach, NodeSet& seen) {
    for (Py_ssize_t i = 0; i < roots.size(); ++i) each_root_of(roots[i], [&](Node* node) { walk(node, reach, seen); });
}

inline void set_item(PyObject* dict, const char* key, PyObject* value) {
    const Handle held = Handle::steal(checked(value));
    checked(PyDict_SetItemString(dict, key, value));
}
inline void set_item(PyObject* dict, const char* key, std::int64_t value) {
    set_item(dict, key, PyLong_FromLongLong(value));
}
inline void append(PyObject* list, PyObject* item) {
    const Handle held = Handle::steal(checked(item));
    checked(PyList_Append(list, item));
}

}  // namespace clew::bind
