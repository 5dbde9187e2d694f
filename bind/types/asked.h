// Methods and attributes of Tensor that a subclass or a mode may override: Note [Asking classes] in torch_function.cpp.
// Each wrapper tests one flag of the tensor and one bit of the thread before it does what it did.
#pragma once
#include <Python.h>

#include <cstddef>

#include "bind/errors.h"
#include "bind/types/torch_function.h"

namespace clew::bind {

template <std::size_t kLength>
struct Name {
    char text[kLength]{};
    constexpr Name(const char (&literal)[kLength]) {
        for (std::size_t i = 0; i < kLength; ++i) text[i] = literal[i];
    }
};

// Where a method got an object that is no tensor and whose class is to be asked, it has failed.
PyObject* ask_after_error(const char* name, PyObject* self, PyObject* args, PyObject* kwargs);

template <Name kName, PyCFunction kMethod>
PyObject* method_of_none(PyObject* self, PyObject* unused) {
    if (is_asked_about(self)) [[unlikely]]
        return guarded([&] { return ask_method(kName.text, self, nullptr, nullptr); });
    return kMethod(self, unused);
}
template <Name kName, PyCFunction kMethod>
PyObject* method_of_args(PyObject* self, PyObject* args) {
    if (is_asked_about(self)) [[unlikely]]
        return guarded([&] { return ask_method(kName.text, self, args, nullptr); });
    PyObject* const result = kMethod(self, args);
    return result ? result : ask_after_error(kName.text, self, args, nullptr);
}
template <Name kName, PyCFunctionWithKeywords kMethod>
PyObject* method_of_names(PyObject* self, PyObject* args, PyObject* kwargs) {
    if (is_asked_about(self)) [[unlikely]]
        return guarded([&] { return ask_method(kName.text, self, args, kwargs); });
    PyObject* const result = kMethod(self, args, kwargs);
    return result ? result : ask_after_error(kName.text, self, args, kwargs);
}

template <Name kName, PyCFunction kMethod>
PyMethodDef asked_method(int flags, const char* doc) {
    return {kName.text, flags == METH_NOARGS ? method_of_none<kName, kMethod> : method_of_args<kName, kMethod>, flags,
            doc};
}
template <Name kName, PyCFunctionWithKeywords kMethod>
PyMethodDef asked_method(const char* doc) {
    return {kName.text, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(method_of_names<kName, kMethod>)),
            METH_VARARGS | METH_KEYWORDS, doc};
}

template <Name kName, getter kGet>
PyObject* attribute_get(PyObject* self, void* closure) {
    if (is_asked_about(self)) [[unlikely]]
        return guarded([&] { return ask_attribute(kName.text, "__get__", self, nullptr); });
    return kGet(self, closure);
}
template <Name kName, setter kSet>
int attribute_set(PyObject* self, PyObject* value, void* closure) {
    if (is_asked_about(self)) [[unlikely]]
        return guarded(
            [&] {
                Py_DECREF(ask_attribute(kName.text, value ? "__set__" : "__delete__", self, value));
                return 0;
            },
            -1);
    return kSet(self, value, closure);
}

template <Name kName, getter kGet, setter kSet = nullptr>
PyGetSetDef asked_attribute(const char* doc) {
    setter set = nullptr;
    if constexpr (kSet != nullptr) set = attribute_set<kName, kSet>;
    return {kName.text, attribute_get<kName, kGet>, set, doc, nullptr};
}

}  // namespace clew::bind
