#include "bind/interop.h"

#include <cmath>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/escapes.h"
#include "bind/objects.h"
#include "bind/tensor_attributes.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/kernels/copy.h"
#include "core/ops/apply.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

PyObject* size_type = nullptr;  // clew.Size

// ------------------------------------------------------------------------------------------------ buffer protocol
const char* format_of(DType dtype) {
    constexpr const char* formats[] = {"?", "B", "i", "l", "f", "d"};
    return formats[static_cast<int>(dtype)];
}

DType dtype_of_format(const Py_buffer& buffer) {
    const char* format = buffer.format ? buffer.format : "B";
    constexpr std::pair<const char*, const char*> kNotYet[] = {
        {"e", "float16"}, {"b", "int8"},   {"h", "int16"},    {"H", "uint16"},     {"I", "uint32"},
        {"L", "uint64"},  {"Q", "uint64"}, {"g", "float128"}, {"Zf", "complex64"}, {"Zd", "complex128"},
    };
    for (const auto& [known, name] : kNotYet)
        if (std::strcmp(format, known) == 0)
            fail(ErrorKind::NotImplemented,
                 "from_numpy: arrays of dtype %s are not supported yet; cast to float32, float64, int64, int32, uint8 "
                 "or bool",
                 name);
    if (*format == '@' || *format == '=' || *format == '<') ++format;
    if (format[0] && !format[1]) {
        switch (*format) {
            case '?':
                return DType::Bool;
            case 'B':
                return DType::UInt8;
            case 'i':
                return DType::Int32;
            case 'l':
            case 'q':
                if (buffer.itemsize == 8) return DType::Int64;
                break;
            case 'f':
                return DType::Float32;
            case 'd':
                return DType::Float64;
            default:
                break;
        }
    }
    fail(ErrorKind::Type,
         "can't convert np.ndarray of format '%s'. The only supported types are: float64, float32, int64, int32, "
         "uint8, and bool.",
         format);
}

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
    auto* geometry = new Py_ssize_t[2 * static_cast<std::size_t>(layout.ndim) + 1];
    const auto size = static_cast<Py_ssize_t>(item_size(tensor->dtype));
    for (int i = 0; i < layout.ndim; ++i) {
        geometry[i] = layout.sizes()[i];
        geometry[layout.ndim + i] = layout.strides()[i] * size;
    }
    buffer->buf = Tensor(tensor).data();
    buffer->obj = Py_NewRef(self);
    buffer->len = layout.numel * size;
    buffer->itemsize = size;
    buffer->readonly = 0;
    buffer->ndim = layout.ndim;
    buffer->format = flags & PyBUF_FORMAT ? const_cast<char*>(format_of(tensor->dtype)) : nullptr;
    buffer->shape = flags & PyBUF_ND ? geometry : nullptr;
    buffer->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? geometry + layout.ndim : nullptr;
    buffer->suboffsets = nullptr;
    buffer->internal = geometry;
    return 0;
}
void release_buffer(PyObject*, Py_buffer* buffer) { delete[] static_cast<Py_ssize_t*>(buffer->internal); }

PyBufferProcs buffer_methods = {get_buffer, release_buffer};

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

// Asked of the type: an array would build the whole dict.
bool is_array(PyObject* object) {
    static PyObject* const name = PyUnicode_InternFromString("__array_interface__");
    PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(object));
    return PyObject_HasAttr(type, name) != 0;
}

PyObject* root_of(PyObject* array) {  // borrowed while `array` lives
    for (;;) {
        PyObject* base = nullptr;
        if (PyMemoryView_Check(array)) {
            base = Py_XNewRef(PyMemoryView_GET_BASE(array));
        } else if (!as_tensor(array)) {
            static PyObject* const name = PyUnicode_InternFromString("base");
            base = PyObject_GetAttr(array, name);
            if (base == nullptr) PyErr_Clear();
        }
        if (base == nullptr || base == Py_None) {
            Py_XDECREF(base);
            return array;
        }
        Py_DECREF(base);  // its owner keeps it alive
        if (!as_tensor(base) && !PyMemoryView_Check(base) && !is_array(base)) return array;
        array = base;
    }
}

