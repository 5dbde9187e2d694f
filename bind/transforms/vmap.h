// Batches and batched tensors, for src/clew/func: Note [Batched tensors].
#pragma once
#include <cstdint>

#include <nanobind/nanobind.h>

namespace clew::bind {

void init_vmap(nanobind::module_& module);
// Whether the graph of the roots (a list of tensors), up to these leaves, has nodes that are older than `began`.
bool leads_before(PyObject* roots, PyObject* leaves, std::uint64_t began);

}  // namespace clew::bind
