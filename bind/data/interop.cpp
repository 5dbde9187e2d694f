#include "bind/data/interop.h"

#include <utility>

#include "bind/data/buffer.h"
#include "bind/data/from_numpy.h"
#include "bind/data/sequence.h"
#include "bind/errors.h"
#include "bind/types/dtype.h"
#include "bind/types/escapes.h"
#include "bind/types/objects.h"
#include "bind/types/overridable.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/creation/constant.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

PyObject* size_type = nullptr;  // clew.Size

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

}  // namespace

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

namespace {

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
PyObject* python_number(bool x) { return PyBool_FromLong(x); }
PyObject* python_number(std::int64_t x) { return PyLong_FromLongLong(x); }
PyObject* python_number(double x) { return PyFloat_FromDouble(x); }
PyObject* number_at(const char* data, DType dtype) {
    return with_any_type(dtype, [&]<class T>() {
        const T& x = *reinterpret_cast<const T*>(data);
        if constexpr (is_complex(dtype_of<T>::value))
            return PyComplex_FromDoubles(static_cast<double>(x.real), static_cast<double>(x.imag));
        else if constexpr (is_floating(dtype_of<T>::value))
            return python_number(static_cast<double>(x));
        else if constexpr (std::is_same_v<T, bool>)
            return python_number(x);
        else
            return python_number(static_cast<std::int64_t>(x));
    });
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
PyObject* add_method(PyObject*, PyObject* args) {
    const char* name;
    PyObject* value;
    if (!PyArg_ParseTuple(args, "sO", &name, &value)) return nullptr;
    return guarded([&] {
        const Handle member = Handle::steal(overridable_member(name, value));
        const Handle all = Handle::steal(checked(Py_BuildValue("sO", name, static_cast<PyObject*>(member.get()))));
        return add_to(tensor_type, static_cast<PyObject*>(all.get()));
    });
}
PyObject* add_node_method(PyObject*, PyObject* args) { return add_to(node_type, args); }

// DLPack's structures (https://dmlc.github.io/dlpack), as far as an element's type in them.
struct DLPackTensor {
    void* data;
    std::int32_t device[2];
    std::int32_t ndim;
    std::uint8_t code, bits;
};
struct VersionedDLPackTensor {
    std::uint32_t version[2];
    void *context, *deleter;
    std::uint64_t flags;
    DLPackTensor tensor;
};

// _relabel_dlpack(capsule, from, to): makes a tensor with elements of one code one of another's; False if it has others
PyObject* relabel_dlpack(PyObject*, PyObject* args) {
    PyObject* capsule;
    int from, to;
    if (!PyArg_ParseTuple(args, "Oii:_relabel_dlpack", &capsule, &from, &to)) return nullptr;
    DLPackTensor* tensor = nullptr;
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        tensor = &static_cast<VersionedDLPackTensor*>(PyCapsule_GetPointer(capsule, "dltensor_versioned"))->tensor;
    else
        tensor = static_cast<DLPackTensor*>(PyCapsule_GetPointer(capsule, "dltensor"));
    if (tensor == nullptr) return nullptr;
    if (tensor->code != from || tensor->bits != 16) Py_RETURN_FALSE;
    tensor->code = static_cast<std::uint8_t>(to);
    Py_RETURN_TRUE;
}

PyMethodDef functions[] = {
    {"tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_tensor)), METH_VARARGS | METH_KEYWORDS,
     "As default_tensor, but on the CPU."},
    {"default_tensor", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(py_default_tensor)),
     METH_VARARGS | METH_KEYWORDS,
     "(data, *, dtype=None, requires_grad=False): a copy of data, on the default device."},
    {"from_numpy", from_numpy, METH_O, "from_numpy(ndarray, /)\n--\n\nA tensor on the array's memory."},
    {"_relabel_dlpack", relabel_dlpack, METH_VARARGS, nullptr},
    {"set_size_type", set_size_type, METH_O, nullptr},
    {"add_method", add_method, METH_VARARGS, nullptr},
    {"add_node_method", add_node_method, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool is_complex_number(PyObject* object) {
    return PyComplex_Check(object) || std::strcmp(Py_TYPE(object)->tp_name, "numpy.complex64") == 0;
}

bool is_number(PyObject* object) {
    if (PyFloat_Check(object) || PyLong_Check(object)) return true;
    if (as_tensor(object) || PyUnicode_Check(object) || PySequence_Check(object)) return false;
    return PyIndex_Check(object) || is_complex_number(object) ||
           (PyNumber_Check(object) && PyObject_HasAttrString(object, "__float__") &&
            !PyObject_HasAttrString(object, "__len__"));
}

[[gnu::hot]] Tensor tensor_from_number(PyObject* number) {
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
    } else if (is_complex_number(number)) {
        const Py_complex value = PyComplex_AsCComplex(number);
        result = scalar(Complex<double>(value.real, value.imag), DType::Complex128);
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
    const Tensor read = escape(tensor, Read::Item);
    PyObject* number = checked(number_at(read.data(), read.dtype()));
    note_number(read, "item", number);
    return number;
}

PyObject* plain_tuple(Sizes sizes) {
    PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(sizes.size())));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
    return tuple;
}

PyObject* size_tuple(Sizes sizes) {
    if (size_type == nullptr) return plain_tuple(sizes);
    auto* const type = reinterpret_cast<PyTypeObject*>(size_type);
    PyObject* const size = checked(type->tp_alloc(type, static_cast<Py_ssize_t>(sizes.size())));
    for (std::size_t i = 0; i < sizes.size(); ++i)
        PyTuple_SET_ITEM(size, static_cast<Py_ssize_t>(i), PyLong_FromLongLong(sizes[i]));
    return size;
}

PyObject* list_of(const Tensor& tensor) { return nested_list(tensor, 0, tensor.data()); }

PyObject* tensor_tolist(PyObject* self, PyObject*) {
    return guarded([&] {
        const Tensor tensor = escape(Tensor(reinterpret_cast<TensorObject*>(self)), Read::ToList);
        PyObject* list = list_of(tensor);
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
        if (tensor.requires_grad() && !mode(kNoGrad) && !force)
            fail(ErrorKind::Runtime,
                 "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.");
        const Tensor read = escape(tensor, Read::Numpy);
        const Handle shown = Handle::steal(wrap(read.requires_grad() ? detach(read) : read));
        const Handle view = Handle::steal(checked(PyMemoryView_FromObject(static_cast<PyObject*>(shown.get()))));
        const Handle numpy = Handle::steal(checked(PyImport_ImportModule("numpy")));
        return checked(PyObject_CallMethod(static_cast<PyObject*>(numpy.get()), "asarray", "O",
                                           static_cast<PyObject*>(view.get())));
    });
}

void init_interop(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
