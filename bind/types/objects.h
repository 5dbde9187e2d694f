// The two hot Python types and how C++ sees their objects.
#pragma once
#include <Python.h>

#include <cstddef>

#include "core/autograd/node.h"
#include "core/tensor/tensor.h"

namespace clew::bind {

static_assert(sizeof(Object) == sizeof(PyObject));
static_assert(offsetof(Object, type) == offsetof(PyObject, ob_type));

extern PyTypeObject tensor_type;
extern PyTypeObject node_type;  // the base of all
// The class of the nodes of that name ("MulBackward0"): one for each name, for good.
PyTypeObject* node_class(const char* name);

inline PyObject* as_object(PyTypeObject* type) { return reinterpret_cast<PyObject*>(type); }
inline PyObject* as_object(Object* object) { return reinterpret_cast<PyObject*>(object); }
inline PyObject* as_object(const Handle& handle) { return static_cast<PyObject*>(handle.get()); }

inline bool is_exact_tensor(PyObject* object) { return Py_TYPE(object) == &tensor_type; }
// Borrowed; null if it is no Tensor.
inline TensorObject* as_tensor(PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    if (type == &tensor_type || ((type->tp_flags & Py_TPFLAGS_HEAPTYPE) && PyType_IsSubtype(type, &tensor_type)))
        return reinterpret_cast<TensorObject*>(object);
    return nullptr;
}
// A TypeError that names `op` if it is none.
Tensor tensor_from(PyObject* object, const char* op);
inline Node* as_node(PyObject* object) {
    return PyObject_TypeCheck(object, &node_type) ? reinterpret_cast<Node*>(object) : nullptr;
}

// A new reference; an empty handle gives None.
inline PyObject* wrap(Tensor tensor) {
    if (!tensor) Py_RETURN_NONE;
    return as_object(tensor.detach());
}
inline PyObject* wrap(NodeRef node) {
    if (!node) Py_RETURN_NONE;
    return as_object(node.detach());
}

// A Python number as a 0-dim tensor that yields in type promotion; throws if it is none.
Tensor tensor_from_number(PyObject* number);
bool is_number(PyObject* object);
bool is_complex_number(PyObject* object);
// clew.tensor(data): numbers, nested sequences, NumPy arrays, tensors.
Tensor tensor_from_python(PyObject* data);

// The number in a one-element tensor as a Python int, float or bool.
PyObject* item(const Tensor& tensor);
PyObject* plain_tuple(Sizes sizes);
PyObject* size_tuple(Sizes sizes);  // a clew.Size

void init_tensor_type(PyObject* module);
void init_node_type(PyObject* module);
void init_collector();
void init_runtime();
// Shows a tensor to the collector because it holds Python things now.
void track_tensor(TensorObject* self);
// Something below existing nodes became visible to the collector: look again before the next full collection.
void note_late_python();

}  // namespace clew::bind
