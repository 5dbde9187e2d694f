// x[key] and x[key] = value.
//
// Note [Reading a key]
// A key is read from left to right, as PyTorch does. Integers, slices, None and ... make views; each tensor (list,
// array, mask, True or False) is noted with the axis that it stands at. If there was one, what the views left is then
// indexed with all of them at once (see Note [Advanced indexing] in core/ops/indexing/index_plan.h). To assign, the
// value is copied into the view or put at the indices.
#pragma once
#include <Python.h>

namespace clew::bind {

PyObject* tensor_getitem(PyObject* self, PyObject* key);
int tensor_setitem(PyObject* self, PyObject* key, PyObject* value);

}  // namespace clew::bind
