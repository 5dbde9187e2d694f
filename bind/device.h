// Where tensors are: bind/device.cpp.
#pragma once
#include <Python.h>

namespace clew::bind {

void init_devices(PyObject* module);

}  // namespace clew::bind