StorageRef storage_over(PyObject* root) {
    if (TensorObject* tensor = as_tensor(root)) return tensor->storage;
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
Ref<Lost> lost_by_array(PyObject* root, const char* how) {
    TensorObject* source = as_tensor(root);
    if (source && source->lost) return source->lost;
    Ref<Lost> lost = Lost::make(how);
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
        PyObject* root = root_of(array);
        StorageRef storage = storage_over(root);
        std::int64_t bytes = static_cast<char*>(buffer->buf) - storage->data;
        if (layout->numel == 0) bytes = 0;
        if (bytes < 0 || bytes % buffer->itemsize) {
            storage = storage_over(array);
            bytes = static_cast<char*>(buffer->buf) - storage->data;
        }
        TensorObject* made = new_tensor_object();
        const Tensor result = Tensor::steal(made);
        made->storage = std::move(storage);
        made->layout = std::move(layout);
        made->offset = bytes / buffer->itemsize;
        made->dtype = dtype;
        own_version(result, 0);
        made->lost = lost_by_array(root, "from_numpy");
        return wrap(result);
    });
}

// ------------------------------------------------------------------------------------------------ from lists
struct Scan {
    Dims sizes;
    bool floating = false, integer = false, boolean = false;
    Ref<Lost> lost{};  // the first element that had a history, or had lost it
};

bool is_sequence(PyObject* object) {
    if (PyList_Check(object) || PyTuple_Check(object)) return true;
    if (TensorObject* tensor = as_tensor(object)) return tensor->layout->ndim > 0;
    return !PyUnicode_Check(object) && !PyBytes_Check(object) && PySequence_Check(object) && !PyDict_Check(object) &&
           !PyObject_HasAttrString(object, "__float__");
}

PyObject* sequence_of(PyObject* object) { return checked(PySequence_Fast(object, "tensor: expected a sequence")); }

// tensor() copies values, never history.
Ref<Lost> lost_by_copy(const Tensor& source) { return source.requires_grad() ? Lost::make("tensor") : source->lost; }

[[noreturn]] void bad_element(PyObject* object) {
    if (PyUnicode_Check(object))
        fail(ErrorKind::Type, "tensor: invalid data type 'str'; expected numbers or nested sequences of them");
    fail(ErrorKind::Type, "tensor: could not infer dtype of %s; expected numbers or nested sequences of them",
         Py_TYPE(object)->tp_name);
}

void look_at(PyObject* object, Scan& scan) {
    if (PyBool_Check(object))
        scan.boolean = true;
    else if (PyFloat_Check(object)) {
        // The first float only: a list of data is long.
        if (!scan.floating && !scan.lost) scan.lost = where_read(object);
        scan.floating = true;
    } else if (PyLong_Check(object))
        scan.integer = true;
    else if (TensorObject* tensor = as_tensor(object)) {
        if (!scan.lost) scan.lost = lost_by_copy(Tensor(tensor));
        (is_floating(tensor->dtype)     ? scan.floating
         : tensor->dtype == DType::Bool ? scan.boolean
                                        : scan.integer) = true;
    } else if (PyComplex_Check(object))
        fail(ErrorKind::NotImplemented, "tensor: complex dtypes are not supported yet");
    else if (PyObject_CheckBuffer(object)) {
        Buffer buffer(object, PyBUF_STRIDES | PyBUF_FORMAT);
        const DType dtype = dtype_of_format(*buffer);
        (is_floating(dtype) ? scan.floating : dtype == DType::Bool ? scan.boolean : scan.integer) = true;
    } else if (PyIndex_Check(object))
        scan.integer = true;
    else
        bad_element(object);
}

void scan_shape(PyObject* object, int depth, Scan& scan) {
    if (!is_sequence(object)) {
        if (depth != scan.sizes.size())
            fail(ErrorKind::Value, "tensor: expected sequence of length %lld at dim %d (got a number)",
                 static_cast<long long>(scan.sizes[depth]), depth);
        look_at(object, scan);
        return;
    }
    const Handle fast = Handle::steal(sequence_of(object));
    auto* items = static_cast<PyObject*>(fast.get());
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    if (depth >= scan.sizes.size())
        fail(ErrorKind::Value, "tensor: expected a number at dim %d (got a sequence)", depth);
    if (count != scan.sizes[depth])
        fail(ErrorKind::Value, "tensor: expected sequence of length %lld at dim %d (got %zd)",
             static_cast<long long>(scan.sizes[depth]), depth, count);
    for (Py_ssize_t i = 0; i < count; ++i) scan_shape(PySequence_Fast_GET_ITEM(items, i), depth + 1, scan);
}

void find_sizes(PyObject* object, Dims& sizes) {
    if (!is_sequence(object)) return;
    const Handle fast = Handle::steal(sequence_of(object));
    auto* items = static_cast<PyObject*>(fast.get());
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    sizes.push_back(count);
    if (count) find_sizes(PySequence_Fast_GET_ITEM(items, 0), sizes);
}

