// Factors and triangular systems for the operations of src/clew/linalg.
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_linear_systems(nanobind::module_& module);

}  // namespace clew::bind
