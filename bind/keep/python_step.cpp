#include "bind/keep/python_step.h"

#include <cstring>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>

#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/watch/tracer.h"
#include "core/program/record/recorder.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

struct PythonStep {
    nb::object function;
    std::string name;
    std::vector<Tensor> results;
};

int traverse_step(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    if (nb::inst_ready(object)) Py_VISIT(nb::inst_ptr<PythonStep>(object)->function.ptr());
    return 0;
}
int clear_step(PyObject* object) {
    const nb::object function = std::move(nb::inst_ptr<PythonStep>(object)->function);
    return 0;
}
PyType_Slot step_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_step)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_step)},
    {0, nullptr},
};

void run_python_step(OpCall& call) {
    need_values("a function of Python");
    PythonStep* step;
    std::memcpy(&step, call.attributes, sizeof step);
    nb::list arguments;
    for (const Tensor& input : call.inputs) arguments.append(nb::steal(wrap(input)));
    if (!step->function.is_valid()) fail(ErrorKind::Runtime, "%s: the program is being taken down", step->name.c_str());
    const ModeGuard unseen(kInterpreted, false);
    const Unwatched promised(true);
    const nb::object given = [&] {
        try {
            return step->function(*arguments);
        } catch (nb::python_error& error) {
            error.restore();
            throw PythonError();
        }
    }();
    const nb::tuple results = nb::cast<nb::tuple>(given);
    std::vector<Tensor> made;
    for (const nb::handle one : results) made.emplace_back(as_tensor(one.ptr()));
    for (const Tensor& one : made)
        if (one.requires_grad())
            fail(ErrorKind::Runtime, "%s: expected a pure function to give tensors without history; detach() them",
                 step->name.c_str());
    if (!call.outputs.empty() && call.outputs.size() != made.size())
        fail(ErrorKind::Runtime, "%s: gives %zu tensors, and %zu in the recorded run", step->name.c_str(), made.size(),
             call.outputs.size());
    step->results = std::move(made);
    call.outputs = step->results;
}

}  // namespace

const OpDef& python_step_operation() {
    static const OpDef op = [] {
        OpDef def = unregistered("python", run_python_step);
        def.attribute_bytes = sizeof(PythonStep*);
        def.text.flags = kAnyDType;
        return def;
    }();
    return op;
}

namespace {

// What function(*tensors) gives: one step of the program. It holds these constants, which whoever watches has read.
nb::object python_step(const std::string& name, nb::tuple tensors, nb::object function, nb::object) {
    const nb::object holder = nb::cast(new PythonStep{std::move(function), name, {}}, nb::rv_policy::take_ownership);
    PythonStep* const step = nb::inst_ptr<PythonStep>(holder);
    std::vector<Tensor> inputs;
    for (const nb::handle one : tensors) inputs.emplace_back(as_tensor(one.ptr()));
    const CallDetails details{.name = step->name.c_str()};
    OpCall call{python_step_operation(), inputs, &step, {}, Form::Functional, &details};
    if (Recorder::at_work()) Recorder::at_work()->hold(Handle::borrow(holder.ptr()));
    dispatch(call);
    nb::list results;
    for (Tensor& one : step->results) results.append(nb::steal(wrap(std::move(one))));
    step->results.clear();
    return nb::tuple(results);
}

}  // namespace

void init_python_steps(nb::module_& module) {
    nb::class_<PythonStep>(module, "_PythonStep", nb::type_slots(step_slots));
    module.def("python_step", &python_step, nb::arg("name"), nb::arg("tensors"), nb::arg("function"),
               nb::arg("constants"));
}

}  // namespace clew::bind
