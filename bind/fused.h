// Whole optimiser steps, one call for a list of parameters.
#pragma once
#include <Python.h>

namespace clew::bind {

void init_fused(PyObject* module);

}  // namespace clew::bind
