// What nodes show to Python.
#pragma once
#include <Python.h>

#include "core/autograd/node.h"

namespace clew::bind {

void add_node_attributes(PyTypeObject& type);
PyObject* node_new(PyTypeObject* type, PyObject* args,
                   PyObject* kwargs);             // subclasses only: autograd.Function's contexts
PyObject* node_display_name(Node* node);          // "MulBackward0"
PyObject* release_object(const Release* record);  // a clew.graph.records.Release

}  // namespace clew::bind
