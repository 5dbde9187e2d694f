// An operation that a program recorded, or that runs right now, run once more on other tensors.
#pragma once
#include <nanobind/nanobind.h>

#include "core/ops/opdef.h"

namespace clew::bind {

// Runs the operation of `call` on `inputs` instead of its own. Nobody looks on, and no graph is recorded. With `wide`,
// dtypes among its attributes become float64 or complex128. The results; what it writes in place is written.
nanobind::list repeat(const OpCall& call, nanobind::list inputs, bool wide);

}  // namespace clew::bind
