#include "bind/data/from_numpy.h"

#include <cstring>
#include <unordered_map>
#include <utility>

#include "bind/data/buffer.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/creation/constant.h"
#include "core/ops/dispatch.h"

namespace clew::bind {
namespace {

LayoutRef layout_of(const Py_buffer& buffer) {
    Dims sizes, strides;
    for (int i = 0; i < buffer.ndim; ++i) {
        sizes.push_back(buffer.shape[i]);
        if (buffer.strides[i] % buffer.itemsize)
            fail(ErrorKind::Value,
                 "from_numpy: given numpy array strides not a multiple of the element byte size. Copy numpy array to "
                 "reallocate the memory.");
        if (buffer.strides[i] < 0 && buffer.shape[i] > 1)
            fail(ErrorKind::Value,
                 "from_numpy: at least one stride in the given numpy array is negative, and tensors with negative "
                 "strides are not "
                 "currently supported. (You can probably work around this by making a copy of your array with "
                 "array.copy().)");
        strides.push_back(buffer.shape[i] > 1 ? buffer.strides[i] / buffer.itemsize : 1);
    }
    LayoutRef layout = Layout::make(sizes, strides);
    return layout->contiguous ? Layout::make(sizes) : layout;
}

// Note [Shared foreign memory]
// Two tensors over one NumPy array must share a storage, or a write through one would be unseen by a graph that saved
// the other. So a storage wraps the array that owns the memory (the end of the chain of bases), and one table says
// which arrays have one. An array that looks at a tensor's memory leads back to that tensor's storage. Each from_numpy
// has a version counter of its own.
struct Foreign {
    Py_buffer buffer;
    PyObject* root;
};
std::unordered_map<PyObject*, Storage*>& foreign_storages() {
    static auto* const table = new std::unordered_map<PyObject*, Storage*>;
    return *table;
}

void free_foreign(void* context) {
    auto* foreign = static_cast<Foreign*>(context);
    foreign_storages().erase(foreign->root);
    PyBuffer_Release(&foreign->buffer);
    Py_DECREF(foreign->root);
    delete foreign;
}

StorageRef storage_over(PyObject* root) {
    if (exporter(root)) return exported_storage(root);
    auto& table = foreign_storages();
    if (const auto it = table.find(root); it != table.end()) return StorageRef(it->second);
    auto* foreign = new Foreign{{}, nullptr};
    if (PyObject_GetBuffer(root, &foreign->buffer, PyBUF_STRIDES | PyBUF_FORMAT) < 0) {
        delete foreign;
        throw PythonError();
    }
    foreign->root = Py_NewRef(root);
    std::int64_t reach = foreign->buffer.itemsize;
    for (int i = 0; i < foreign->buffer.ndim; ++i) {
        if (foreign->buffer.shape[i] == 0) reach = 0;
        reach +=
            foreign->buffer.strides[i] > 0 && reach ? (foreign->buffer.shape[i] - 1) * foreign->buffer.strides[i] : 0;
    }
    StorageRef storage = Storage::wrap(foreign->buffer.buf, reach, free_foreign, foreign);
    table.emplace(root, storage.get());
    return storage;
}

// NumPy takes any byte but 0 for true, kernels know 0 and 1 only.
void normalise_bools(const Py_buffer& buffer, const Layout& layout) {
    const kernels::View bytes{buffer.buf, DType::UInt8, layout.ndim, layout.sizes(), layout.strides().data()};
    const LayoutRef dense = Layout::make(layout.shape());
    const auto read = [&](const Tensor& out) { kernels::copy(out.view(), bytes); };
    const Tensor truth = constant(dense, DType::Bool, read), plain = constant(dense, DType::UInt8, read);
    if (std::memcmp(truth.data(), plain.data(), static_cast<std::size_t>(layout.numel)) == 0) return;
    if (buffer.readonly)
        fail(ErrorKind::Value,
             "from_numpy: expected a bool array of bytes 0 and 1, got others in one that is not writable; copy the "
             "array with array.astype(bool, copy=True) or give it to tensor()");
    constant(dense, DType::Bool, [&](const Tensor&) { kernels::copy(bytes, truth.view()); });
}

}  // namespace

Handle root_of(PyObject* array) {
    constexpr int kLongestChain = 64;
    static PyObject* const name = PyUnicode_InternFromString("base");
    Handle root = Handle::borrow(array);
    for (int step = 0; step < kLongestChain; ++step) {
        auto* object = static_cast<PyObject*>(root.get());
        if (exporter(object)) return root;
        PyObject* base =
            PyMemoryView_Check(object) ? Py_XNewRef(PyMemoryView_GET_BASE(object)) : PyObject_GetAttr(object, name);
        if (base == nullptr) {
            if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError();
            PyErr_Clear();
            return root;
        }
        Handle held = Handle::steal(base);
        if (base == Py_None || (!PyMemoryView_Check(base) && !as_tensor(base) && !is_array(base))) return root;
        root = std::move(held);
    }
    return Handle::borrow(array);
}

Ref<HistoryBreak> lost_by_array(PyObject* root, const char* how) {
    TensorObject* source = exporter(root);
    if (source && source->lost) return source->lost;
    Ref<HistoryBreak> lost = HistoryBreak::make(how);
    lost->may_be_data = true;
    return lost;
}

PyObject* from_numpy(PyObject*, PyObject* array) {
    return guarded([&]() -> PyObject* {
        if (!is_array(array) || !PyObject_CheckBuffer(array) || as_tensor(array))
            fail(ErrorKind::Type, "from_numpy: expected np.ndarray (got %s)", Py_TYPE(array)->tp_name);
        Buffer buffer(array, PyBUF_STRIDES | PyBUF_FORMAT);
        if (buffer->readonly)
            checked(PyErr_WarnEx(PyExc_UserWarning,
                                 "The given NumPy array is not writable, and clew does not support non-writable "
                                 "tensors. Writing to the tensor "
                                 "would write to the array; copy the array to protect its data.",
                                 1));
        const DType dtype = dtype_of_format(*buffer);
        LayoutRef layout = layout_of(*buffer);
        if (dtype == DType::Bool) normalise_bools(*buffer, *layout);
        const Handle held = root_of(array);
        auto* root = static_cast<PyObject*>(held.get());
        StorageRef storage = storage_over(root);
        std::int64_t bytes = static_cast<char*>(buffer->buf) - storage->data;
        if (layout->numel == 0) bytes = 0;
        const std::int64_t reach = layout->numel ? (extent(*layout).high + 1) * buffer->itemsize : 0;
        // A class may name a base whose memory is not its own.
        if (bytes < 0 || bytes % buffer->itemsize || bytes + reach > storage->bytes) {
            storage = storage_over(array);
            bytes = static_cast<char*>(buffer->buf) - storage->data;
            check_inside_storage("from_numpy", *layout, bytes / buffer->itemsize, dtype, *storage);
        }
        TensorObject* made = new_tensor_object();
        Tensor result = Tensor::steal(made);
        made->storage = std::move(storage);
        made->layout = std::move(layout);
        made->offset = bytes / buffer->itemsize;
        made->dtype = dtype;
        own_version(result, 0);
        made->lost = lost_by_array(root, "from_numpy");
        announce_constant(result);
        return wrap(result);
    });
}

}  // namespace clew::bind
