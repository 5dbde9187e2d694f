// What tensors have besides operations: properties and the methods that are not in the registry.
#pragma once
#include <Python.h>

namespace clew::bind {

void add_tensor_attributes(PyTypeObject& type);  // getset, methods, tp_new, attribute access
PyBufferProcs* tensor_buffer_methods();          // interop.cpp
void bind_operators();                           // after init_operations

// A new object of a subclass (or of Tensor itself) on the same memory, without history.
PyObject* make_subclass(PyTypeObject* type, PyObject* data, bool requires_grad);

}  // namespace clew::bind
