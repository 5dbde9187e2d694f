// Interpreters written in Python: Note [Interpreters].
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_interpreter(nanobind::module_& module);

}  // namespace clew::bind
