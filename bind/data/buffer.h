// Other libraries' memory, as the buffer protocol shows it.
#pragma once
#include <Python.h>

#include "bind/errors.h"
#include "core/base/dtype.h"

namespace clew::bind {

class Buffer {
public:
    Buffer(PyObject* object, int flags) { checked(PyObject_GetBuffer(object, &buffer_, flags)); }
    ~Buffer() {
        if (buffer_.obj) PyBuffer_Release(&buffer_);
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    Py_buffer* operator->() { return &buffer_; }
    Py_buffer& operator*() { return buffer_; }

private:
    Py_buffer buffer_{};
};

// Fails for types that tensors cannot have.
DType dtype_of_format(const Py_buffer& buffer);

// An array or a scalar of NumPy's, or what its type says is as good. Asked of the type: an array would build the dict.
bool is_array(PyObject* object);

}  // namespace clew::bind
