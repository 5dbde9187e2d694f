// Where tensors are: bind/types/device.cpp.
#pragma once
#include <Python.h>

namespace clew::bind {

void init_devices(PyObject* module);

}  // namespace clew::bind
