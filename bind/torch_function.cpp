// Note [Subclasses]
// A tensor has the flag kSubclass if its class takes part in dispatch: a subclass whose __torch_function__ is not
// switched off (Parameter's is). Then the call goes to the class's __torch_function__(func, types, args, kwargs), whose
// default (in src/clew/_subclass.py) runs the operation with dispatch off and turns plain results into the subclass.
#include "bind/torch_function.h"

#include "bind/errors.h"
#include "bind/objects.h"
#include "core/autograd/mode.h"

namespace clew::bind {
namespace {

PyObject* dispatching(PyObject* object, int depth) {
    if (TensorObject* tensor = as_tensor(object)) return tensor->has(TensorObject::kSubclass) ? object : nullptr;
    if (depth == 0 && (PyTuple_Check(object) || PyList_Check(object)))
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); ++i)
            if (PyObject* found = dispatching(PySequence_Fast_GET_ITEM(object, i), 1)) return found;
    return nullptr;
}

}  // namespace

bool needs_dispatch(PyObject* object) {
    TensorObject* tensor = as_tensor(object);
    return tensor && tensor->has(TensorObject::kSubclass) && !mode(kNoTorchFunction);
}

Dispatch find_dispatch(const Arguments& arguments) {
    if (mode(kNoTorchFunction)) return {};
    const Py_ssize_t all = arguments.count + (arguments.names ? PyTuple_GET_SIZE(arguments.names) : 0);
    PyObject* best = nullptr;
    for (Py_ssize_t i = 0; i < all; ++i) {
        PyObject* found = dispatching(arguments.values[i], 0);
        // The most derived class decides; among unrelated ones the first.
        if (found &&
            (best == nullptr || (Py_TYPE(found) != Py_TYPE(best) && PyType_IsSubtype(Py_TYPE(found), Py_TYPE(best)))))
            best = found;
    }
    return {best};
}

PyObject* dispatch_call(const Dispatch& dispatch, OpGroup& group, bool in_place, const Arguments& arguments) {
    PyObject* handler =
        checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(dispatch.object)), "__torch_function__"));
    PyObject* function = group.callable_for(in_place);
    PyObject* args = checked(PyTuple_New(arguments.count));
    for (Py_ssize_t i = 0; i < arguments.count; ++i) PyTuple_SET_ITEM(args, i, Py_NewRef(arguments.values[i]));
    PyObject* kwargs = checked(PyDict_New());
    const Py_ssize_t names = arguments.names ? PyTuple_GET_SIZE(arguments.names) : 0;
    for (Py_ssize_t i = 0; i < names; ++i)
        PyDict_SetItem(kwargs, PyTuple_GET_ITEM(arguments.names, i), arguments.values[arguments.count + i]);
    PyObject* types = checked(PyTuple_Pack(1, Py_TYPE(dispatch.object)));
    PyObject* result = PyObject_CallFunctionObjArgs(handler, function, types, args, kwargs, nullptr);
    for (PyObject* object : {types, kwargs, args, handler}) Py_DECREF(object);
    return checked(result);
}

}  // namespace clew::bind
