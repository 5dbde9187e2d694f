// Kept programs: clew._core.Program, on which src/clew/keep stands.
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_program(nanobind::module_& module);

}  // namespace clew::bind
