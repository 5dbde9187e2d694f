#include "bind/graph/frame.h"

#include "bind/watch/values.h"

#include <cstring>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {

PyObject* look_up(PyObject* dict, PyObject* key) {
    PyObject* const found = PyDict_GetItemWithError(dict, key);
    if (found == nullptr && PyErr_Occurred()) throw PythonError();
    return found;
}

nb::object slot_value(PyObject* object, PyObject* descriptor) {
    PyObject* const value = Py_TYPE(descriptor)->tp_descr_get(descriptor, object, as_object(Py_TYPE(object)));
    if (value == nullptr) PyErr_Clear();  // an empty slot
    return nb::steal(value);
}

unsigned int version_of_type(PyObject* object) {
    auto* const type = reinterpret_cast<PyTypeObject*>(object);
    static PyObject* const any = PyUnicode_InternFromString("__class__");
    _PyType_Lookup(type, any);  // gives it one
    return type->tp_version_tag;
}

nb::object registrations() {
    static PyObject* const token = from_module("_abc", "get_cache_token");
    return nb::steal(checked(PyObject_CallNoArgs(token)));
}

std::vector<nb::object> items_of(PyObject* set) {
    const nb::object iterator = nb::steal(checked(PySet_Type.tp_iter(set)));  // whatever its class says
    std::vector<nb::object> items;
    while (PyObject* const item = PyIter_Next(iterator.ptr())) items.push_back(nb::steal(item));
    return items;
}

bool same_bits(double now, double then) { return std::memcmp(&now, &then, sizeof now) == 0; }

std::uint64_t version_of_dict(PyObject* dict) {
#if PY_VERSION_HEX >= 0x030E0000
    (void)dict;
    return 0;
#else
    const auto* const object = reinterpret_cast<PyDictObject*>(dict);
#if PY_VERSION_HEX >= 0x030D0000
    if (object->ma_values != nullptr) return 0;  // the values of an instance, which are written to without a word
#endif
    return object->ma_version_tag;
#endif
}

bool is_same_value(PyObject* now, PyObject* then) {
    if (now == nullptr || then == nullptr || Py_TYPE(now) != Py_TYPE(then)) return false;
    if (PyFloat_CheckExact(now)) return same_bits(PyFloat_AS_DOUBLE(now), PyFloat_AS_DOUBLE(then));
    if (PyLong_CheckExact(now) || PyUnicode_CheckExact(now) || PyBytes_CheckExact(now))
        return PyObject_RichCompareBool(now, then, Py_EQ) == 1;
    if (PyComplex_CheckExact(now)) {
        const Py_complex values[2] = {PyComplex_AsCComplex(now), PyComplex_AsCComplex(then)};
        return std::memcmp(&values[0], &values[1], sizeof(Py_complex)) == 0;
    }
    if (!PyTuple_CheckExact(now) || PyTuple_GET_SIZE(now) != PyTuple_GET_SIZE(then)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(now); ++i)
        if (!same_value(PyTuple_GET_ITEM(now, i), PyTuple_GET_ITEM(then, i))) return false;
    return true;
}

const char* utf8(PyObject* string) {
    const char* const bytes = PyUnicode_AsUTF8(string);
    if (bytes == nullptr) PyErr_Clear();
    return bytes ? bytes : "";
}

PyObject* dict_of(PyObject* object) {
    PyObject** const place = _PyObject_GetDictPtr(object);
    return place ? *place : nullptr;
}

std::string text_of(PyObject* object, const char* attribute) {
    // Interned, since the cache of the type's attributes would keep each name that is made for one look.
    const nb::object name = nb::steal(checked(PyUnicode_InternFromString(attribute)));
    const nb::object text = nb::steal(PyObject_GetAttr(object, name.ptr()));
    if (!text.is_valid() || !PyUnicode_Check(text.ptr())) {
        PyErr_Clear();
        return {};
    }
    return utf8(text.ptr());
}

}  // namespace clew::bind
