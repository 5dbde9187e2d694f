// The boundary: C++ exceptions become Python's.
#pragma once
#include <Python.h>

#include <initializer_list>
#include <utility>

namespace clew::bind {

// Call inside a catch block: sets the Python exception that fits the one in flight.
void set_python_error() noexcept;

// Sets an exception of class clew.autograd.errors.<name>, with fields; steals the fields' references.
struct Field {
    const char* name;
    PyObject* value;
};
void raise_with_fields(const char* name, const char* text, std::initializer_list<Field> fields);

// Runs `body` and returns what it returns; on an exception sets Python's and returns `failed`.
template <class F>
auto guarded(F&& body, decltype(body()) failed = {}) noexcept -> decltype(body()) {
    try {
        return std::forward<F>(body)();
    } catch (...) {
        set_python_error();
        return failed;
    }
}

// For C API calls: throws PythonError if `object` is null.
PyObject* checked(PyObject* object);
void checked(int status);

}  // namespace clew::bind
