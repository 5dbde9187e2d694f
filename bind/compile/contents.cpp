// What values hold, and how they are used.
#include "bind/compile/kinds.h"
#include "bind/compile/tracer.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "bind/errors.h"
#include "bind/objects.h"
#include "core/base/error.h"

#if CLEW_READS_FRAMES

namespace nb = nanobind;

namespace clew::bind {

void Tracer::stay_eager(std::string text) {
    if (cause) return;
    const Site site = runtime.current_site();
    cause = Cause{std::move(text), Handle::steal(site.code), site.instruction};
}

namespace {

bool is_special(PyObject* name) {
    const std::string_view text = utf8(name);
    return text.starts_with("__") && text.ends_with("__");
}

// A method in C of some object (`log.append`), a cache, a partial: what these read and write is not seen.
bool is_bound_in_c(PyObject* value) {
    PyObject* const self = PyCFunction_Check(value) ? PyCFunction_GET_SELF(value) : nullptr;
    const std::string_view type = Py_TYPE(value)->tp_name;
    return (self && !PyModule_Check(self) && !PyType_Check(self)) || type == "method-wrapper" ||
           type == "functools._lru_cache_wrapper" || is_partial(value);
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
        for (Py_ssize_t place = 0; PyDict_Next(names.ptr(), &place, &name, &value);)
            if (is_bound_in_c(value) && is_special(name))
                return stay_eager(std::string("has a class whose ") + utf8(name) + " is a " + Py_TYPE(value)->tp_name);
            else if (!PyFunction_Check(value) && !PyType_Check(value))
                add_older(value);
    }
}

void Tracer::touch(PyObject* object) {
    touch_class(Py_TYPE(object));
    if (PyType_Check(object))
        touch_class(reinterpret_cast<PyTypeObject*>(object));
    else if (is_python_class(Py_TYPE(object)) && older_.contains(object))
        state.instance(object);
}

void Tracer::ask_class(PyObject* object) {
    touch(object);
    if (TensorObject* const tensor = as_tensor(object)) note(tensor);
}

// Which object a tensor is, the key or a witness has to tell. What a .grad was set to before the call may be known by
// another name, too.
void Tracer::note_identity(PyObject* object) {
    if (as_tensor(object) == nullptr) return;
    compared.insert(object);
    if (gradients_.contains(object) && is_older(object)) stay_eager("compares which tensor a .grad is");
}

void Tracer::identity(PyObject* left, PyObject* right) {
    if (left == Py_None || right == Py_None) return;
    use(left);
    use(right);
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
        if (older) state.whole(object);
        for (Counter& one : counters)
            if (one.dict.ptr() == object) read_counter(one);
        PyObject *key, *value;
        for (Py_ssize_t place = 0; PyDict_Next(object, &place, &key, &value);) {
            if (older) add_older(key);
            if (deep && PyTuple_Check(key)) contents(key);
            holds(value);
        }
        for (const Effect& one : effects)
            if (one.holder.ptr() == object) stay_eager("reads all of a dict that it has changed");
    } else if (PyAnySet_Check(object)) {
        if (older && !PyFrozenSet_Check(object)) state.set(object);
        for (const nb::object& item : older ? items_of(object) : std::vector<nb::object>()) {
            add_older(item.ptr());
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
    } else if (PyCFunction_Check(object) || is_partial(object)) {
        call(object, nullptr, 0);  // who is given it may call it
    } else if (deep && is_descriptor_that_writes(object)) {
        stay_eager(std::string("hands on ") + text_of(object, "__qualname__") + ", which may be called");
    } else if (older && PyGen_CheckExact(object)) {
        stay_eager("goes on with an iterator from before the call");
    } else if (deep && PyCallable_Check(object) && !is_read_by_python(object)) {
        stay_eager(std::string("hands on a ") + Py_TYPE(object)->tp_name + ", which may be called");
    } else if (older && (!is_read_by_python(object) || is_exception_type(Py_TYPE(object)))) {
        stay_eager(std::string("reads a ") + Py_TYPE(object)->tp_name + " from before the call");
    }
}

void Tracer::iterate(PyObject* object) {
    if (as_tensor(object)) return;
    if (PyIter_Check(object) && is_older(object) && !PyGen_CheckExact(object))
        return stay_eager("goes on with an iterator from before the call");
    contents(object, false);
}

void Tracer::load_global(_PyInterpreterFrame& frame, PyObject* name) {
    state.entry(frame.f_globals, name);
    PyObject* value = PyDict_GetItemWithError(frame.f_globals, name);
    if (value == nullptr) {
        state.entry(frame.f_builtins, name);
        value = PyDict_GetItemWithError(frame.f_builtins, name);
    }
    add_older(value);
}

void Tracer::import(_PyInterpreterFrame& frame, PyObject* name, PyObject* level) {
    PyObject* const modules = PyImport_GetModuleDict();
    nb::object full = nb::borrow(name);
    if (const long up = PyLong_AsLong(level); up > 0) {
        PyObject* const package = PyDict_GetItemString(frame.f_globals, "__package__");
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
}

}  // namespace clew::bind

#endif
