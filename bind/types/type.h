// Static types begin blank and are filled in field by field before PyType_Ready.
#pragma once
#include <Python.h>

namespace clew::bind {

inline PyTypeObject blank_type() {
    PyTypeObject type{};
    Py_SET_REFCNT(reinterpret_cast<PyObject*>(&type), 1);
    return type;
}

}  // namespace clew::bind
