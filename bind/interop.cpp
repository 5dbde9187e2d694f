#include "bind/interop.h"

#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind/buffer.h"
#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/escapes.h"
#include "bind/objects.h"
#include "bind/sequence.h"
#include "bind/tensor_attributes.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/creation/constant.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

PyObject* size_type = nullptr;  // clew.Size

// ------------------------------------------------------------------------------------------------ buffer protocol
const char* format_of(DType dtype) {
    constexpr const char* formats[] = {"?", "B", "i", "l", "f", "d"};
    return formats[static_cast<int>(dtype)];
}

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
    if (!guarded([&] { return escape(Tensor(tensor), "buffer"), true; })) return -1;
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
    buffer->format = flags & PyBUF_FORMAT ? const_cast<char*>(format_of(tensor->dtype)) : nullptr;
    buffer->shape = flags & PyBUF_ND ? geometry : nullptr;
    buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? geometry + layout.ndim : nullptr;
    buffer->suboffsets = nullptr;
    buffer->internal = exported;
    return 0;
}
void release_buffer(PyObject*, Py_buffer* buffer) { delete static_cast<Export*>(buffer->internal); }

// The tensor whose memory this object exports: itself, or what a memoryview was made of.
TensorObject* exporter(PyObject* object) {
    return as_tensor(PyMemoryView_Check(object) ? PyMemoryView_GET_BASE(object) : object);
}
// The memory that it exports, which is not always what the tensor has now.
const StorageRef& exported_storage(PyObject* object) {
    if (PyMemoryView_Check(object))
        if (const auto* exported = static_cast<const Export*>(PyMemoryView_GET_BUFFER(object)->internal))
            return exported->storage;
    return exporter(object)->storage;
}

PyBufferProcs buffer_methods = {get_buffer, release_buffer};

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

// ------------------------------------------------------------------------------------------------ from_numpy
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

// The end of the chain of bases. NumPy's chains are short; one that is not is somebody's class, and counts for itself.
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

// What was computed in NumPy has no history, wherever its data came from.
Ref<HistoryBreak> lost_by_array(PyObject* root, const char* how) {
    TensorObject* source = exporter(root);
    if (source && source->lost) return source->lost;
    Ref<HistoryBreak> lost = HistoryBreak::make(how);
    lost->may_be_data = true;
    return lost;
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

// ------------------------------------------------------------------------------------------------ tensor
Tensor copy_of(const kernels::View& view, Sizes sizes, DType dtype) {
    return constant(Layout::make(sizes), dtype, [&](const Tensor& out) { kernels::copy(out.view(), view); });
}

// A copy of an array's elements, wherever they lie: the field of a record array is no whole number of items apart.
Tensor copy_of(Buffer& buffer, std::optional<DType> dtype) {
    const DType own = dtype_of_format(*buffer);
    Dims sizes, strides;
    bool regular = true;
    for (int i = 0; i < buffer->ndim; ++i) {
        sizes.push_back(buffer->shape[i]);
        strides.push_back(buffer->strides[i] / buffer->itemsize);
        regular &= buffer->strides[i] % buffer->itemsize == 0;
    }
    const DType stored = own == DType::Bool ? DType::UInt8 : own;  // NumPy takes any byte but 0 for true
    const DType wanted = dtype.value_or(own);
    Tensor dense;
    if (!regular || reinterpret_cast<std::uintptr_t>(buffer->buf) % static_cast<std::size_t>(buffer->itemsize)) {
        dense = empty(sizes, stored);
        checked(PyBuffer_ToContiguous(dense.data(), &*buffer, buffer->len, 'C'));
    }
    const kernels::View view =
        dense ? dense.view() : kernels::View{buffer->buf, stored, buffer->ndim, sizes.begin(), strides.begin()};
    return own == stored ? copy_of(view, sizes, wanted) : cast(copy_of(view, sizes, own), wanted);
}

Tensor make_tensor(PyObject* data, std::optional<DType> dtype) {
    if (TensorObject* object = as_tensor(data)) {
        const Tensor source(object);
        Tensor result = copy_as(source, dtype.value_or(source.dtype()));
        result->lost = lost_by_copy(source);
        return result;
    }
    if (PyObject_CheckBuffer(data) && is_array(data)) {
        Buffer buffer(data, PyBUF_STRIDES | PyBUF_FORMAT);
        Tensor result = copy_of(buffer, dtype);
        result->lost = lost_by_array(static_cast<PyObject*>(root_of(data).get()), "tensor");
        return result;
    }
    Tensor result = tensor_from_sequence(data, dtype);
    if (PyMemoryView_Check(data)) result->lost = lost_by_array(static_cast<PyObject*>(root_of(data).get()), "tensor");
    return result;
}

// tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False); device is checked in Python
PyObject* read_tensor(bool on_default_device, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"data", "dtype", "requires_grad", nullptr};
    PyObject *data, *dtype_argument = Py_None;
    int requires_grad = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|$Op:tensor", const_cast<char**>(names), &data, &dtype_argument,
                                     &requires_grad))
        return nullptr;
    return guarded([&]() -> PyObject* {
        std::optional<DType> dtype;
        if (dtype_argument != Py_None) {
            dtype = dtype_from(dtype_argument);
            if (!dtype)
                fail(ErrorKind::Type, "tensor: dtype must be a dtype, not %s", Py_TYPE(dtype_argument)->tp_name);
        }
        Tensor result = make_tensor(data, dtype);
        if (on_default_device && mode(kMakeMeta)) result = to_meta(result);
        if (requires_grad) set_requires_grad(result, true);
        return wrap(std::move(result));
    });
}

