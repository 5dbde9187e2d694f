// Operations as Python callables: one object for each name, made from the registry; it names no operation.
#pragma once
#include <Python.h>

#include <string>
#include <vector>

#include "core/ops/apply.h"

namespace clew::bind {

struct Overload {
    const OpDef* def;
    std::vector<char> defaults;     // attributes as the schema's defaults say
    int tensors = 0;                // tensor arguments that must be given
    std::uint32_t operands = 0;     // bit i: the i-th of them may be a number
    Py_ssize_t plain_tensors = -1;  // so many tensors alone may be the arguments of the common call; or -1
};

// All overloads of one name.
struct OpGroup {
    std::string name;
    std::vector<Overload> overloads;
    PyObject* return_type = nullptr;  // a named tuple for several outputs
    PyObject* callable = nullptr;     // the one object that programs see, and that of the derived in-place form
    PyObject* in_place_callable = nullptr;

    PyObject* callable_for(bool in_place) const { return in_place && in_place_callable ? in_place_callable : callable; }
};

OpGroup* find_group(const std::string& name);

// Calls a group like Python would. `in_place`: the derived form that writes over the first argument. `dying`: the
// argument that the result may be written over (Note [Temporaries]).
PyObject* call_group(OpGroup& group, bool in_place, PyObject* const* args, Py_ssize_t count, PyObject* names,
                     const TensorObject* dying = nullptr);

// Slots of the number protocol; a group may be null where no operation claims the operator. `reflected` is for a number
// on the left: it is called with the operands exchanged.
PyObject* binary_operator(OpGroup* group, OpGroup* reflected, PyObject* a, PyObject* b);
PyObject* in_place_operator(OpGroup* group, PyObject* a, PyObject* b);
PyObject* unary_operator(OpGroup* group, PyObject* a);

// Makes a callable for a definition that joined the registry after init_operations(), and puts it where its flags say.
PyObject* publish(const OpDef& def);
// Makes groups and callables from the registry and puts them where their flags say.
void init_operations(PyObject* module);
OpGroup* group_for_operator(const char* dunder);

}  // namespace clew::bind
