#include "bind/types/overridable.h"

#include <structmember.h>

#include <cstddef>

#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/transforms/autocast.h"
#include "bind/types/objects.h"
#include "bind/types/torch_function.h"
#include "bind/types/type.h"

namespace clew::bind {

PyTypeObject overridable_type = blank_type();

namespace {

struct Overridable {
    PyObject_HEAD vectorcallfunc vectorcall;
    vectorcallfunc call;  // of the function
    PyObject* function;
    PyObject* module;  // where users find it; null: where the function is
    PyObject* asked;   // what __torch_function__ gets as `func`; null: this object
    PyObject* weak_references;
    AutocastRule autocast;
};
Overridable* overridable(PyObject* object) { return reinterpret_cast<Overridable*>(object); }

// Apart, so that what is hot stays small.
[[gnu::cold]] [[gnu::noinline]] PyObject* ask_instead(PyObject* callable, const Arguments& arguments) {
    return guarded([&] {
        PyObject* const asked = overridable(callable)->asked;
        return ask(asked ? asked : callable, arguments);
    });
}

// The name that the function has for an argument; null where it has none of its own.
PyObject* own_name(PyObject* names_of_function, PyObject* given) {
    for (const auto& [numpys, own] : kNumpysNames) {
        if (PyUnicode_CompareWithASCIIString(given, numpys) != 0) continue;
        PyObject* const name = checked(PyUnicode_InternFromString(own));
        const int found = PySequence_Contains(names_of_function, name);
        Py_DECREF(name);
        if (found > 0) return name;  // the function holds it
    }
    return nullptr;
}

// A call that failed since it gives arguments by NumPy's names is made again. No such name is one of the function's:
// the call failed before any of its code ran.
[[gnu::cold]] [[gnu::noinline]] PyObject* call_by_own_names(PyObject* callable, PyObject* const* args,
                                                            std::size_t flags, PyObject* names) {
    PyObject* const function = overridable(callable)->function;
    PyObject *kind, *value, *trace;
    PyErr_Fetch(&kind, &value, &trace);
    const Handle error_kind = Handle::steal(kind), error = Handle::steal(value), error_trace = Handle::steal(trace);
    return guarded([&]() -> PyObject* {
        const Handle takes = Handle::steal(PyObject_GetAttrString(function, "_takes_numpys_names"));
        PyErr_Clear();
        bool renamed = false;
        Handle own;
        if (takes) {
            auto* const code = reinterpret_cast<PyCodeObject*>(PyFunction_GET_CODE(function));
            const Handle variables = Handle::steal(checked(PyCode_GetVarnames(code)));
            const Handle of_function = Handle::steal(
                checked(PyTuple_GetSlice(as_object(variables), 0, code->co_argcount + code->co_kwonlyargcount)));
            own = Handle::steal(checked(PyTuple_New(PyTuple_GET_SIZE(names))));
            for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
                PyObject* given = PyTuple_GET_ITEM(names, i);
                const int known = PySequence_Contains(as_object(of_function), given);
                if (PyObject* const other = known ? nullptr : own_name(as_object(of_function), given))
                    given = other, renamed = true;
                PyTuple_SET_ITEM(as_object(own), i, Py_NewRef(given));
            }
        }
        if (renamed) return overridable(callable)->call(function, args, flags, as_object(own));
        PyErr_Restore(Py_XNewRef(as_object(error_kind)), Py_XNewRef(as_object(error)),
                      Py_XNewRef(as_object(error_trace)));
        return nullptr;
    });
}

[[gnu::cold]] [[gnu::noinline]] PyObject* call_in_autocast(PyObject* callable, const Arguments& arguments) {
    return guarded([&] {
        return run_autocast(overridable(callable)->autocast, callable, arguments, [&](const Arguments& cast) {
            return checked(overridable(callable)->call(overridable(callable)->function, cast.values,
                                                       static_cast<std::size_t>(cast.count), cast.names));
        });
    });
}

[[gnu::hot]] PyObject* call_overridable(PyObject* callable, PyObject* const* args, std::size_t flags, PyObject* names) {
    const Arguments arguments{args, PyVectorcall_NARGS(flags), names};
    if (is_asked_about(arguments)) [[unlikely]]
        return ask_instead(callable, arguments);
    if (is_autocast(overridable(callable)->autocast)) [[unlikely]]
        return call_in_autocast(callable, arguments);
    PyObject* const result = overridable(callable)->call(overridable(callable)->function, args, flags, names);
    if (result == nullptr && names != nullptr && PyErr_ExceptionMatches(PyExc_TypeError)) [[unlikely]]
        return call_by_own_names(callable, args, flags, names);
    return result;
}
// Of one that makes a tensor of what is no tensor, however that overrides operations elsewhere.
[[gnu::hot]] PyObject* call_creation(PyObject* callable, PyObject* const* args, std::size_t flags, PyObject* names) {
    if (mode(kFunctionMode)) [[unlikely]]
        return ask_instead(callable, {args, PyVectorcall_NARGS(flags), names});
    return overridable(callable)->call(overridable(callable)->function, args, flags, names);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(overridable(self)->function);
    Py_VISIT(overridable(self)->module);
    Py_VISIT(overridable(self)->asked);
    return 0;
}
void deallocate(PyObject* self) {
    PyObject_GC_UnTrack(self);
    if (overridable(self)->weak_references) PyObject_ClearWeakRefs(self);
    Py_CLEAR(overridable(self)->function);
    Py_CLEAR(overridable(self)->module);
    Py_CLEAR(overridable(self)->asked);
    PyObject_GC_Del(self);
}

PyObject* bind_to(PyObject* self, PyObject* instance, PyObject*) {
    if (instance == nullptr || instance == Py_None) return Py_NewRef(self);
    return PyMethod_New(self, instance);
}

PyObject* get_attribute(PyObject* self, PyObject* name) {
    if (PyObject* const own = PyObject_GenericGetAttr(self, name)) return own;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();
    return PyObject_GetAttr(overridable(self)->function, name);
}
int set_attribute_of_function(PyObject* self, PyObject* name, PyObject* value) {
    return PyObject_SetAttr(overridable(self)->function, name, value);
}
PyObject* attribute_of_function(PyObject* self, void* name) {
    return PyObject_GetAttrString(overridable(self)->function, static_cast<const char*>(name));
}
PyObject* module_of(PyObject* self, void*) {
    if (PyObject* const module = overridable(self)->module) return Py_NewRef(module);
    return PyObject_GetAttrString(overridable(self)->function, "__module__");
}
PyObject* represent(PyObject* self) { return PyObject_Repr(overridable(self)->function); }
// By name, as functions are.
PyObject* reduce(PyObject* self, PyObject*) {
    return PyObject_GetAttrString(overridable(self)->function, "__qualname__");
}

#define CLEW_OF_FUNCTION(name) {name, attribute_of_function, nullptr, nullptr, const_cast<char*>(name)}
PyGetSetDef attributes[] = {
    CLEW_OF_FUNCTION("__doc__"),
    CLEW_OF_FUNCTION("__dict__"),
    CLEW_OF_FUNCTION("__class__"),
    {"__module__", module_of, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};
#undef CLEW_OF_FUNCTION
PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT_EX, offsetof(Overridable, function), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr},
};
PyMethodDef methods[] = {
    {"__reduce__", reduce, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* new_overridable(PyObject* function, PyObject* module, vectorcallfunc asking) {
    auto* const made = PyObject_GC_New(Overridable, &overridable_type);
    checked(reinterpret_cast<PyObject*>(made));
    made->vectorcall = asking;
    made->call = PyVectorcall_Function(function);
    made->function = Py_NewRef(function);
    made->module = Py_XNewRef(module);
    made->asked = nullptr;
    made->weak_references = nullptr;
    made->autocast = {};
    PyObject_GC_Track(made);
    return reinterpret_cast<PyObject*>(made);
}

// (function, module, creates=False)
PyObject* make_overridable(PyObject*, PyObject* args) {
    PyObject *function, *module;
    int creates = 0;
    if (!PyArg_ParseTuple(args, "O!U|p:overridable", &PyFunction_Type, &function, &module, &creates)) return nullptr;
    return guarded([&] { return new_overridable(function, module, creates ? call_creation : call_overridable); });
}

// A property of Python whose functions ask: about `Tensor.name.__get__` and the like, as for properties of C.
PyObject* overridable_property(PyObject* property) {
    Handle parts[4];
    const char* const names[] = {"fget", "fset", "fdel", "__doc__"};
    for (int i = 0; i < 4; ++i) {
        parts[i] = Handle::steal(checked(PyObject_GetAttrString(property, names[i])));
        auto* const part = static_cast<PyObject*>(parts[i].get());
        if (PyFunction_Check(part)) parts[i] = Handle::steal(new_overridable(part, nullptr, call_overridable));
    }
    PyObject* const made = checked(PyObject_CallFunctionObjArgs(
        as_object(&PyProperty_Type), static_cast<PyObject*>(parts[0].get()), static_cast<PyObject*>(parts[1].get()),
        static_cast<PyObject*>(parts[2].get()), static_cast<PyObject*>(parts[3].get()), nullptr));
    const char* const accessors[] = {"__get__", "__set__", "__delete__"};
    for (int i = 0; i < 3; ++i)
        if (auto* const part = static_cast<PyObject*>(parts[i].get()); Py_IS_TYPE(part, &overridable_type))
            overridable(part)->asked = checked(PyObject_GetAttrString(made, accessors[i]));
    return made;
}

PyMethodDef functions[] = {
    {"overridable", make_overridable, METH_VARARGS,
     "(function, module, creates=False): the function as a callable that asks the classes of its arguments first, and\n"
     "is found in `module`. One that creates tensors asks modes only."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* function_of_overridable(PyObject* object) {
    return Py_IS_TYPE(object, &overridable_type) ? overridable(object)->function : nullptr;
}

AutocastRule& autocast_rule_of_overridable(PyObject* object) { return overridable(object)->autocast; }

PyObject* overridable_member(const char* name, PyObject* value) {
    const bool is_private = name[0] == '_' && name[1] != '_';
    if (PyFunction_Check(value) && !is_private) return new_overridable(value, nullptr, call_overridable);
    if (Py_IS_TYPE(value, &PyProperty_Type)) return overridable_property(value);
    return Py_NewRef(value);
}

void init_overridable(PyObject* module) {
    PyTypeObject& type = overridable_type;
    type.tp_name = "clew.OverridableFunction";
    type.tp_basicsize = sizeof(Overridable);
    type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                    Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION;
    type.tp_vectorcall_offset = offsetof(Overridable, vectorcall);
    type.tp_call = PyVectorcall_Call;
    type.tp_dealloc = deallocate;
    type.tp_traverse = traverse;
    type.tp_descr_get = bind_to;
    type.tp_getattro = get_attribute;
    type.tp_setattro = set_attribute_of_function;
    type.tp_repr = represent;
    type.tp_getset = attributes;
    type.tp_members = members;
    type.tp_methods = methods;
    type.tp_weaklistoffset = offsetof(Overridable, weak_references);
    checked(PyType_Ready(&type));
    checked(PyModule_AddObjectRef(module, "OverridableFunction", reinterpret_cast<PyObject*>(&type)));
    checked(PyModule_AddFunctions(module, functions));
}

}  // namespace clew::bind
