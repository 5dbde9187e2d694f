// Values of Python, as they are read and compared without running any.
#pragma once
#include <Python.h>

#include <cstdint>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "bind/errors.h"

namespace clew::bind {

bool same_bits(double now, double then);
// By type and bits for numbers, strings, None and tuples of them; by identity for all else.
bool is_same_value(PyObject* now, PyObject* then);
inline bool same_value(PyObject* now, PyObject* then) { return now == then || is_same_value(now, then); }

const char* utf8(PyObject* string);                // empty if it has lone surrogates
PyObject* dict_of(PyObject* object);               // of an instance, or null; borrowed
PyObject* look_up(PyObject* dict, PyObject* key);  // or null; borrowed
// Of a function, these three borrowed.
inline PyObject* code_of(PyObject* function) { return reinterpret_cast<PyFunctionObject*>(function)->func_code; }
inline PyObject* defaults_of(PyObject* function) {
    return reinterpret_cast<PyFunctionObject*>(function)->func_defaults;
}
inline PyObject* keyword_defaults_of(PyObject* function) {
    return reinterpret_cast<PyFunctionObject*>(function)->func_kwdefaults;
}
nanobind::object slot_value(PyObject* object, PyObject* descriptor);  // invalid if it is empty
std::vector<nanobind::object> items_of(PyObject* set);
std::string text_of(PyObject* object, const char* attribute);  // empty if there is none, or it is no text
// Changes with all that is assigned to an entry. 0: this dict has no such number.
std::uint64_t version_of_dict(PyObject* dict);
// Changes with all that is assigned to the class or to a base. 0: there are no more numbers.
unsigned int version_of_type(PyObject* type);
// A number that moves with each class that is registered with an abstract one.
nanobind::object registrations();

// In the order in which Python sees them; body() says whether to go on.
template <class Body>
bool each_item(PyObject* dict, const Body& body) {
    if (!PyODict_Check(dict)) {
        PyObject *key, *value;
        for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &key, &value);)
            if (!body(key, value)) return false;
        return true;
    }
    const nanobind::object keys = nanobind::steal(checked(PySequence_List(dict)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.ptr()); ++i)
        if (!body(PyList_GET_ITEM(keys.ptr(), i), look_up(dict, PyList_GET_ITEM(keys.ptr(), i)))) return false;
    return true;
}

}  // namespace clew::bind
