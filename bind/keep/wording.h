// What a call was given, in words: `why()` tells variants apart by it.
#pragma once
#include <Python.h>

#include <string>

#include "bind/keep/arguments.h"

namespace clew::bind {

// "(float32[8, 4] requires_grad, 3, mode='train')": what the key of the call is made of. No Python of the user's runs.
// A float that is an argument itself is kFloat, as it is seen only later whether it is followed.
std::string wording_of_call(PyObject* positional, PyObject* named);
inline constexpr char kFloat = '\1';
std::string short_repr(PyObject* atom);

}  // namespace clew::bind
