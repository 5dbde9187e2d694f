// Attributes and items: what a read finds is a guard, if the object is older than the call.
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <cstring>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/autograd/leaf.h"
#include "core/base/error.h"

#if CLEW_READS_FRAMES

namespace nb = nanobind;

namespace clew::bind {
namespace {

// Attributes of tensors that are geometry.
constexpr const char* kGeometry[] = {
    "shape",     "dtype",        "ndim",      "device",   "layout",  "requires_grad",      "is_leaf",
    "itemsize",  "nbytes",       "is_sparse", "is_cuda",  "is_meta", "_is_wrapped_number", "names",
    "is_nested", "is_quantized", "is_mkldnn", "__class__"};

bool reads_plainly(PyTypeObject* type) {
    if (type->tp_getattro == PyObject_GenericGetAttr) return true;
    // A class with __getattr__ in Python: plain first, then that function, which is watched. A module of such a class,
    // too, as `torch` is after as_torch().
    static PyObject* const name = PyUnicode_InternFromString("__getattribute__");
    PyTypeObject* const base = PyType_IsSubtype(type, &PyModule_Type) ? &PyModule_Type : &PyBaseObject_Type;
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && _PyType_Lookup(type, name) == _PyType_Lookup(base, name);
}

// What the call has made itself and that has older objects all the same.
bool leads_out_of_call(PyObject* object, PyObject* name) {
    if (PyFrame_Check(object)) return true;
    if (is_exception_type(Py_TYPE(object))) return std::strcmp(utf8(name), "__context__") == 0;
    return PyFunction_Check(object) && is_one_of(utf8(name), {"__globals__", "__builtins__", "__closure__"});
}

// Whose methods those of classes in Python call by super().
PyTypeObject* base_in_c(PyTypeObject* type) {
    while (type->tp_base && is_python_class(type)) type = type->tp_base;
    return type;
}

bool is_union(PyObject* object) {
    static PyObject* const type = from_module("types", "UnionType");
    return as_object(Py_TYPE(object)) == type;
}

// In a module's __dict__. It is Python, and watched.
PyObject* module_getter() {
    static PyObject* const name = PyUnicode_InternFromString("__getattr__");
    return name;
}

}  // namespace

// A look-up compares with what has the same hash, by what its class has for that.
void Tracer::touch_keys(PyObject* dict) {
    if (!touched_keys_.insert(dict).second) return;
    hold(nb::borrow(dict));
    PyObject *key, *value;
    for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &key, &value);) touch_key(key);
}

void Tracer::look_up_entry(PyObject* dict, PyObject* key) {
    if (Counter* const counter = counter_of(dict, key)) return read_counter(*counter);
    if (was_set(dict, key)) return;
    if (follow_option(dict, key)) return;
    touch_keys(dict);
    state.entry(dict, key);
    PyObject* const value = PyDict_GetItemWithError(dict, key);
    if (value == nullptr && PyErr_Occurred()) throw PythonError();
    add_older(value);
}

// What a class has for an attribute, which is older as it is. It may decide itself what reading it gives.
void Tracer::descriptor(PyObject* found) {
    if (found == nullptr) return;
    add_older(found);
    if (Py_TYPE(found) == &PyStaticMethod_Type || Py_TYPE(found) == &PyClassMethod_Type)
        add_older(nb::steal(checked(PyObject_GetAttrString(found, "__func__"))).ptr());
    if ((Py_TYPE(found)->tp_flags & Py_TPFLAGS_HEAPTYPE) && !PyType_Check(found)) touch(found);
}

// isinstance() believes what an object has for a `__class__`.
void Tracer::pretended_class(PyObject* object) {
    static PyObject* const name = PyUnicode_InternFromString("__class__");
    PyTypeObject* const type = Py_TYPE(object);
    if (as_tensor(object) || !is_python_class(type)) return;
    if (_PyType_Lookup(type, name) != _PyType_Lookup(&PyBaseObject_Type, name)) instance_attribute(object, name);
}

