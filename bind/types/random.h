// Random generators as Python objects.
#pragma once
#include <Python.h>

namespace clew::bind {

void init_random(PyObject* module);

}  // namespace clew::bind
