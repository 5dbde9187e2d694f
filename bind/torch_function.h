// Subclasses: __torch_function__, and results of the subclass's type.
#pragma once
#include <Python.h>

#include "bind/parse.h"

namespace clew::bind {

// The argument whose class decides, if any; borrowed.
struct Dispatch {
    PyObject* object = nullptr;
    explicit operator bool() const { return object != nullptr; }
};
Dispatch find_dispatch(const Arguments& arguments);
PyObject* dispatch_call(const Dispatch& dispatch, OpGroup& group, bool in_place, const Arguments& arguments);

}  // namespace clew::bind