void Tracer::kinds(PyObject* classes) {
    if (PyTuple_Check(classes)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(classes); ++i) kinds(PyTuple_GET_ITEM(classes, i));
        return;
    }
    if (is_union(classes))  // int | Kind
        return kinds(nb::steal(checked(PyObject_GetAttrString(classes, "__args__"))).ptr());
    contents(classes);
    if (PyType_Check(classes)) return;
    touch(classes);
    if (!has_python_method(Py_TYPE(classes), "__instancecheck__") &&
        !has_python_method(Py_TYPE(classes), "__subclasscheck__"))
        stay_eager(std::string("calls isinstance() with a ") + Py_TYPE(classes)->tp_name + ", which is no class");
}

void Tracer::attribute(PyObject* object, PyObject* name) {
    use(object);
    ask_class(object);
    if (as_tensor(object)) return tensor_attribute(object, name);
    if (PyModule_CheckExact(object)) return module_attribute(object, name);
    if (PyType_Check(object)) return type_attribute(object, name);
    if (Py_TYPE(object) == &PySuper_Type) return attribute_of_super(object, name);
    if (Py_TYPE(object) == &Py_GenericAliasType)  // of what it is an alias of
        return attribute(nb::steal(checked(PyObject_GetAttrString(object, "__origin__"))).ptr(), name);
    if (leads_out_of_call(object, name))
        return stay_eager(std::string("reads ") + utf8(name) + " of a " + Py_TYPE(object)->tp_name);
    if (PyFunction_Check(object) || PyMethod_Check(object)) {
        PyObject* const function = PyMethod_Check(object) ? PyMethod_GET_FUNCTION(object) : object;
        if (!is_older(function)) return;
        state.function(function);
        PyObject* const found = _PyType_Lookup(&PyFunction_Type, name);
        if (found == nullptr || !Py_TYPE(found)->tp_descr_set) {
            nb::steal(checked(PyObject_GenericGetDict(function, nullptr)));  // makes it, so that it can be watched
            state.instance(function);
            look_up_entry(dict_of(function), name);
        } else {
            state.slot(function, found);
            const nb::object value = nb::steal(PyObject_GetAttr(function, name));
            PyErr_Clear();
            add_older(value.ptr());
        }
        return;
    }
    instance_attribute(object, name);
}

// `case kind(a, b, name=c)`: of what class the subject is, and then the attributes that stand for the places.
void Tracer::match_class(PyObject* subject, PyObject* kind, PyObject* names, int positional) {
    if (!PyType_Check(kind)) return;  // an error
    ask_class(subject);
    if (!as_tensor(subject)) pretended_class(subject);
    kinds(kind);
    if (has_python_method(Py_TYPE(kind), "__instancecheck__") &&
        Py_TYPE(subject) != reinterpret_cast<PyTypeObject*>(kind))
        return stay_eager("matches a pattern of a class with its own __instancecheck__");
    const int is_one = PyObject_IsInstance(subject, kind);
    checked(is_one);
    if (is_one == 0) return;
    static PyObject* const places = PyUnicode_InternFromString("__match_args__");
    PyObject* const arguments = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(kind), places);
    type_attribute(kind, places);
    for (Py_ssize_t i = 0; arguments && PyTuple_CheckExact(arguments) && i < positional; ++i)
        if (i < PyTuple_GET_SIZE(arguments)) attribute(subject, PyTuple_GET_ITEM(arguments, i));
    if (positional && arguments == nullptr) contents(subject);  // int(n)
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) attribute(subject, PyTuple_GET_ITEM(names, i));
}

void Tracer::attribute_of_super(PyObject* super, PyObject* name) {
    const auto part = [&](const char* of) {
        nb::object found = nb::steal(PyObject_GetAttrString(super, of));
        PyErr_Clear();
        return found;
    };
    // The class after which the search begins, and the one whose order counts.
    const nb::object after = part("__thisclass__"), self_class = part("__self_class__"), self = part("__self__");
    if (!self_class.is_valid() || !PyType_Check(self_class.ptr())) return;
    touch(self_class.ptr());
    PyObject* const order = reinterpret_cast<PyTypeObject*>(self_class.ptr())->tp_mro;
    bool begun = false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(order); ++i) {
        PyObject* const one = PyTuple_GET_ITEM(order, i);
        const nb::object names = begun ? dict_of_class(one) : nb::object();
        begun = begun || one == after.ptr();
        PyObject* const found = names.is_valid() ? PyDict_GetItemWithError(names.ptr(), name) : nullptr;
        if (found == nullptr) continue;
        descriptor(found);
        if (!self.is_none() && !PyType_Check(self.ptr())) data_attribute(self.ptr(), found, name);
        return;
    }
}

