// backward() and grad() as Python calls them.
#pragma once
#include <Python.h>

#include <vector>

#include "core/autograd/engine.h"

namespace clew::bind {

// tensor.backward(gradient, retain_graph, create_graph, inputs): the arguments are as Python gave them, null where it
// gave none.
void tensor_backward(const Tensor& root, PyObject* gradient, PyObject* retain_graph, PyObject* create_graph,
                     PyObject* inputs);
// The same backward, one node at a time.
std::unique_ptr<SteppedBackward> stepped_backward(PyObject* tensors, PyObject* gradients, PyObject* retain_graph,
                                                  PyObject* create_graph);

void init_backward(PyObject* module);

}  // namespace clew::bind
