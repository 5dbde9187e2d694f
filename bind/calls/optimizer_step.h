// Steps of optimizers, one call for a list of parameters.
#pragma once
#include <Python.h>

namespace clew::bind {

void init_optimizer_step(PyObject* module);

}  // namespace clew::bind
