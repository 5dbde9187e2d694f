// Calls of what is written in C: what it reads has to be known.
#include "bind/keep/compiled.h"
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <nanobind/stl/string.h>

#include <cstring>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/transforms/vmap.h"
#include "bind/types/objects.h"
#include "bind/types/overridable.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

std::unordered_map<std::string, std::string>& known_calls() {
    static auto* const all = new std::unordered_map<std::string, std::string>;
    return *all;
}

}  // namespace

void set_known_calls(nb::dict known) {
    for (const auto [name, what] : known) known_calls()[nb::cast<std::string>(name)] = nb::cast<std::string>(what);
}

const std::string* known_call(const std::string& name) {
    const auto found = known_calls().find(name);
    return found == known_calls().end() ? nullptr : &found->second;
}

#if CLEW_READS_FRAMES

namespace {

// As it is imported: not clew._core.from_numpy, _warnings.warn.
std::string public_name(std::string name) {
    static const std::string inside = "clew._core.";
    if (name.starts_with(inside)) return "clew." + name.substr(inside.size());
    if (name.starts_with('_')) name.erase(0, 1);
    return name;
}

}  // namespace

void Tracer::call(PyObject* callee, PyObject* const* arguments, std::size_t count) {
    if (PyFunction_Check(callee)) return;  // watched
    if (PyMethod_Check(callee)) {
        // What it is bound to is its first argument.
        std::vector<PyObject*> all{PyMethod_GET_SELF(callee)};
        all.insert(all.end(), arguments, arguments + count);
        return call(PyMethod_GET_FUNCTION(callee), all.data(), all.size());
    }
    if (PyWeakref_CheckRef(callee)) {
        if (!is_older(callee)) return;
        // An instance is held weakly: when it dies, all that was recorded with it goes.
        PyObject* const found = PyWeakref_GET_OBJECT(callee);
        if (as_tensor(found) || !is_python_class(Py_TYPE(found)) || dict_of(found) == nullptr)
            return stay_eager("calls a weak reference from before the call");
        state.instance(found);
        return add_older(found);
    }
    if (PyType_Check(callee)) return call_type(reinterpret_cast<PyTypeObject*>(callee), arguments, count);
    PyTypeObject* const type = Py_TYPE(callee);
    if (type == &operation_type) return call_operation(callee, arguments, count);
    if (function_of_overridable(callee)) return;  // watched
    if (PyCFunction_Check(callee)) {
        PyObject* const self = PyCFunction_GET_SELF(callee);
        const std::string name = reinterpret_cast<PyCFunctionObject*>(callee)->m_ml->ml_name;
        if (self == nullptr || PyModule_Check(self)) return call_known(full_name(callee), arguments, count);
        return call_builtin(callee, self, name, arguments, count);
    }
    if (type == &PyMethodDescr_Type || type == &PyWrapperDescr_Type) {
        const std::string name = utf8(reinterpret_cast<PyDescrObject*>(callee)->d_name);
        if (count == 0) return;  // an error, raised by the call
        return call_builtin(callee, arguments[0], name, arguments + 1, count - 1);
    }
    if (std::strcmp(type->tp_name, "method-wrapper") == 0) {
        const nb::object self = nb::steal(checked(PyObject_GetAttrString(callee, "__self__")));
        if (is_older(callee)) add_older(self.ptr());
        return call_builtin(callee, self.ptr(), text_of(callee, "__name__"), arguments, count);
    }
    if (is_item_getter(callee) && count == 1) {
        const nb::object parts = nb::steal(checked(PyObject_CallMethod(callee, "__reduce__", nullptr)));
        PyObject* const keys = PyTuple_GET_ITEM(parts.ptr(), 1);
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(keys); ++i) subscript(arguments[0], PyTuple_GET_ITEM(keys, i));
        return;
    }
    if (std::strcmp(type->tp_name, "operator.attrgetter") == 0 && count == 1) {
        const nb::object parts = nb::steal(checked(PyObject_CallMethod(callee, "__reduce__", nullptr)));
        PyObject* const paths = PyTuple_GET_ITEM(parts.ptr(), 1);
        PyObject* const path = PyTuple_GET_ITEM(paths, 0);
        if (PyTuple_GET_SIZE(paths) == 1 && PyUnicode_FindChar(path, '.', 0, PY_SSIZE_T_MAX, 1) < 0)
            return attribute(arguments[0], path);
        return stay_eager("calls operator.attrgetter of more than one name");
    }
    if (is_partial(callee)) {
        if (is_older(callee))
            for (const char* const part : {"func", "args", "keywords"})
                state.slot(callee, _PyType_Lookup(type, nb::steal(PyUnicode_InternFromString(part)).ptr()));
        const auto [function, given, named] = parts_of(callee);
        if (is_older(callee))
            for (PyObject* one : {function.ptr(), given.ptr(), named.ptr()}) add_older(one);
        contents(named.ptr());
        contents(given.ptr());
        plain_call_ = false;
        return call(function.ptr(), arguments, count);
    }
    if (ask(callee, arguments, count)) return;
    if (PyObject* const inner = function_of_compiled(callee)) {  // runs as it is
        if (is_older(callee)) add_older(inner);
        return call(inner, arguments, count);
    }
    touch(callee);
    if (python_call_of(type)) return;  // watched
    call_known(full_name(callee), arguments, count);
}

