// The Python object of an operation: callable like a function, and a method of tensors when put into their type.
#pragma once
#include "bind/calls/operation.h"

namespace clew::bind {

struct OperationObject {
    PyObject_HEAD vectorcallfunc vectorcall;
    OpGroup* group;
    bool in_place;
    PyObject* name;
    PyObject* dict;
};
extern PyTypeObject operation_type;

inline OperationObject* self_of(PyObject* object) { return reinterpret_cast<OperationObject*>(object); }

PyObject* new_operation(OpGroup* group, bool in_place);
// x.T, an operation without parentheses.
PyObject* new_property(OpGroup& group);
bool is_operation_property(PyObject* descriptor);
void init_operation_type(PyObject* module);

// What vectorcall does.
PyObject* operation_call(PyObject* callable, PyObject* const* args, std::size_t flags, PyObject* names);
// What the registry says of each overload, for docs, stubs and tests.
PyObject* overloads_list(const OpGroup& group);
// clew._core.infer and clew._core.jvp.
void init_operation_queries(PyObject* module);

}  // namespace clew::bind
