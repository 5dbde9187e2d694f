// x[key] and x[key] = value.
#pragma once
#include <Python.h>

namespace clew::bind {

PyObject* tensor_getitem(PyObject* self, PyObject* key);
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);

}  // namespace clew::bind
