// The buffer protocol: tensors as memory that others may look at.
#include "bind/data/from_numpy.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/types/tensor_attributes.h"
#include "core/ops/dispatch.h"
#include "core/program/record/weak_bindings.h"

namespace clew::bind {
namespace {

// What a buffer looks at stays as long as the buffer does: the tensor may get other memory meanwhile (`x.data = y`).
struct Export {
    StorageRef storage;
    Py_ssize_t geometry[2 * kMaxDims];  // sizes, then strides in bytes
};

int get_buffer(PyObject* self, Py_buffer* buffer, int flags) {
    auto* tensor = reinterpret_cast<TensorObject*>(self);
    const Layout& layout = *tensor->layout;
    if (Tensor(tensor).requires_grad()) {
        PyErr_SetString(
            PyExc_BufferError,
            "buffer: the tensor requires grad, and writes to the buffer would not be recorded; use tensor.detach()");
        return -1;
    }
    if (*info(tensor->dtype).format == '\0') {
        PyErr_Format(
            PyExc_TypeError,
            "Got unsupported ScalarType BFloat16: buffers and NumPy have no such format; cast with .float() first");
        return -1;
    }
    if (!layout.contiguous && (flags & PyBUF_STRIDES) != PyBUF_STRIDES) {
        PyErr_SetString(PyExc_BufferError,
                        "buffer: the tensor is not contiguous; ask for strides, or call contiguous()");
        return -1;
    }
    const std::int64_t bytes = bytes_of(Tensor(tensor));
    if (bytes > PY_SSIZE_T_MAX / 2) {
        PyErr_SetString(PyExc_BufferError, "buffer: the tensor repeats its memory more often than a buffer can count");
        return -1;
    }
    const auto given_out = [&] { return note_given_out(escape(Tensor(tensor), Read::Buffer)), true; };
    if (!guarded(given_out)) return -1;
    auto* exported = new Export{tensor->storage, {}};
    Py_ssize_t* geometry = exported->geometry;
    const auto size = static_cast<Py_ssize_t>(item_size(tensor->dtype));
    for (int i = 0; i < layout.ndim; ++i) {
        geometry[i] = layout.sizes()[i];
        geometry[layout.ndim + i] = layout.strides()[i] * size;
    }
    buffer->buf = Tensor(tensor).data();
    buffer->obj = Py_NewRef(self);
    buffer->len = bytes;
    buffer->itemsize = size;
    buffer->readonly = 0;
    buffer->ndim = layout.ndim;
    buffer->format = flags & PyBUF_FORMAT ? const_cast<char*>(info(tensor->dtype).format) : nullptr;
    buffer->shape = flags & PyBUF_ND ? geometry : nullptr;
    buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? geometry + layout.ndim : nullptr;
    buffer->suboffsets = nullptr;
    buffer->internal = exported;
    return 0;
}
void release_buffer(PyObject*, Py_buffer* buffer) { delete static_cast<Export*>(buffer->internal); }

PyBufferProcs buffer_methods = {get_buffer, release_buffer};

}  // namespace

PyBufferProcs* tensor_buffer_methods() { return &buffer_methods; }

TensorObject* exporter(PyObject* object) {
    return as_tensor(PyMemoryView_Check(object) ? PyMemoryView_GET_BASE(object) : object);
}

const StorageRef& exported_storage(PyObject* object) {
    if (PyMemoryView_Check(object))
        if (const auto* exported = static_cast<const Export*>(PyMemoryView_GET_BUFFER(object)->internal))
            return exported->storage;
    return exporter(object)->storage;
}

}  // namespace clew::bind