PyObject* py_tensor(PyObject*, PyObject* args, PyObject* kwargs) { return read_tensor(false, args, kwargs); }
PyObject* py_default_tensor(PyObject*, PyObject* args, PyObject* kwargs) { return read_tensor(true, args, kwargs); }

// ------------------------------------------------------------------------------------------------ to Python
PyObject* number_at(const char* data, DType dtype) {
    switch (dtype) {
        case DType::Bool:
            return PyBool_FromLong(*reinterpret_cast<const bool*>(data));
        case DType::UInt8:
            return PyLong_FromLong(*reinterpret_cast<const std::uint8_t*>(data));
        case DType::Int32:
            return PyLong_FromLong(*reinterpret_cast<const std::int32_t*>(data));
        case DType::Int64:
            return PyLong_FromLongLong(*reinterpret_cast<const std::int64_t*>(data));
        case DType::Float32:
            return PyFloat_FromDouble(static_cast<double>(*reinterpret_cast<const float*>(data)));
        default:
            return PyFloat_FromDouble(*reinterpret_cast<const double*>(data));
    }
}

PyObject* nested_list(const Tensor& tensor, int axis, const char* data) {
    if (axis == tensor.ndim()) return checked(number_at(data, tensor.dtype()));
    PyObject* list = checked(PyList_New(tensor.size(axis)));
    const Handle held = Handle::steal(list);
    const auto step = tensor.stride(axis) * static_cast<std::int64_t>(item_size(tensor.dtype()));
    for (std::int64_t i = 0; i < tensor.size(axis); ++i)
        PyList_SET_ITEM(list, i, nested_list(tensor, axis + 1, data + i * step));
    return Py_NewRef(list);
}

PyObject* set_size_type(PyObject*, PyObject* type) {
    Py_XSETREF(size_type, Py_NewRef(type));
    Py_RETURN_NONE;
}

// The types are static, so Python cannot add to them by assignment.
PyObject* add_to(PyTypeObject& type, PyObject* args) {
    PyObject *name, *value;
    if (!PyArg_ParseTuple(args, "UO", &name, &value)) return nullptr;
    if (PyDict_SetItem(type.tp_dict, name, value) < 0) return nullptr;
    PyType_Modified(&type);
    Py_RETURN_NONE;
}
PyObject* add_method(PyObject*, PyObject* args) { return add_to(tensor_type, args); }
PyObject* add_node_method(PyObject*, PyObject* args) { return add_to(node_type, args); }

