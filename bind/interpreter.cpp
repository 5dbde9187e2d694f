#include "bind/interpreter.h"

#include <utility>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/objects.h"
#include "core/base/error.h"
#include "core/ops/creation/random.h"
#include "core/ops/interpreter.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

const char* form_name(Form form) {
    constexpr const char* kNames[] = {"functional", "in_place", "out", "accumulate", "function", "rebind", "read"};
    return kNames[static_cast<int>(form)];
}

nb::tuple tuple_of(Tensors tensors) {
    nb::list list;
    for (const Tensor& tensor : tensors) list.append(tensor ? nb::steal(wrap(tensor)) : nb::none());
    return nb::tuple(list);
}

// What the Python function gets; of use until it returns.
class Call {
public:
    explicit Call(OpCall& call) : call_(&call) {}
    void end() { call_ = nullptr; }

    std::string form() const { return form_name(call().form); }
    std::string name() const {
        const OpCall& c = call();
        if (c.name()) return c.name();
        if (c.form == Form::InPlace) return c.op.in_place_name;
        return c.op.schema.name.empty() ? c.op.name : c.op.schema.full_name();
    }
    nb::tuple inputs() const { return tuple_of(call().inputs); }
    nb::tuple outputs() const { return tuple_of(call().outputs); }
    nb::tuple written() const {
        nb::list list;
        for_each_written(call(), [&](const Tensor& tensor) { list.append(nb::steal(wrap(tensor))); });
        return nb::tuple(list);
    }
    Generator* generator() const { return call().details ? call().details->generator : nullptr; }
    void run() {
        OpCall& call = this->call();
        if (std::exchange(has_run_, true)) fail(ErrorKind::Runtime, "Call.run: it has run already");
        dispatch(call);
    }

private:
    OpCall& call() const {
        if (call_ == nullptr) fail(ErrorKind::Runtime, "Call: it is over; look at a call while it is handled");
        return *call_;
    }
    OpCall* call_;
    bool has_run_ = false;
};

class PythonInterpreter : public Interpreter {
public:
    explicit PythonInterpreter(nb::object handler) : handler_(std::move(handler)) {}

    void handle(OpCall& call) override {
        nb::object view = nb::cast(new Call(call), nb::rv_policy::take_ownership);
        Call& seen = nb::cast<Call&>(view);
        const SkipKernels skip(skips_kernels() && meta_operation == nullptr);
        PyObject* const result = PyObject_CallOneArg(handler_.ptr(), view.ptr());
        seen.end();
        Py_DECREF(checked(result));
        if (call.form == Form::Functional && !call.outputs.empty() && !call.outputs[0])
            fail(ErrorKind::Runtime, "%s: expected the interpreter to run() the call", call.op.name);
    }

    // The stack keeps it alive.
    void enter() {
        if (self_.is_valid()) fail(ErrorKind::Runtime, "Interpreter.push: it is on a stack already");
        push();
        self_ = nb::find(this);
    }
    void leave() {
        pop();
        const nb::object last = std::move(self_);
    }

    PyObject* handler() const { return handler_.ptr(); }
    void clear() { handler_.reset(); }

private:
    nb::object handler_, self_;
};

// A handler that leads back to its interpreter is garbage together with it.
int traverse(PyObject* object, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(object));
    if (nb::inst_ready(object)) Py_VISIT(nb::inst_ptr<PythonInterpreter>(object)->handler());
    return 0;
}
int clear(PyObject* object) {
    nb::inst_ptr<PythonInterpreter>(object)->clear();
    return 0;
}
PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

}  // namespace

void init_interpreter(nb::module_& module) {
    nb::class_<Call>(module, "Call", "A call on its way through an interpreter; of use until that returns.")
        .def_prop_ro("form", &Call::form, "functional, in_place, out, accumulate, function, rebind or read")
        .def_prop_ro("name", &Call::name, "the operation's name, with its overload's after a dot")
        .def_prop_ro("inputs", &Call::inputs, "tensors, and None where there is none")
        .def_prop_ro("outputs", &Call::outputs, "the results, once it has run")
        .def_prop_ro("written", &Call::written, "tensors that were there before and that it may write")
        .def_prop_ro("generator", &Call::generator, nb::rv_policy::reference,
                     "the stream that it takes random numbers from, or None")
        .def("run", &Call::run, "Hands it to what lies below.");
    nb::class_<PythonInterpreter>(module, "Interpreter", nb::type_slots(slots),
                                  "Interpreter(handler): while it is on the stack of a thread, handler(call) is called "
                                  "for each operation there, and has to run() it.")
        .def(nb::init<nb::object>(), nb::arg("handler"))
        .def("push", &PythonInterpreter::enter, "Puts it on top of this thread's stack.")
        .def("pop", &PythonInterpreter::leave, "Takes it from the stack.");
    module.def(
        "is_interpreted", [] { return mode(kInterpreted); }, "Whether an interpreter is on this thread's stack.");
}

}  // namespace clew::bind
