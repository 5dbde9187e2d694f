// Steps of programs that call Python.
#pragma once
#include <nanobind/nanobind.h>

#include "core/ops/opdef.h"

namespace clew::bind {

// Their operation. Its attributes are a pointer to what they call, which the program holds.
const OpDef& python_step_operation();

void init_python_steps(nanobind::module_& module);

}  // namespace clew::bind
