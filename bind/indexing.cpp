#include "bind/indexing.h"

namespace clew::bind {
PyObject* tensor_getitem(PyObject*, PyObject*) { PyErr_SetString(PyExc_NotImplementedError, "indexing"); return nullptr; }
int tensor_setitem(PyObject*, PyObject*, PyObject*) { PyErr_SetString(PyExc_NotImplementedError, "indexing"); return -1; }
}  // namespace clew::bind
