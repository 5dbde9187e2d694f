// autograd.Function: nodes whose rule is Python.
#pragma once
#include <Python.h>

#include "core/autograd/node.h"

namespace clew::bind {

const NodeKind* function_kind_of(PyTypeObject* type);  // from the class attribute _kind
void init_function(PyObject* module);

}  // namespace clew::bind
