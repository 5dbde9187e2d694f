// autograd.Function: nodes whose rule is Python.
#pragma once
#include <Python.h>

#include "core/autograd/node.h"

namespace clew::bind {

const NodeKind* function_kind_of(PyTypeObject* type);  // from the class attribute _kind
// rule(gradients, needs) -> a gradient or None for each input
void call_python_rule(BackwardCall& call, PyObject* rule);
void init_function(PyObject* module);

}  // namespace clew::bind
