// Memory that tensors share with others: NumPy's that a tensor looks at, a tensor's that NumPy looks at.
#pragma once
#include <Python.h>

#include "core/tensor/tensor.h"

namespace clew::bind {

// The tensor whose memory this object exports (tensor_buffer.cpp): itself, or what a memoryview was made of. Null if
// none.
TensorObject* exporter(PyObject* object);
// The memory that it exports, which is not always what the tensor has now.
const StorageRef& exported_storage(PyObject* object);

// The end of the chain of bases. NumPy's chains are short; one that is not is somebody's class, and counts for itself.
Handle root_of(PyObject* array);
// What was computed in NumPy has no history, wherever its data came from.
Ref<HistoryBreak> lost_by_array(PyObject* root, const char* how);

PyObject* from_numpy(PyObject* unused, PyObject* array);

}  // namespace clew::bind
