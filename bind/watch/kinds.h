// What kinds of objects there are, to a call that is watched.
#pragma once
#include <Python.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace clew::bind {

template <std::size_t N>
bool is_one_of(const std::string& name, const char* const (&list)[N]) {
    return std::any_of(list, list + N, [&](const char* one) { return name == one; });
}

constexpr int kDeepestContainer = 200;  // that is looked into

PyObject* from_module(const char* module, const char* name);
bool is_atom(PyObject* object);            // a number, a string, None: what it is can't change
bool is_tuple_of_atoms(PyObject* object);  // or of such tuples: two that are equal are the same value
bool is_dtype(PyObject* object);           // there is one of each
bool is_clews(PyTypeObject* type);         // written in C
bool is_clews_callable(PyObject* callee);  // by its module
bool is_python_class(PyTypeObject* type);  // one that can be changed
bool is_of_class_statement(PyTypeObject* type);
nanobind::object dict_of_class(PyObject* type);
bool is_builtin_container(PyObject* object);  // or a number or a string
inline bool may_be_followed(PyObject* object) { return PyFloat_CheckExact(object) || PyList_CheckExact(object); }
bool is_deque(PyObject* object);
bool is_namespace_type(PyTypeObject* type);  // types.SimpleNamespace itself
bool is_partial(PyObject* object);
bool is_item_getter(PyObject* object);
bool is_thread_local(PyTypeObject* type);
bool is_getter_of_tuple(PyObject* object);  // with names
struct PartialParts {
    nanobind::object function, given, named;
};
PartialParts parts_of(PyObject* partial);
bool is_exception_type(PyTypeObject* type);
bool is_descriptor_that_writes(PyObject* object);  // list.pop: methods.cpp
bool is_plain_instance(PyObject* object);          // of a class statement: it has a dict, and nothing else
bool is_read_by_python(PyObject* object);          // only watched Python, or callables that are known, can read it
bool is_exact_as_double(PyObject* object);         // an int
bool has_place(PyObject* list, PyObject* index);
bool is_told(const std::string& attribute);  // of tensors: the recorder is told when it is read or set
bool is_plain_dict(PyObject* object);        // of which all entries are set by PyDict_SetItem: no OrderedDict
bool has_python_method(PyTypeObject* type, const char* name);
PyObject* python_call_of(PyTypeObject* type);  // its `__call__`, borrowed; null: it has none that is a function
std::string full_name(PyObject* callee);       // with its module
PyObject* behind_proxy(PyObject* proxy);       // the dict of a mappingproxy, borrowed

}  // namespace clew::bind
