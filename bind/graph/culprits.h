// What errors of a backward say beyond what the engine knows: where history was lost, and what to do.
#pragma once
#include <Python.h>

#include <cstdint>
#include <vector>

#include "core/tensor/tensor.h"

namespace clew::bind {

// The nodes that the gradients of these tensors go to, as a tuple: those that a backward of them starts from. A view
// without history has none.
PyObject* nodes_of(const std::vector<Tensor>& tensors);
// Root i has no history. Throws.
[[noreturn]] void raise_no_grad(const Tensor& root, std::size_t i);
// Gives the Python error that is set, if it is about a freed graph, what only the whole backward shows: what is shared
// with the earlier one, and the smallest repair. `began` is what the graph's clock was when the backward began.
void tell_what_to_do(const std::vector<Tensor>& roots, const std::vector<Tensor>& inputs, std::uint64_t began,
                     bool keep_graph);

}  // namespace clew::bind
