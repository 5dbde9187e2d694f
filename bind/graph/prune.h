// clew.graph.free, clew.graph.cut, backward(keep=).
#pragma once
#include <Python.h>

#include <vector>

#include "core/tensor/tensor.h"

namespace clew::bind {

// Of a list of tensors and nodes: their nodes. Leaves have none.
std::vector<NodeRef> nodes_of_list(PyObject* list);

void init_prune(PyObject* module);

}  // namespace clew::bind
