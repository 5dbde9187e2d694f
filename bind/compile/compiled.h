// clew.compile: Note [Keys], Note [Watching], Note [Witnesses of Python], Note [Outcome].
#pragma once
#include "bind/frame.h"

#include <nanobind/nanobind.h>

namespace clew::bind {

void init_compile(nanobind::module_& module);

}  // namespace clew::bind
