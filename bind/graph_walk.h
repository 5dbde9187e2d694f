// Walks over a graph that answer questions about it without making a Python object for each node.
#pragma once
#include <Python.h>

namespace clew::bind {

void init_graph_walk(PyObject* module);

}  // namespace clew::bind