void Tracer::call_type(PyTypeObject* type, PyObject* const* arguments, std::size_t count) {
    if (type == &PyFloat_Type && count == 1 && PyFloat_CheckExact(arguments[0])) return;  // the same object
    if (type == &PyType_Type && count == 1) return ask_class(arguments[0]);
    if (PyType_IsSubtype(type, &PyType_Type)) return define_class();
    const bool shallow = type == &PyZip_Type || type == &PyEnum_Type || type == &PyList_Type || type == &PyTuple_Type ||
                         type == &PyReversed_Type;
    const bool stores = is_namespace_type(type) || type == &PyDict_Type || type == &PyODict_Type;
    for (std::size_t i = 0; i < count; ++i) {
        if (stores && PyFloat_CheckExact(arguments[i])) continue;                            // by its name, as it is
        const bool of_dict = PyDict_Check(arguments[i]) || PyDictItems_Check(arguments[i]);  // its keys have been read
        contents(arguments[i], !shallow && !(type == &PyDict_Type && of_dict));
    }
    if (!is_of_class_statement(type)) {
        // float(loss) reads a number.
        if (type == &PyFloat_Type && count == 1 && as_tensor(arguments[0])) expect_number();
        if (is_clews(type) || is_exception_type(type)) return;
        if (!known_call(std::string("type ") + type->tp_name))
            stay_eager(std::string("calls ") + type->tp_name + ", whose reads cannot be tracked");
        return;
    }
    touch(as_object(type));
    static PyObject* const finalizer = PyUnicode_InternFromString("__del__");
    if (_PyType_Lookup(type, finalizer))
        return stay_eager(std::string("makes a ") + type->tp_name + ", which has a finalizer");
    PyTypeObject* base = type;
    while (base && is_of_class_statement(base)) base = base->tp_base;
    if (base == nullptr || base == &PyBaseObject_Type || base == &tensor_type) return;
    if (is_clews(base) || is_exception_type(base) || known_call(std::string("type ") + base->tp_name)) return;
    stay_eager(std::string("makes a ") + type->tp_name + ", whose reads cannot be tracked");
}

void Tracer::call_known(const std::string& name, PyObject* const* arguments, std::size_t count) {
    const std::string* const known = known_call(name);
    if (name.starts_with("_abc.")) state.registered_classes();
    if (known == nullptr)
        return stay_eager("calls " + (name.empty() ? "something" : public_name(name)) +
                          ", whose reads cannot be tracked");
    if (count == 0 && *known != "reads") return stay_eager("hands on " + name + ", which may be called");
    if (*known == "attribute" && count >= 2 && PyUnicode_Check(arguments[1]))
        return attribute(arguments[0], arguments[1]);
    if (*known == "next" && count >= 1) {
        if (is_older(arguments[0])) stay_eager("continues an iterator from before the call");
        return use_if_read(arguments[0]);
    }
    if (*known == "graph" && count == 2) {
        if (leads_before(arguments[0], arguments[1], program_.began))
            stay_eager("asks which leaves a graph from before the call ends in");
        return;
    }
    if (*known == "vars" && count == 1) {
        static PyObject* const dict = PyUnicode_InternFromString("__dict__");
        return attribute(arguments[0], dict);
    }
    if (*known == "setattr" && count == 3) return set_attribute(arguments[0], arguments[1], arguments[2]);
    if (*known == "step") return call_optimizer_step(arguments, count);
    if (*known == "type") {
        if (count >= 1) ask_class(arguments[0]);
        if (count < 2) return;  // callable()
        if (name == "builtins.issubclass" && !PyType_Check(arguments[0]))
            stay_eager("asks for the bases of what is no class");
        if (!PyType_Check(arguments[0])) pretended_class(arguments[0]);
        return kinds(arguments[1]);
    }
    if (*known == "id" && count == 1) {
        note_identity(arguments[0]);
        if (!is_older(arguments[0]) || is_argument(arguments[0]))
            stay_eager("reads the id of an object that it made or was given");
        return;
    }
    if ((name == "_operator.is_" || name == "_operator.is_not") && count == 2)
        return identity(arguments[0], arguments[1]);
    if (name == "builtins.len" && count == 1 && as_tensor(arguments[0])) note(as_tensor(arguments[0]));
    if (name == "builtins.iter" && count == 2) return stay_eager("calls iter() with a sentinel");
    const bool shallow = name == "builtins.len" || name == "builtins.iter";
    for (std::size_t i = 0; i < count; ++i) contents(arguments[i], !shallow);
}

#endif

}  // namespace clew::bind
