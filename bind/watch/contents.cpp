// What values hold, and how they are used.
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/objects.h"
#include "core/base/error.h"

#if CLEW_READS_FRAMES

namespace nb = nanobind;

namespace clew::bind {

void Tracer::stay_eager(std::string text) {
    if (cause) return;
    // By the user's call, where it happens inside of a library: the user knows no more of it.
    if (const std::string called = public_callee(); !called.empty()) {
        const bool names_inside =
            text.starts_with("calls ") || text.starts_with("hands on ") || text.find('_') != text.npos;
        const bool says_what_to_do = text.find("which it has counted up") != text.npos;
        text = "calls " + called +
               (names_inside && !says_what_to_do ? ", whose reads cannot be tracked" : ", which " + text);
    }
    const Site site = users_site();
    cause = Cause{std::move(text), Handle::steal(site.code), site.instruction};
}

namespace {

// By an operator, a built-in function, a protocol: without an instruction that could be looked at.
bool is_called_by_c(const std::string& name) {
    static const std::unordered_set<std::string> plain{"keys", "send", "throw", "close", "mro"};
    static const std::unordered_set<std::string> data{
        "__dict__",    "__weakref__",   "__doc__",         "__module__",     "__name__",   "__qualname__",
        "__slots__",   "__args__",      "__parameters__",  "__origin__",     "__bound__",  "__constraints__",
        "__wrapped__", "__signature__", "__annotations__", "__match_args__", "__self__",   "__func__",
        "__spec__",    "__file__",      "__path__",        "__loader__",     "__package__"};
    if (!name.starts_with("__") || !name.ends_with("__")) return plain.contains(name);
    return !data.contains(name) && !name.starts_with("__forward_");
}

// A method in C that stands in a class as if it were inherited, or that reads no more than numbers and strings.
bool reads_no_more_than_given(PyTypeObject* holder, const std::string& name, PyObject* value) {
    if (Py_TYPE(value) == &operation_type || value == as_object(&Py_GenericAliasType)) return true;
    if (PyCFunction_Check(value) && name == "__new__" && PyCFunction_GET_SELF(value) &&
        PyType_Check(PyCFunction_GET_SELF(value)))
        return true;
    if (Py_TYPE(value) == &PyMethodDescr_Type || Py_TYPE(value) == &PyWrapperDescr_Type) {
        const auto* const method = reinterpret_cast<PyDescrObject*>(value);
        static const PyTypeObject* const atoms[] = {&PyLong_Type, &PyFloat_Type, &PyUnicode_Type, &PyBytes_Type,
                                                    &PyComplex_Type};
        if (std::ranges::find(atoms, method->d_type) != std::end(atoms)) return true;
        return name == utf8(method->d_name) && PyType_IsSubtype(holder, method->d_type);
    }
    return Py_TYPE(value) == &PyGetSetDescr_Type || is_getter_of_tuple(value) ||
           (!is_python_class(Py_TYPE(value)) && is_clews_callable(value));
}

std::string described(PyObject* value) {
    const std::string name = text_of(value, "__qualname__");
    return name.empty() ? std::string("a ") + Py_TYPE(value)->tp_name : name;
}

}  // namespace

// What C calls for an operator is looked up in the class, whatever it is: a bound method, an object with `__call__`.
void Tracer::touch_class(PyTypeObject* type) {
    if (!state.type(type)) return;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
        PyObject* const one = PyTuple_GET_ITEM(type->tp_mro, i);
        if (!is_python_class(reinterpret_cast<PyTypeObject*>(one))) continue;
        const nb::object names = dict_of_class(one);
        PyObject *name, *value;
        for (Py_ssize_t place = 0; PyDict_Next(names.ptr(), &place, &name, &value);) {
            if (PyUnicode_Check(name) && is_called_by_c(utf8(name)))
                special_method(reinterpret_cast<PyTypeObject*>(one), utf8(name), value);
            else if (!PyFunction_Check(value) && !PyType_Check(value))
                add_older(value);
        }
    }
}

