// Public functions that are written in Python, as callables that ask the classes of their arguments first.
//
// Note [Overridable functions]
// A function in Python that users know gets this callable around it where it becomes public: in the namespace, or as a
// method of Tensor. On plain tensors that costs a look at the type of each argument. Inside the package, functions call
// each other as they are. Whatever is asked of the callable besides is asked of the function: its signature, its
// documentation, even its class.
#pragma once
#include <Python.h>

#include "bind/calls/operation.h"

namespace clew::bind {

extern PyTypeObject overridable_type;

// The function of an overridable one, borrowed; null for any other object.
PyObject* function_of_overridable(PyObject* object);
AutocastRule& autocast_rule_of_overridable(PyObject* object);
// What is put into Tensor under this name: public functions and properties of Python are made overridable, anything
// else is given back. A new reference.
PyObject* overridable_member(const char* name, PyObject* value);

void init_overridable(PyObject* module);

}  // namespace clew::bind
