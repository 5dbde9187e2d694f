// What tensors have besides operations: properties and the methods that are not in the registry.
#pragma once
#include <Python.h>

#include "core/tensor/tensor.h"

namespace clew::bind {

// For methods, whose self is a tensor for certain.
inline TensorObject* self_of(PyObject* object) { return reinterpret_cast<TensorObject*>(object); }
inline Tensor tensor_of(PyObject* object) { return Tensor(self_of(object)); }

void add_tensor_attributes(PyTypeObject& type);  // getset, methods, tp_new, attribute access
PyBufferProcs* tensor_buffer_methods();          // tensor_buffer.cpp
void bind_operators();                           // after init_operations

extern PyMethodDef tensor_methods[];

// subclass.cpp. A new object of a subclass (or of Tensor itself) on the same memory, without history.
PyObject* make_subclass(PyTypeObject* type, PyObject* data, bool requires_grad);
PyObject* tensor_new(PyTypeObject* type, PyObject* args, PyObject* kwargs);
PyObject* make_subclass_method(PyObject* unused, PyObject* args);
PyObject* as_subclass_method(PyObject* self, PyObject* type);
PyObject* make_sparse(PyObject* unused, PyObject* args);

// tensor_hooks.cpp
PyObject* add_tensor_hook(PyObject* self, PyObject* function);
PyObject* add_accumulate_hook(PyObject* self, PyObject* function);
PyObject* remove_hook_method(PyObject* unused, PyObject* args);
PyObject* add_node_hook(PyObject* unused, PyObject* args);
PyObject* gradient_edge_method(PyObject* self, PyObject* unused);

}  // namespace clew::bind