// What a data descriptor of its class gives; false: it is none.
bool Tracer::data_attribute(PyObject* object, PyObject* found, PyObject* name) {
    if (found == nullptr || !Py_TYPE(found)->tp_descr_set) return false;
    PyTypeObject* const type = Py_TYPE(object);
    const bool older = is_older(object);
    if (Py_TYPE(found) == &PyMemberDescr_Type) {
        if (!older) return true;
        state.instance(object);
        state.slot(object, found);
        const nb::object value = nb::steal(Py_TYPE(found)->tp_descr_get(found, object, as_object(type)));
        PyErr_Clear();
        add_older(value.ptr());
    } else if (Py_TYPE(found) == &PyGetSetDescr_Type) {
        if (!older || is_clews(type)) return true;
        state.instance(object);
        const char* const text = utf8(name);
        if (std::strcmp(text, "__dict__") == 0)
            add_older(dict_of(object));
        else if (std::strcmp(text, "__class__") != 0)
            stay_eager(std::string("reads ") + text + " of a " + type->tp_name);
    } else if (PyObject_TypeCheck(found, &PyProperty_Type)) {
        const nb::object getter = nb::steal(PyObject_GetAttrString(found, "fget"));
        add_older(getter.ptr());
        if (!getter.is_none() && !PyFunction_Check(getter.ptr())) call(getter.ptr(), &object, 1);  // others are watched
    } else if (is_getter_of_tuple(found)) {
        if (older) contents(object, false);
    } else if (older && !has_python_method(Py_TYPE(found), "__get__")) {
        stay_eager(std::string("reads a ") + Py_TYPE(found)->tp_name);
    }
    return true;
}

// Each thread has a dict of its own for a threading.local. A replay on another thread is none.
PyObject* Tracer::own_of_thread(PyObject* local) {
    const nb::object own = nb::steal(checked(PyObject_GetAttrString(local, "__dict__")));
    state.thread_local_dict(local, own.ptr());
    add_older(own.ptr());
    return own.ptr();
}

void Tracer::instance_attribute(PyObject* object, PyObject* name, bool by_base) {
    PyTypeObject* const type = Py_TYPE(object);
    const bool older = is_older(object);
    if (is_thread_local(type) && older) {
        PyObject* const found = _PyType_Lookup(type, name);
        descriptor(found);
        PyObject* const own = own_of_thread(object);
        if (std::strcmp(utf8(name), "__dict__") == 0) return add_older(own);
        if (!found || !Py_TYPE(found)->tp_descr_set) look_up_entry(own, name);
        return;
    }
    if (!reads_plainly(by_base ? base_in_c(type) : type)) {
        if (has_python_method(type, "__getattribute__") || is_clews(type) || !older) return;
        return stay_eager(std::string("reads an attribute of a ") + type->tp_name);
    }
    PyObject* const found = _PyType_Lookup(type, name);
    descriptor(found);
    if (data_attribute(object, found, name) || !older) return;
    state.instance(object);
    if (PyObject* const dict = dict_of(object)) {
        if (!counter_of(dict, name) && !was_set(dict, name) && begins_to_count(dict, name)) return;
        look_up_entry(dict, name);
        if (PyDict_GetItemWithError(dict, name) == nullptr && PyModule_Check(object))
            look_up_entry(dict, module_getter());
    }
}

// It becomes an input: what it is is compared, and what .data or detach() give lies in its memory.
void Tracer::note(TensorObject* tensor) {
    if (tensor->has(TensorObject::kPreexisting)) recorder_.meet(Tensor(tensor));
}

