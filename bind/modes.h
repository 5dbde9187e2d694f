// Modes, counters and settings as plain functions of the module.
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_modes(nanobind::module_& module);

}  // namespace clew::bind
