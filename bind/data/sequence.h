// Tensors of Python's numbers and of nested sequences of them.
#pragma once
#include <Python.h>

#include <optional>

#include "core/tensor/tensor.h"

namespace clew::bind {

// What `tensor(data)` makes of anything but a tensor or an array. Without a dtype it is the one that all elements
// promote to.
Tensor tensor_from_sequence(PyObject* data, std::optional<DType> dtype);

// tensor() copies values, never history.
Ref<HistoryBreak> lost_by_copy(const Tensor& source);

}  // namespace clew::bind