void Tracer::tensor_attribute(PyObject* object, PyObject* name) {
    TensorObject* const tensor = as_tensor(object);
    const char* const text = utf8(name);
    PyTypeObject* const type = Py_TYPE(object);
    PyObject* const found = _PyType_Lookup(type, name);
    const bool older = tensor->has(TensorObject::kPreexisting);
    if (is_one_of(text, kGeometry)) return;
    if (older && std::strcmp(text, "grad") == 0 && tensor->extras && tensor->extras->grad)
        gradients_.insert(as_object(tensor->extras->grad.get()));
    if (is_told(text) || (found && is_operation_property(found))) return;
    if (found && (PyFunction_Check(found) || !Py_TYPE(found)->tp_descr_set)) {  // a method: its call is seen
        descriptor(found);
        PyObject* const dict = dict_of(object);
        if (!older || (dict == nullptr && is_exact_tensor(object))) return;
        state.instance(object);
        if (dict) look_up_entry(dict, name);
        return;
    }
    if (found && PyObject_TypeCheck(found, &PyProperty_Type)) return instance_attribute(object, name);
    if (found == nullptr && older) {
        if (PyObject* const dict = dict_of(object)) {
            state.instance(object);
            return look_up_entry(dict, name);
        }
    }
    // Of what needs no gradient it is None.
    if (found && std::strcmp(text, "grad_fn") == 0 && (!older || !Tensor(tensor).requires_grad())) return note(tensor);
    stay_eager(std::string("reads ") + text + " of a tensor");
}

void Tracer::type_attribute(PyObject* object, PyObject* name) {
    auto* const type = reinterpret_cast<PyTypeObject*>(object);
    if (PyObject* const found = _PyType_Lookup(type, name)) return descriptor(found);
    PyObject* const of_meta = _PyType_Lookup(Py_TYPE(object), name);
    descriptor(of_meta);
    if (of_meta && std::strcmp(utf8(name), "__dict__") == 0) return stay_eager("reads the dict of a class");
    if (of_meta && Py_TYPE(of_meta)->tp_descr_set && (type->tp_flags & Py_TPFLAGS_HEAPTYPE))
        state.slot(object, of_meta);
}

void Tracer::module_attribute(PyObject* module, PyObject* name) {
    if (!is_older(module)) return stay_eager("reads a module that it did not import");
    state.instance(module);
    PyObject* const dict = PyModule_GetDict(module);
    if (std::strcmp(utf8(name), "__dict__") == 0) return add_older(dict);
    look_up_entry(dict, name);
    if (PyDict_GetItemWithError(dict, name)) return;
    look_up_entry(dict, module_getter());
    PyObject* const getter = PyDict_GetItemWithError(dict, module_getter());
    if (getter && !PyFunction_Check(getter)) stay_eager("reads by a __getattr__ of a module that is no function");
}

void Tracer::subscript(PyObject* container, PyObject* key) {
    use(container);
    note_identity(key);
    contents(key);
    if (as_tensor(container)) return;
    touch(container);
    const bool older = is_older(container);
    if (PyTuple_Check(container)) {
        if (older) contents(container, false);
        return;
    }
    if (PyList_CheckExact(container)) {
        if (older) contents(container, false);
        return;
    }
    if (Py_TYPE(container) == &PyDictProxy_Type) {
        if (older) add_older(behind_proxy(container));
        return subscript(behind_proxy(container), key);
    }
    if (PyDict_Check(container) && !has_python_method(Py_TYPE(container), "__getitem__")) {
        static PyObject* const missing = PyUnicode_InternFromString("__missing__");
        if (!older) return;
        if (PyDict_CheckExact(container) && !counter_of(container, key) && !was_set(container, key) &&
            (PyUnicode_CheckExact(key) || PyLong_CheckExact(key)) && begins_to_count(container, key))
            return;
        look_up_entry(container, key);
        PyObject* const found = PyDict_GetItemWithError(container, key);
        if (found == nullptr && _PyType_Lookup(Py_TYPE(container), missing))
            stay_eager("makes an entry of a dict from before the call");
        return;
    }
    if (PyType_Check(container)) return;  // list[int]
    if (older && !has_python_method(Py_TYPE(container), "__getitem__") && !PyUnicode_Check(container) &&
        !PyRange_Check(container) && !PyBytes_Check(container))
        return stay_eager(std::string("reads an item of a ") + Py_TYPE(container)->tp_name);
    contents(container);
}

}  // namespace clew::bind

#endif
