// The type of compiled functions.
#include "bind/keep/compiled.h"

#include <utility>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/keep/compiled_function.h"
#include "core/program/code/compiler.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

CompiledFunction* self(PyObject* object) { return nb::inst_ptr<CompiledFunction>(object); }

PyObject* call(PyObject* object, PyObject* positional, PyObject* named) {
    if (!nb::inst_ready(object)) {
        PyErr_SetString(PyExc_TypeError, "compile: expected a compiled function, got one without __init__");
        return nullptr;
    }
    return guarded([&] { return self(object)->call(positional, named).release().ptr(); });
}
PyObject* bind_to(PyObject* object, PyObject* instance, PyObject*) {
    return instance == nullptr || instance == Py_None ? Py_NewRef(object) : PyMethod_New(object, instance);
}
int traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    return nb::inst_ready(object) ? self(object)->traverse(visit, arg) : 0;
}
int clear(PyObject* object) {
    if (!nb::inst_ready(object)) return 0;
    self(object)->clear();
    const nb::object function = std::exchange(self(object)->function, nb::none());
    return 0;
}
PyType_Slot slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(call)},
    {Py_tp_descr_get, reinterpret_cast<void*>(bind_to)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace

PyObject* function_of_compiled(PyObject* object) {
    return nb::isinstance<CompiledFunction>(object) && nb::inst_ready(object) ? self(object)->function.ptr() : nullptr;
}

void init_compile(nb::module_& module) {
    nb::class_<CompiledFunction>(module, "CompiledFunction", nb::type_slots(slots), nb::is_weak_referenceable(),
                                 "A function that is recorded once for each kind of call.")
        .def(nb::init<nb::object, std::size_t, bool>(), nb::arg("function"), nb::arg("max_variants"), nb::arg("strict"))
        .def_ro("hits", &CompiledFunction::hits)
        .def_ro("misses", &CompiledFunction::misses)
        .def_prop_ro("variants", &CompiledFunction::variants)
        .def_ro("eager", &CompiledFunction::function)
        .def_prop_ro("bytes", &CompiledFunction::bytes)
        .def_rw("_to_check", &CompiledFunction::to_check)
        .def_rw("_coded", &CompiledFunction::coded)
        .def_rw("_fused", &CompiledFunction::fused)
        .def("_code", &CompiledFunction::code)
        .def_ro("_checked", &CompiledFunction::checked_calls)
        .def("cache_clear", &CompiledFunction::clear)
        .def("_describe", &CompiledFunction::describe)
        .def("_reasons", &CompiledFunction::reasons);
    module.def("set_compile_disabled", &set_compile_disabled);
    module.attr("records_calls") = static_cast<bool>(CLEW_READS_FRAMES);
    module.def("is_traced", &is_traced, "Whether a compiled function is recorded right now.");
    module.def("set_known_calls", &set_known_calls);
    module.def("set_spare_compiler", &code::set_spare_compiler, nb::arg("path"));
}

}  // namespace clew::bind
