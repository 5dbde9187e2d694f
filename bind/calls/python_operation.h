// Operations of the registry whose forward and rules are Python's (src/clew/_operation.py).
#pragma once
#include <Python.h>

namespace clew::bind {

void init_python_operations(PyObject* module);

}  // namespace clew::bind
