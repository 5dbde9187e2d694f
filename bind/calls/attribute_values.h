// Attributes of operations from Python's objects; false where the object is of another type. Inline, since parse()
// reads them once for each operation.
#pragma once
#include <Python.h>

#include <string_view>

#include "bind/errors.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/ops/schema.h"

namespace clew::bind {

// An int, or what acts as one (NumPy integers, 0-dim integer tensors).
inline bool read_int(PyObject* object, std::int64_t& out) {
    if (PyBool_Check(object) || PyFloat_Check(object)) return false;
    if (!PyLong_Check(object)) {
        if (!PyIndex_Check(object)) return false;
        if (TensorObject* tensor = as_tensor(object))
            if (tensor->layout->ndim != 0 || !is_integral(tensor->dtype)) return false;
        PyObject* index = PyNumber_Index(object);
        if (index == nullptr) {
            PyErr_Clear();
            return false;
        }
        out = PyLong_AsLongLong(index);
        Py_DECREF(index);
    } else {
        out = PyLong_AsLongLong(object);
    }
    if (out == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        fail(ErrorKind::Runtime, "argument: an integer that fits 64 bits was expected, got a larger one");
    }
    return true;
}

inline bool read_float(PyObject* object, double& out) {
    if (PyFloat_Check(object)) {
        out = PyFloat_AS_DOUBLE(object);
        return true;
    }
    if (PyUnicode_Check(object) || !(PyLong_Check(object) || PyNumber_Check(object))) return false;
    if (TensorObject* tensor = as_tensor(object))
        if (tensor->layout->numel != 1 || Tensor(tensor).requires_grad()) return false;  // a number has no history
    out = PyFloat_AsDouble(object);
    if (out == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

inline bool read_scalar(PyObject* object, Value& value) {
    if (is_complex_number(object)) {
        const Py_complex number = PyComplex_AsCComplex(object);
        value.tag = Value::Complex;
        value.real = number.real;
        value.imag = number.imag;
        return true;
    }
    if (PyBool_Check(object)) {
        value.tag = Value::Bool;
        value.integer = object == Py_True;
        return true;
    }
    if (read_int(object, value.integer)) {
        value.tag = Value::Int;
        return true;
    }
    value.tag = Value::Float;
    return read_float(object, value.real);
}

inline bool read_ints(PyObject* object, Dims& dims) {
    dims.count = 0;
    std::int64_t one;
    if (!PyTuple_Check(object) && !PyList_Check(object)) {
        if (!read_int(object, one)) return false;
        dims.push_back(one);
        return true;
    }
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!read_int(PySequence_Fast_GET_ITEM(object, i), one)) return false;
        dims.push_back(one);
    }
    return true;
}

[[gnu::hot]] inline bool read_attribute(PyObject* object, ArgType type, Value& value) {
    switch (type) {
        case ArgType::Bool:
            if (!PyBool_Check(object)) return false;
            value.tag = Value::Bool;
            value.integer = object == Py_True;
            return true;
        case ArgType::Format: {
            const Handle text = Handle::steal(checked(PyObject_Str(object)));
            const char* const whole = PyUnicode_AsUTF8(static_cast<PyObject*>(text.get()));
            const std::string_view given = whole ? whole : "";
            const std::string_view name = given.substr(given.rfind('.') + 1);  // behind the library's, as imported
            value.tag = Value::Bool;
            value.integer = name == "contiguous_format";
            return !PyUnicode_Check(object) && (value.integer || name == "preserve_format");
        }
        case ArgType::Int:
            value.tag = Value::Int;
            return read_int(object, value.integer);
        case ArgType::Float:
            value.tag = Value::Float;
            return read_float(object, value.real);
        case ArgType::Scalar:
            return read_scalar(object, value);
        case ArgType::IntList:
            value.tag = Value::IntList;
            return read_ints(object, value.dims);
        case ArgType::Text: {
            if (!PyUnicode_Check(object)) return false;
            Py_ssize_t size;
            const char* text = PyUnicode_AsUTF8AndSize(object, &size);
            if (text == nullptr) throw PythonError();
            value.tag = Value::Text;
            value.text = Text(std::string_view(text, static_cast<std::size_t>(size)));
            return true;
        }
        case ArgType::DType: {
            const auto dtype = dtype_from(object);
            if (!dtype) return false;
            value.tag = Value::DType;
            value.integer = static_cast<std::int64_t>(*dtype);
            return true;
        }
        default:
            return false;
    }
}

}  // namespace clew::bind
