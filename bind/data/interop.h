// Data in and out: Python numbers and lists, NumPy, the buffer protocol, DLPack.
#pragma once
#include <Python.h>

#include <optional>

#include "core/tensor/tensor.h"

namespace clew::bind {

PyObject* tensor_numpy(PyObject* self, PyObject* args, PyObject* kwargs);
PyObject* tensor_tolist(PyObject* self, PyObject* unused);
PyObject* list_of(const Tensor& tensor);  // what tolist() gives
// What `tensor(data)` makes.
Tensor make_tensor(PyObject* data, std::optional<DType> dtype);
void init_interop(PyObject* module);

}  // namespace clew::bind
