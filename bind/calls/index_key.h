// A key in x[key], taken apart.
#pragma once
#include <Python.h>

#include <vector>

#include "core/tensor/tensor.h"

namespace clew::bind {

// One position or one slice of an axis, as views. `real_axis` is what an error says.
Tensor select_position(const Tensor& x, int axis, PyObject* integer, int real_axis);
Tensor take_slice(const Tensor& x, int axis, PyObject* slice, bool keep_full);

// What a key selects: a view of x, and the tensors (with empty handles for whole axes) that index it further.
struct Selection {
    Tensor view;
    std::vector<Tensor> indices;
};
Selection select(const Tensor& x, PyObject* key);

}  // namespace clew::bind