// Note [Special methods]
// C calls a special method without an instruction that could be looked at. A function in Python is watched as it
// begins, however it is wrapped up; what it returns to C is looked at as it returns. Of what is written in C only those
// may stand there that read no more than the objects which they are given.
void Tracer::special_method(PyTypeObject* holder, const std::string& name, PyObject* value) {
    if (PyFunction_Check(value) || is_atom(value)) return;
    PyTypeObject* const type = Py_TYPE(value);
    if (reads_no_more_than_given(holder, name, value)) return;
    if (!PyType_Check(value)) add_older(value);
    if (type == &PyStaticMethod_Type || type == &PyClassMethod_Type) {
        const nb::object inner = nb::steal(checked(PyObject_GetAttrString(value, "__func__")));
        return special_method(holder, name, inner.ptr());
    }
    if (PyMethod_Check(value)) return special_method(holder, name, PyMethod_GET_FUNCTION(value));
    if (type == &PyProperty_Type) {
        for (const char* const part : {"fget", "fset", "fdel"})
            special_method(holder, name, nb::steal(checked(PyObject_GetAttrString(value, part))).ptr());
        return;
    }
    const bool callable = PyCallable_Check(value);
    if (!callable && type->tp_descr_get == nullptr) return;  // an error, if it is called
    if (PyType_Check(value) && name == "__class__") return;  // which it pretends to be of
    if (PyType_Check(value) && is_of_class_statement(reinterpret_cast<PyTypeObject*>(value)))
        return touch_class(reinterpret_cast<PyTypeObject*>(value));
    if (!PyType_Check(value) && is_of_class_statement(type)) {
        touch_class(type);
        if (!callable || python_call_of(type)) return;
    }
    stay_eager(std::string("has a class, ") + holder->tp_name + ", whose " + name + " is " + described(value) +
               ", which is not Python");
}

void Tracer::touch(PyObject* object) {
    touch_class(Py_TYPE(object));
    if (PyType_Check(object))
        touch_class(reinterpret_cast<PyTypeObject*>(object));
    else if (is_python_class(Py_TYPE(object)) && older_.contains(object))
        state.instance(object);
}

// Of a dict or a set: C hashes it, and compares it with others.
void Tracer::touch_key(PyObject* key) {
    if (is_atom(key)) return;
    if (PyTuple_CheckExact(key))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i) touch_key(PyTuple_GET_ITEM(key, i));
    else
        touch(key);
}

void Tracer::ask_class(PyObject* object) {
    touch(object);
    if (TensorObject* const tensor = as_tensor(object)) note(tensor);
}

// Which object a tensor is, the key or a guard has to tell. What a .grad was set to before the call may be known by
// another name, too.
void Tracer::note_identity(PyObject* object) {
    if (PyTuple_CheckExact(object))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) note_identity(PyTuple_GET_ITEM(object, i));
    if (is_argument(object) && !is_builtin_container(object) && !as_tensor(object))
        return stay_eager(std::string("asks which ") + Py_TYPE(object)->tp_name + " an argument is");
    if (as_tensor(object) == nullptr) return;
    compared.insert(object);
    if (gradients_.contains(object) && is_older(object)) stay_eager("compares which tensor a .grad is");
}

void Tracer::identity(PyObject* left, PyObject* right) {
    if (left == Py_None || right == Py_None) return;
    use(left);
    use(right);
    if (!as_tensor(left) && !as_tensor(right)) {  // the key tells what a container has, not which one it is
        const bool may_be_same = Py_TYPE(left) == Py_TYPE(right);
        if (may_be_same && ((is_argument(left) && is_older(right)) || (is_argument(right) && is_older(left))))
            stay_eager(std::string("compares which ") + Py_TYPE(left)->tp_name + " an argument is");
        return;
    }
    if (!as_tensor(left) || !as_tensor(right) || !is_older(left) || !is_older(right)) return;
    for (PyObject* const one : {left, right}) {
        note_identity(one);
        if (!is_argument(one) && !state.mentions(one)) stay_eager("compares which tensor a .grad is");
    }
}

