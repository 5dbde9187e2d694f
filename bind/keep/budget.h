// clew.memory.budget: what src/clew/graph/memory/budget.py stands on.
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_budget(nanobind::module_& module);

}  // namespace clew::bind
