// For those who look while the engine works: memory over time, a backward run node by node.
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_watching(nanobind::module_& m);

}  // namespace clew::bind
