// dtype and device as Python objects.
#pragma once
#include <Python.h>

#include <optional>

#include "core/base/dtype.h"

namespace clew::bind {

void init_dtypes(PyObject* module);
PyObject* dtype_object(DType dtype);  // a new reference
// Empty if the object is no dtype.
std::optional<DType> dtype_from(PyObject* object);
void set_default_dtype(DType dtype);

}  // namespace clew::bind