// What it holds, so that who is given it may read that: of what it holds no more than which objects, unless `deep`.
void Tracer::contents(PyObject* object, bool deep) {
    if (object && is_exact_tensor(object)) return;  // no number, and of no class that could be another
    use(object);
    if (object == nullptr || is_atom(object)) return;
    touch(object);
    if (as_tensor(object)) return;
    if (!deep && option_tuples_.contains(object)) return;  // whoever takes an item is seen
    const bool older = is_older(object);
    const Looking looking(*this);
    if (deep && !looked_at_.insert(object).second) return;
    if (looking_ > kDeepestContainer) return stay_eager("reads containers that lie too deep in one another");
    if (!PyTuple_Check(object) && !PyList_Check(object) && !PyDict_Check(object))
        deep ? use_all(object) : use_if_read(object);
    const auto holds = [&](PyObject* one) {
        if (older) add_older(one);
        deep ? contents(one) : use(one);
    };
    if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) holds(PyTuple_GET_ITEM(object, i));
    } else if (PyList_Check(object)) {
        if (older) state.list(object);
        for (const Effect& one : effects)
            if (one.holder.ptr() == object) stay_eager("reads a list that it has changed");
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i) holds(PyList_GET_ITEM(object, i));
    } else if (PyDict_Check(object)) {
        if (!is_as_before(object)) return stay_eager("reads all of a dict that it has changed");
        if (older) state.whole(object);
        for (Counter& one : counters)
            if (one.dict.ptr() == object) read_counter(one);
        PyObject *key, *value;
        for (Py_ssize_t place = 0; PyDict_Next(object, &place, &key, &value);) {
            if (older) add_older(key);
            touch_key(key);
            if (deep && PyTuple_Check(key)) contents(key);
            holds(value);
        }
    } else if (PyAnySet_Check(object)) {
        if (older && !PyFrozenSet_Check(object)) state.set(object);
        for (const nb::object& item : older ? items_of(object) : std::vector<nb::object>()) {
            add_older(item.ptr());
            touch_key(item.ptr());
            if (deep && PyTuple_Check(item.ptr())) contents(item.ptr());
        }
    } else if (PySlice_Check(object)) {
        auto* const slice = reinterpret_cast<PySliceObject*>(object);
        for (PyObject* const one : {slice->start, slice->stop, slice->step}) holds(one);
    } else if (older && Py_TYPE(object) == &PyDictProxy_Type) {
        PyObject* const dict = behind_proxy(object);
        add_older(dict);
        contents(dict);
    } else if (PyDictKeys_Check(object) || PyDictValues_Check(object) || PyDictItems_Check(object)) {
        struct View {
            PyObject_HEAD PyObject* dict;
        };
        PyObject* const dict = reinterpret_cast<View*>(object)->dict;
        if (older) add_older(dict);
        if (is_older(dict)) contents(dict, deep);
    } else if (PyCFunction_Check(object) || is_partial(object) ||
               (PyMethod_Check(object) && !PyFunction_Check(PyMethod_GET_FUNCTION(object)))) {
        call(object, nullptr, 0);  // who is given it may call it
    } else if (is_item_getter(object)) {
        return;  // of objects that are looked at, too
    } else if (deep && PyWeakref_CheckRefExact(object) && PyType_Check(PyWeakref_GET_OBJECT(object))) {
        return;  // a key
    } else if (deep && is_descriptor_that_writes(object)) {
        stay_eager(std::string("hands on ") + text_of(object, "__qualname__") + ", which may be called");
    } else if (older && PyGen_CheckExact(object)) {
        stay_eager("continues an iterator from before the call");
    } else if (deep && PyCallable_Check(object) && !is_read_by_python(object)) {
        stay_eager(std::string("hands on a ") + Py_TYPE(object)->tp_name + ", which may be called");
    } else if (older && (!is_read_by_python(object) || is_exception_type(Py_TYPE(object)))) {
        stay_eager(std::string("reads a ") + Py_TYPE(object)->tp_name + " from before the call");
    }
}

void Tracer::iterate(PyObject* object) {
    if (as_tensor(object)) return;
    if (PyIter_Check(object) && is_older(object) && !PyGen_CheckExact(object))
        return stay_eager("continues an iterator from before the call");
    contents(object, false);
}

