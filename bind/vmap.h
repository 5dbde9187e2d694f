// Batches and batched tensors, for src/clew/func: Note [Batched tensors].
#pragma once
#include <nanobind/nanobind.h>

namespace clew::bind {

void init_vmap(nanobind::module_& module);

}  // namespace clew::bind