PyMethodDef functions[] = {
    {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_tensor)), METH_VARARGS | METH_KEYWORDS,
     "As default_tensor, but on the CPU."},
    {"default_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_default_tensor)),
     METH_VARARGS | METH_KEYWORDS,
     "(data, *, dtype=None, requires_grad=False): a copy of data, on the default device."},
    {"from_numpy", from_numpy, METH_O, "from_numpy(ndarray, /)\n--\n\nA tensor on the array's memory."},
    {"set_size_type", set_size_type, METH_O, nullptr},
    {"add_method", add_method, METH_VARARGS, nullptr},
    {"add_node_method", add_node_method, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyBufferProcs* tensor_buffer_methods() { return &buffer_methods; }

bool is_number(PyObject* object) {
    if (PyFloat_Check(object) || PyLong_Check(object)) return true;
    if (as_tensor(object) || PyUnicode_Check(object) || PySequence_Check(object)) return false;
    return PyIndex_Check(object) ||
           (PyNumber_Check(object) && !PyComplex_Check(object) && PyObject_HasAttrString(object, "__float__") &&
            !PyObject_HasAttrString(object, "__len__"));
}

Tensor tensor_from_number(PyObject* number) {
    Tensor result;
    if (PyFloat_Check(number)) {
        result = scalar(PyFloat_AS_DOUBLE(number), DType::Float64);
        if (number == last_number) result->lost = last_read();
    } else if (PyBool_Check(number)) {
        result = scalar_int(number == Py_True, DType::Bool);
    } else if (PyLong_Check(number)) {
        const long long value = PyLong_AsLongLong(number);
        if (value == -1 && PyErr_Occurred()) throw PythonError();
        result = scalar_int(value, DType::Int64);
    } else {
        const Handle exact =
            Handle::steal(checked(PyIndex_Check(number) ? PyNumber_Index(number) : PyNumber_Float(number)));
        return tensor_from_number(static_cast<PyObject*>(exact.get()));
    }
    result->set(TensorObject::kWrappedNumber, true);
    return result;
}

Tensor tensor_from_python(PyObject* data) { return make_tensor(data, std::nullopt); }

PyObject* item(const Tensor& tensor) {
    if (tensor.numel() != 1)
        fail(ErrorKind::Runtime, "item: a Tensor with %lld elements cannot be converted to Scalar",
             static_cast<long long>(tensor.numel()));
    escape(tensor, "item");
    PyObject* number = checked(number_at(tensor.data(), tensor.dtype()));
    note_number(tensor, "item", number);
    return number;
}

PyObject* plain_tuple(Sizes sizes) {
    PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
    return tuple;
}

PyObject* size_tuple(Sizes sizes) {
    PyObject* tuple = plain_tuple(sizes);
    if (size_type == nullptr) return tuple;
    PyObject* size = PyObject_CallOneArg(size_type, tuple);
    Py_DECREF(tuple);
    return checked(size);
}

PyObject* tensor_tolist(PyObject* self, PyObject*) {
    return guarded([&] {
        const Tensor tensor(reinterpret_cast<TensorObject*>(self));
        escape(tensor, "tolist");
        PyObject* list = nested_list(tensor, 0, tensor.data());
        PyObject* first = list;  // one is enough to recognise the list by
        while (PyList_Check(first) && PyList_GET_SIZE(first)) first = PyList_GET_ITEM(first, 0);
        note_number(tensor, "tolist", first);
        return list;
    });
}

PyObject* tensor_numpy(PyObject* self, PyObject* args, PyObject* kwargs) {
    static const char* names[] = {"force", nullptr};
    int force = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$p:numpy", const_cast<char**>(names), &force)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Tensor tensor(reinterpret_cast<TensorObject*>(self));
        if (tensor.requires_grad() && !force)
            fail(ErrorKind::Runtime,
                 "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
        escape(tensor, "numpy");
        const Handle shown = tensor.requires_grad() ? Handle::steal(wrap(detach(tensor))) : Handle::borrow(self);
        const Handle view = Handle::steal(checked(PyMemoryView_FromObject(static_cast<PyObject*>(shown.get()))));
        const Handle numpy = Handle::steal(checked(PyImport_ImportModule("numpy")));
        return checked(PyObject_CallMethod(static_cast<PyObject*>(numpy.get()), "asarray", "O",
                                           static_cast<PyObject*>(view.get())));
    });
}

void init_interop(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
