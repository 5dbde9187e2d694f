// What errors of a backward say beyond what the engine knows: where history was lost, and what to do.
#pragma once
#include <Python.h>

#include <vector>

#include "core/tensor/tensor.h"

namespace clew::bind {

// The nodes that a backward of these tensors starts from, as a tuple.
PyObject* root_nodes(const std::vector<Tensor>& roots);
// Root i has no history. Throws.
[[noreturn]] void raise_no_grad(const Tensor& root, std::size_t i);
// Gives the Python error that is set, if it is about a freed graph, what only the whole backward shows: what is shared
// with the earlier one, and the smallest repair.
void tell_what_to_do(const std::vector<Tensor>& roots, bool keep_graph);

}  // namespace clew::bind
