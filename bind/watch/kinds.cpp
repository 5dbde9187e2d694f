#include "bind/watch/kinds.h"

#include <string_view>

#include <nanobind/nanobind.h>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/types/overridable.h"
#include "bind/watch/values.h"

namespace nb = nanobind;

namespace clew::bind {

// Then its objects hold a dict, weak references and slots, which Python reads by name. Classes that C made of a
// specification (array.array) are heap types, too, but what they hold no name leads to.
bool is_of_class_statement(PyTypeObject* type) {
    if (!is_python_class(type)) return false;
    const PyTypeObject* const base = type->tp_base;
    PyObject* const slots = reinterpret_cast<PyHeapTypeObject*>(type)->ht_slots;
    Py_ssize_t named = slots ? PyTuple_GET_SIZE(slots) : 0;
    named += type->tp_weaklistoffset != base->tp_weaklistoffset;
    named += type->tp_dictoffset != base->tp_dictoffset;
    const auto pointer = static_cast<Py_ssize_t>(sizeof(PyObject*));
    return type->tp_basicsize <= base->tp_basicsize + named * pointer;
}

// For ever. Not by the `__import__` of the frame that is watched, which may have none, as where namedtuple() makes one.
PyObject* from_module(const char* module, const char* name) {
    const nb::tuple names = nb::make_tuple(name);
    const nb::object found = nb::steal(checked(PyImport_ImportModuleLevel(module, nullptr, nullptr, names.ptr(), 0)));
    return nb::object(found.attr(name)).release().ptr();
}

bool is_atom(PyObject* object) {
    return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyComplex_CheckExact(object) ||
           object == Py_Ellipsis || object == Py_NotImplemented;
}

bool is_tuple_of_atoms(PyObject* object) {
    if (!PyTuple_CheckExact(object)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
        if (PyObject* const one = PyTuple_GET_ITEM(object, i); !is_atom(one) && !is_tuple_of_atoms(one)) return false;
    return true;
}

bool is_read_by_python(PyObject* object) {
    if (PyType_Check(object) || PyFunction_Check(object) || PyMethod_Check(object) || PyModule_Check(object) ||
        PyCFunction_Check(object) || PyRange_Check(object) || PySlice_Check(object) || PyCode_Check(object) ||
        PyGen_CheckExact(object))
        return true;
    PyTypeObject* type = Py_TYPE(object);
    while (type && is_of_class_statement(type)) type = type->tp_base;
    return type == &PyBaseObject_Type || is_clews(type) || type == &operation_type || is_exception_type(type) ||
           type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type || type == &PyMethodDescr_Type ||
           type == &PyWrapperDescr_Type || type == &overridable_type;
}

bool is_exact_as_double(PyObject* object) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 && value <= (1LL << 53) && value >= -(1LL << 53);
}

// Whether the list has an item there.
bool has_place(PyObject* list, PyObject* index) {
    if (!PyLong_CheckExact(index)) return false;
    int overflow = 0;
    const long long place = PyLong_AsLongLongAndOverflow(index, &overflow);
    const long long size = PyList_GET_SIZE(list);
    return overflow == 0 && place < size && place >= -size;
}

bool is_python_class(PyTypeObject* type) {
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

bool is_builtin_container(PyObject* object) {
    return PyList_Check(object) || PyDict_Check(object) || PyTuple_Check(object) || PyAnySet_Check(object) ||
           PyUnicode_Check(object) || PyBytes_Check(object) || PyLong_Check(object) || PyFloat_Check(object) ||
           PyComplex_Check(object) || PyRange_Check(object) || PySlice_Check(object);
}

bool is_plain_instance(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (type->tp_new != PyBaseObject_Type.tp_new || type->tp_finalize || dict_of(object) == nullptr) return false;
    for (; is_of_class_statement(type); type = type->tp_base)
        if (reinterpret_cast<PyHeapTypeObject*>(type)->ht_slots) return false;
    return type == &PyBaseObject_Type;
}

bool is_deque(PyObject* object) {
    static PyObject* const type = from_module("collections", "deque");
    return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

bool is_namespace_type(PyTypeObject* type) {
    static PyObject* const known = from_module("types", "SimpleNamespace");
    return reinterpret_cast<PyObject*>(type) == known;
}

bool is_partial(PyObject* object) {
    static PyObject* const type = from_module("functools", "partial");
    return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

bool is_item_getter(PyObject* object) {
    static PyObject* const type = from_module("operator", "itemgetter");
    return reinterpret_cast<PyObject*>(Py_TYPE(object)) == type;
}

bool is_thread_local(PyTypeObject* type) {
    static PyObject* const local = from_module("_thread", "_local");
    return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(local));
}

bool is_getter_of_tuple(PyObject* object) {
    return std::string_view(Py_TYPE(object)->tp_name).ends_with("_tuplegetter");
}

PartialParts parts_of(PyObject* partial) {
    const auto part = [&](const char* name) { return nb::steal(checked(PyObject_GetAttrString(partial, name))); };
    return {part("func"), part("args"), part("keywords")};
}

bool is_exception_type(PyTypeObject* type) {
    return PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException));
}

bool is_plain_dict(PyObject* object) { return PyDict_Check(object) && !PyODict_Check(object); }

bool has_python_method(PyTypeObject* type, const char* name) {
    const nb::object key = nb::steal(PyUnicode_InternFromString(name));
    PyObject* const found = _PyType_Lookup(type, key.ptr());
    return found && PyFunction_Check(found);
}

PyObject* python_call_of(PyTypeObject* type) {
    static PyObject* const name = PyUnicode_InternFromString("__call__");
    PyObject* const found = _PyType_Lookup(type, name);
    return found && PyFunction_Check(found) ? found : nullptr;
}

bool is_told(const std::string& attribute) { return attribute == "grad" || attribute == "data"; }

bool is_dtype(PyObject* object) { return std::strcmp(Py_TYPE(object)->tp_name, "torch.dtype") == 0; }

bool is_clews(PyTypeObject* type) {
    constexpr const char* names[] = {"torch.dtype",         "torch.device", "torch.Size",  "torch.layout",
                                     "torch.memory_format", "torch.finfo",  "torch.iinfo", "torch.Generator"};
    return std::strncmp(type->tp_name, "clew.", 5) == 0 || is_one_of(type->tp_name, names);
}

nb::object dict_of_class(PyObject* type) {
#if PY_VERSION_HEX >= 0x030C0000
    return nb::steal(PyType_GetDict(reinterpret_cast<PyTypeObject*>(type)));
#else
    return nb::borrow(reinterpret_cast<PyTypeObject*>(type)->tp_dict);
#endif
}

std::string full_name(PyObject* callee) {
    const std::string module = text_of(callee, "__module__");
    const std::string name = text_of(callee, "__qualname__");
    if (name.empty()) return Py_TYPE(callee)->tp_name;
    return module.empty() ? name : module + "." + name;
}

PyObject* behind_proxy(PyObject* proxy) {
    struct Proxy {
        PyObject_HEAD PyObject* mapping;
    };
    return reinterpret_cast<Proxy*>(proxy)->mapping;
}

}  // namespace clew::bind
