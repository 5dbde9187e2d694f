#pragma once
#include <Python.h>

namespace clew::bind {

void init_modes(PyObject* module);

}  // namespace clew::bind