void Tracer::load_global(_PyInterpreterFrame& frame, PyObject* name) {
    if (!PyDict_CheckExact(frame.f_globals) || !PyDict_CheckExact(frame.f_builtins))
        return stay_eager("has globals that are no plain dict");
    state.entry(frame.f_globals, name);
    PyObject* value = PyDict_GetItemWithError(frame.f_globals, name);
    if (value == nullptr) {
        state.entry(frame.f_builtins, name);
        value = PyDict_GetItemWithError(frame.f_builtins, name);
    }
    add_older(value);
}

void Tracer::import(_PyInterpreterFrame& frame, PyObject* name, PyObject* level) {
    static PyObject* const importer = PyUnicode_InternFromString("__import__");
    state.entry(frame.f_builtins, importer);
    PyObject* const import = look_up(frame.f_builtins, importer);
    if (import && PyFunction_Check(import)) return add_older(import);  // watched
    if (import == nullptr || !PyCFunction_Check(import) || full_name(import) != "builtins.__import__")
        return stay_eager("imports by an __import__ that is not Python");
    PyObject* const modules = PyImport_GetModuleDict();
    nb::object full = nb::borrow(name);
    if (const long up = PyLong_AsLong(level); up > 0) {
        static PyObject* const key = PyUnicode_InternFromString("__package__");
        state.entry(frame.f_globals, key);
        PyObject* const package = look_up(frame.f_globals, key);
        if (package == nullptr || !PyUnicode_Check(package)) return stay_eager("imports a module");
        std::string text = utf8(package);
        for (long i = 1; i < up; ++i) text.resize(std::min(text.rfind('.'), text.size()));
        if (PyUnicode_GET_LENGTH(name)) text += std::string(".") + utf8(name);
        full = nb::steal(PyUnicode_InternFromString(text.c_str()));
    }
    PyObject* const module = PyDict_GetItemWithError(modules, full.ptr());
    if (module == nullptr) return stay_eager("imports a module for the first time");
    state.entry(modules, full.ptr());
    add_older(module);
    const std::string path = utf8(full.ptr());
    if (PyLong_AsLong(level) > 0 || path.find('.') == path.npos) return;
    const nb::object first = nb::steal(PyUnicode_InternFromString(path.substr(0, path.find('.')).c_str()));
    state.entry(modules, first.ptr());  // which `import a.b` gives
    add_older(look_up(modules, first.ptr()));
}

// What a package has not, it may have as a module that is imported already.
void Tracer::import_from(PyObject* module, PyObject* name) {
    attribute(module, name);
    if (!PyModule_CheckExact(module) || look_up(PyModule_GetDict(module), name)) return;
    static PyObject* const key = PyUnicode_InternFromString("__name__");
    look_up_entry(PyModule_GetDict(module), key);
    PyObject* const package = look_up(PyModule_GetDict(module), key);
    if (package == nullptr || !PyUnicode_Check(package)) return;
    const nb::object full = nb::steal(checked(PyUnicode_FromFormat("%U.%U", package, name)));
    PyObject* const modules = PyImport_GetModuleDict();
    state.entry(modules, full.ptr());
    add_older(look_up(modules, full.ptr()));
}

// `raise E`, `raise e from f`; without operands the exception that is handled, which may be one of the caller's.
void Tracer::raise(PyObject* const* operands, int count) {
    if (count == 0) {
        const nb::object handled = nb::steal(PyErr_GetHandledException());
        if (!handled.is_valid() || handled.is_none() || handled.is(handled_before_))
            stay_eager("raises again what is handled around the call");
        return;
    }
    for (int i = 0; i < count; ++i) {
        touch(operands[i]);
        if (PyExceptionClass_Check(operands[i]))
            call(operands[i], nullptr, 0);
        else if (is_older(operands[i]))
            stay_eager("raises an exception from before the call");
    }
}

// `except classes`: by the bases of its class alone.
void Tracer::match_exception(PyObject* exception, PyObject* classes) {
    touch(exception);
    contents(classes, false);
}

}  // namespace clew::bind

#endif
