// Dual levels and tangents, for src/clew/autograd/forward_ad.py and clew.func: Note [Dual levels].
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_forward_mode(nanobind::module_& module);

}  // namespace clew::bind
