// __torch_function__: who is asked about a call, and asking.
#pragma once
#include <Python.h>

#include <vector>

#include "bind/calls/parse.h"
#include "bind/types/objects.h"
#include "core/autograd/mode.h"

namespace clew::bind {

// Whether the object's class overrides operations: a subclass of Tensor or any other with __torch_function__, unless it
// is the disabled one.
bool class_overrides(PyTypeObject* type);

// Refuses a class of tensors with a __torch_dispatch__ of its own.
void refuse_dispatch(PyTypeObject* type);

// Whether one of a call's arguments may: by its class, or by what a list or tuple holds. Nothing of a static type does.
bool may_override_or_hold(PyObject* object);
inline bool may_override(PyObject* object) {
    PyTypeObject* const type = Py_TYPE(object);
    if (type == &tensor_type) return false;
    if (!(type->tp_flags & (Py_TPFLAGS_HEAPTYPE | Py_TPFLAGS_LIST_SUBCLASS | Py_TPFLAGS_TUPLE_SUBCLASS))) return false;
    return may_override_or_hold(object);
}

// Whether an access to the tensor is for its class, or for a mode of this thread.
inline bool is_asked_about(PyObject* tensor) {
    const bool subclass = reinterpret_cast<TensorObject*>(tensor)->has(TensorObject::kSubclass);
    if (!subclass && !mode(kFunctionMode)) [[likely]]
        return false;
    return mode(kFunctionMode) || !mode(kNoTorchFunction);
}

// Whether a call with these arguments is.
inline bool is_asked_about(const Arguments& arguments) {
    if (mode(kNoTorchFunction | kFunctionMode)) [[unlikely]]
        return mode(kFunctionMode);
    const Py_ssize_t all = arguments.count + (arguments.names ? PyTuple_GET_SIZE(arguments.names) : 0);
    for (Py_ssize_t i = 0; i < all; ++i)
        if (may_override(arguments.values[i])) return true;
    return false;
}

// What the modes and classes answer for `function` with these arguments; throws if none does.
PyObject* ask(PyObject* function, const Arguments& arguments);
// The same for `name` of Tensor, and for `name.__get__` and the like.
PyObject* ask_method(const char* name, const Arguments& arguments);
PyObject* ask_method(const char* name, PyObject* self, PyObject* args, PyObject* kwargs);  // args, kwargs may be null
PyObject* ask_attribute(const char* name, const char* accessor, PyObject* self, PyObject* value);

void init_torch_function(PyObject* module);

}  // namespace clew::bind
