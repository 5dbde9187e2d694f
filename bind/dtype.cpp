#include "bind/dtype.h"

#include <cstring>

#include <structmember.h>

#include "bind/errors.h"
#include "bind/type.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

struct DTypeObject {
    PyObject_HEAD const char* name;
    int index;  // into DType, or -1: known by name, without native kernels
    int bytes;
    bool floating, complex;
};

PyTypeObject dtype_type = blank_type();
PyObject* natives[kDTypes];
DType the_default = DType::Float32;

DTypeObject* self_of(PyObject* object) { return reinterpret_cast<DTypeObject*>(object); }

PyObject* dtype_repr(PyObject* object) { return PyUnicode_FromFormat("torch.%s", self_of(object)->name); }
PyObject* dtype_reduce(PyObject* object, PyObject*) {
    PyObject* module = PyImport_AddModule("clew._core");  // borrowed
    PyObject* getter = module ? PyObject_GetAttrString(module, "_dtype_by_name") : nullptr;
    return getter ? Py_BuildValue("N(s)", getter, self_of(object)->name) : nullptr;
}
PyObject* get_floating(PyObject* object, void*) { return PyBool_FromLong(self_of(object)->floating); }
PyObject* get_complex(PyObject* object, void*) { return PyBool_FromLong(self_of(object)->complex); }
PyObject* get_signed(PyObject* object, void*) {
    return PyBool_FromLong(std::strcmp(self_of(object)->name, "uint8") != 0 &&
                           std::strcmp(self_of(object)->name, "bool") != 0);
}
PyObject* get_size(PyObject* object, void*) { return PyLong_FromLong(self_of(object)->bytes); }

PyGetSetDef attributes[] = {
    {"is_floating_point", get_floating, nullptr, "floating, complex excluded", nullptr},
    {"is_complex", get_complex, nullptr, "complex", nullptr},
    {"is_signed", get_signed, nullptr, "has negative values", nullptr},
    {"itemsize", get_size, nullptr, "bytes of one element", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
PyMethodDef methods[] = {
    {"__reduce__", dtype_reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

struct Known {
    const char* name;
    int index, bytes;
    bool floating, complex;
    const char* alias;
};
constexpr Known kKnown[] = {
    {"bool", 0, 1, false, false, nullptr},       {"uint8", 1, 1, false, false, nullptr},
    {"int32", 2, 4, false, false, "int"},        {"int64", 3, 8, false, false, "long"},
    {"float32", 4, 4, true, false, "float"},     {"float64", 5, 8, true, false, "double"},
    {"int8", -1, 1, false, false, nullptr},      {"int16", -1, 2, false, false, "short"},
    {"float16", -1, 2, true, false, "half"},     {"bfloat16", -1, 2, true, false, nullptr},
    {"complex64", -1, 8, false, true, "cfloat"}, {"complex128", -1, 16, false, true, "cdouble"},
};

PyObject* by_name(PyObject* module, PyObject* name) {
    PyObject* dtypes = PyObject_GetAttrString(module, "dtypes");
    if (dtypes == nullptr) return nullptr;
    PyObject* found = PyDict_GetItemWithError(dtypes, name);
    Py_DECREF(dtypes);
    if (found == nullptr && !PyErr_Occurred()) PyErr_SetObject(PyExc_KeyError, name);
    return Py_XNewRef(found);
}
PyMethodDef by_name_def = {"_dtype_by_name", by_name, METH_O, nullptr};

}  // namespace

PyObject* dtype_object(DType dtype) { return Py_NewRef(natives[static_cast<int>(dtype)]); }

std::optional<DType> dtype_from(PyObject* object) {
    if (Py_TYPE(object) == &dtype_type) {
        const DTypeObject* self = self_of(object);
        if (self->index < 0)
            fail(ErrorKind::NotImplemented,
                 "dtype: %s has no native kernels yet; use float32, float64, int64, int32, uint8 or bool", self->name);
        return static_cast<DType>(self->index);
    }
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::Float64;
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::Int64;
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::Bool;
    return std::nullopt;
}

DType default_dtype() { return the_default; }
void set_default_dtype(DType dtype) {
    if (!is_floating(dtype))
        fail(ErrorKind::Type, "set_default_dtype: only floating-point types are supported as the default type, got %s",
             dtype_name(dtype));
    the_default = dtype;
}

void init_dtypes(PyObject* module) {
    dtype_type.tp_name = "torch.dtype";
    dtype_type.tp_basicsize = sizeof(DTypeObject);
    dtype_type.tp_repr = dtype_repr;
    dtype_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    dtype_type.tp_getset = attributes;
    dtype_type.tp_methods = methods;
    dtype_type.tp_doc = "The type of a tensor's elements.";
    checked(PyType_Ready(&dtype_type));
    PyObject* all = checked(PyDict_New());
    for (const Known& known : kKnown) {
        auto* made = PyObject_New(DTypeObject, &dtype_type);
        checked(reinterpret_cast<PyObject*>(made));
        made->name = known.name;
        made->index = known.index;
        made->bytes = known.bytes;
        made->floating = known.floating;
        made->complex = known.complex;
        auto* object = reinterpret_cast<PyObject*>(made);
        if (known.index >= 0) natives[known.index] = Py_NewRef(object);
        checked(PyDict_SetItemString(all, known.name, object));
        if (known.alias) checked(PyDict_SetItemString(all, known.alias, object));
        Py_DECREF(object);
    }
    checked(PyModule_AddObjectRef(module, "dtypes", all));
    checked(PyModule_AddObjectRef(module, "dtype", reinterpret_cast<PyObject*>(&dtype_type)));
    PyObject* getter = checked(PyCFunction_New(&by_name_def, module));
    checked(PyModule_AddObjectRef(module, "_dtype_by_name", getter));
}

}  // namespace clew::bind