template <class T>
void store(PyObject* object, T*& out) {
    if (is_sequence(object)) {
        const Handle fast = Handle::steal(sequence_of(object));
        auto* items = static_cast<PyObject*>(fast.get());
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i) store(PySequence_Fast_GET_ITEM(items, i), out);
        return;
    }
    if constexpr (std::is_floating_point_v<T>) {
        const double value = PyFloat_AsDouble(object);
        if (value == -1 && PyErr_Occurred()) throw PythonError();
        *out++ = static_cast<T>(value);
    } else if constexpr (std::is_same_v<T, bool>) {
        const int truth = PyObject_IsTrue(object);
        checked(truth);
        *out++ = truth != 0;
    } else {
        const Handle whole = Handle::steal(checked(PyNumber_Long(object)));
        const long long value = PyLong_AsLongLong(static_cast<PyObject*>(whole.get()));
        if (value == -1 && PyErr_Occurred()) throw PythonError();
        if (value < std::numeric_limits<T>::min() || value > std::numeric_limits<T>::max())
            fail(ErrorKind::Runtime, "tensor: value %lld cannot be converted to %s without overflow", value,
                 dtype_name(dtype_of<T>::value));
        *out++ = static_cast<T>(value);
    }
}

template <class T>
void store_all(PyObject* data, const Tensor& result) {
    T* out = result.data_as<T>();
    store(data, out);
}

Tensor from_sequence(PyObject* data, std::optional<DType> dtype) {
    Scan scan;
    find_sizes(data, scan.sizes);
    scan_shape(data, 0, scan);
    const DType inferred = scan.floating  ? default_dtype()
                           : scan.integer ? DType::Int64
                           : scan.boolean ? DType::Bool
                                          : default_dtype();
    Tensor result = empty(scan.sizes, dtype.value_or(inferred));
    result->lost = scan.lost;
    switch (result.dtype()) {
        case DType::Bool:
            store_all<bool>(data, result);
            break;
        case DType::UInt8:
            store_all<std::uint8_t>(data, result);
            break;
        case DType::Int32:
            store_all<std::int32_t>(data, result);
            break;
        case DType::Int64:
            store_all<std::int64_t>(data, result);
            break;
        case DType::Float32:
            store_all<float>(data, result);
            break;
        case DType::Float64:
            store_all<double>(data, result);
            break;
    }
    return result;
}

Tensor copy_of(const kernels::View& view, Sizes sizes, DType dtype) {
    Tensor result = empty(sizes, dtype);
    kernels::copy(result.view(), view);
    return result;
}

Tensor make_tensor(PyObject* data, std::optional<DType> dtype) {
    if (TensorObject* object = as_tensor(data)) {
        const Tensor source(object);
        Tensor result = copy_of(source.view(), source.sizes(), dtype.value_or(source.dtype()));
        result->lost = lost_by_copy(source);
        return result;
    }
    if (!PyList_Check(data) && !PyTuple_Check(data) && PyObject_CheckBuffer(data) && !PyBytes_Check(data) &&
        !PyByteArray_Check(data)) {
        Buffer buffer(data, PyBUF_STRIDES | PyBUF_FORMAT);
        const DType own = dtype_of_format(*buffer);
        Dims sizes, strides;
        for (int i = 0; i < buffer->ndim; ++i) {
            sizes.push_back(buffer->shape[i]);
            strides.push_back(buffer->strides[i] / buffer->itemsize);
        }
        const kernels::View view{buffer->buf, own, buffer->ndim, sizes.begin(), strides.begin()};
        const bool scalar_float = buffer->ndim == 0 && PyFloat_Check(data);  // np.float64 is a Python float
        Tensor result = copy_of(view, sizes, dtype.value_or(scalar_float ? DType::Float64 : own));
        result->lost = lost_by_array(root_of(data), "tensor");
        return result;
    }
    return from_sequence(data, dtype);
}

// tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False); device is checked in Python
PyObject* py_tensor(PyObject*, PyObject* args, PyObject* kwargs) {
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
        if (requires_grad) set_requires_grad(result, true);
        return wrap(std::move(result));
    });
}

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
     nullptr},
    {"from_numpy", from_numpy, METH_O, "from_numpy(ndarray): a tensor on the array's memory."},
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

Tensor converted_to_default(const Tensor& tensor) {
    return tensor.dtype() == default_dtype() ? tensor : copy_of(tensor.view(), tensor.sizes(), default_dtype());
}

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
