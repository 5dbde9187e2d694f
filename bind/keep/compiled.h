// clew.compile: Note [Keys], Note [Watching], Note [Guards of Python], Note [Outcome].
#pragma once
#include "bind/graph/frame.h"

#include <nanobind/nanobind.h>

namespace clew::bind {

void init_compile(nanobind::module_& module);
PyObject* function_of_compiled(PyObject* object);  // borrowed; null if it is no compiled function

}  // namespace clew::bind
