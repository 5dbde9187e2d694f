#include "bind/transforms/interpreter.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <nanobind/stl/string.h>

#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/graph/node_sequence.h"
#include "bind/transforms/repeat.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/creation/random.h"
#include "core/ops/interpreter.h"
#include "core/program/files/names.h"

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

// What a program gave: a number, where a tensor stands for one.
nb::object argument_of(const Tensor& tensor) {
    if (!tensor) return nb::none();
    return nb::steal(tensor->has(TensorObject::kWrappedNumber) && has_memory(tensor) ? checked(item(tensor))
                                                                                     : wrap(tensor));
}

// All arguments, as the schema orders them.
nb::list arguments_of(const OpCall& call) {
    const OpDef& op = call.op;
    nb::list list;
    std::size_t input = 0, field = 0;
    for (const Argument& argument : op.schema.arguments) {
        if (argument.type == ArgType::TensorList) {  // as many as the others leave
            const std::size_t others = op.schema.arguments.size() - op.fields.size() - 1;
            const std::size_t count = call.inputs.size() - others;
            list.append(tuple_of(call.inputs.subspan(input, count)));
            input += count;
        } else if (is_tensor_type(argument.type)) {
            list.append(argument_of(call.inputs[input++]));
        } else {
            list.append(nb::steal(checked(attribute_object(op, call.attributes, field++))));
        }
    }
    return list;
}

// How many elements a tensor has in memory, where these have no gaps between them; else -1.
std::int64_t elements_without_gaps(const Layout& layout) {
    std::array<int, kMaxDims> axes{};
    int count = 0;
    for (int i = 0; i < layout.ndim; ++i)
        if (layout.sizes()[i] != 1 && layout.strides()[i] != 0) axes[count++] = i;
    std::sort(axes.begin(), axes.begin() + count,
              [&](int a, int b) { return layout.strides()[a] < layout.strides()[b]; });
    std::int64_t elements = layout.numel == 0 ? 0 : 1;
    for (int i = 0; i < count && elements >= 0; ++i)
        elements = layout.strides()[axes[i]] == elements ? elements * layout.sizes()[axes[i]] : -1;
    return elements;
}

// Its bytes, for another process: (offset, bytes, dtype, shape, strides, as it lies, requires grad). What has gaps is
// packed, and its strides are those that it has here. No call: nobody looks on, and nothing is given out. None if there
// is no memory to copy; the number of bytes if the buffer has not as many.
nb::object copy_out(nb::handle object, nb::handle buffer, std::size_t offset) {
    const Tensor tensor(&tensor_argument(object));
    if (!has_memory(tensor)) return nb::none();
    const Layout& layout = tensor.layout();
    const std::int64_t in_place = elements_without_gaps(layout);
    const std::size_t bytes =
        static_cast<std::size_t>(in_place >= 0 ? in_place : layout.numel) * item_size(tensor.dtype());
    Py_buffer room;
    if (PyObject_GetBuffer(buffer.ptr(), &room, PyBUF_WRITABLE) != 0) throw PythonError();
    const bool fits = offset + bytes <= static_cast<std::size_t>(room.len);
    char* const place = static_cast<char*>(room.buf) + offset;
    PyBuffer_Release(&room);
    if (!fits) return nb::int_(bytes);
    if (in_place >= 0) {
        if (bytes) std::memcpy(place, tensor.data(), bytes);
    } else {
        const LayoutRef packed = Layout::make(layout.shape());
        [[maybe_unused]] const DispatchFrame frame;
        kernels::copy({place, tensor.dtype(), layout.ndim, packed->sizes(), packed->strides().data()}, tensor.view());
    }
    return nb::make_tuple(offset, bytes, dtype_name(tensor.dtype()), nb::steal(plain_tuple(layout.shape())),
                          nb::steal(plain_tuple(layout.strides())), in_place >= 0, tensor.requires_grad());
}

// What the Python function gets; of use until it returns.
class PythonInterpreter;
class Call {
public:
    Call(OpCall& call, PythonInterpreter& handler) : call_(&call), handler_(handler) {}
    void end() { call_ = nullptr; }
    bool has_results() const { return has_results_; }

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
    bool draws() const { return call().op.draws; }
    bool is_composite() const { return call().op.is(kComposite); }
    std::string schema() const {
        const OpDef& op = call().op;
        return op.text.schema == nullptr || rule_of(op) ? "" : op.text.schema;
    }
    nb::list arguments() const { return arguments_of(call()); }
    nb::list differentiable() const {
        nb::list list;
        const int count = static_cast<int>(call().inputs.size());
        int input = 0, place = 0;
        for (const nb::handle argument : arguments()) {
            const ArgType type = call().op.schema.arguments[place].type;
            const int items = type == ArgType::TensorList ? static_cast<int>(nb::len(argument)) : is_tensor_type(type);
            for (int i = 0; i < items; ++i, ++input)
                if (call().op.has_derivative(input, count))
                    list.append(nb::make_tuple(place, type == ArgType::TensorList ? nb::cast(i) : nb::none()));
            ++place;
        }
        return list;
    }
    void run();
    nb::list repeat_wide(nb::list inputs) const { return repeat(call(), std::move(inputs), true); }

private:
    OpCall& call() const {
        if (call_ == nullptr) fail(ErrorKind::Runtime, "Call: it is over; look at a call while it is handled");
        return *call_;
    }
    OpCall* call_;
    PythonInterpreter& handler_;
    bool has_run_ = false, has_results_ = false;
    const bool autocast_ = mode(kAutocast);  // for a Function, whose forward is the user's; off while it is looked at
};

class PythonInterpreter : public Interpreter {
public:
    PythonInterpreter(nb::object handler, bool composites, bool backward)
        : handler_(std::move(handler)), composites_(composites), backward_(backward) {}

    bool takes_whole(const OpCall& call) const override {
        return composites_ && call.form == Form::Functional && call.op.is(kComposite);
    }
    bool sees_backward() const override { return backward_; }
    void run(OpCall& call) { takes_whole(call) ? open(call) : dispatch(call); }

    void handle(OpCall& call) override {
        nb::object view = nb::cast(new Call(call, *this), nb::rv_policy::take_ownership);
        Call& seen = nb::cast<Call&>(view);
        const SkipKernels skip(skips_kernels() && meta_operation == nullptr);
        const ModeGuard plainly(kAutocast, false);
        PyObject* const result = PyObject_CallOneArg(handler_.ptr(), view.ptr());
        seen.end();
        Py_DECREF(checked(result));
        if (call.form == Form::Functional && !seen.has_results())
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
    bool composites_, backward_;
};

void Call::run() {
    OpCall& call = this->call();
    if (std::exchange(has_run_, true)) fail(ErrorKind::Runtime, "Call.run: it has run already");
    const ModeGuard region(kAutocast, autocast_);
    handler_.run(call);
    has_results_ = true;
}

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
        .def_prop_ro("draws", &Call::draws, "whether it draws random numbers")
        .def_prop_ro("is_composite", &Call::is_composite, "whether it is made of other calls")
        .def_prop_ro("schema", &Call::schema, "the operation's schema; empty for what no program can name")
        .def_prop_ro("arguments", &Call::arguments, "all arguments, as the schema orders them")
        .def_prop_ro("differentiable", &Call::differentiable,
                     "what its node has edges for: the place of the argument and, in a list, of the item")
        .def("run", &Call::run, "Hands it to what lies below.")
        .def("repeat_wide", &Call::repeat_wide, nb::arg("inputs"),
             "The results of the operation on other tensors, of float64; nobody looks on, no graph is recorded.");
    nb::class_<PythonInterpreter>(module, "Interpreter", nb::type_slots(slots),
                                  "Interpreter(handler): while it is on the stack of a thread, handler(call) is called "
                                  "for each operation there, and has to run() it. With composites=True it gets what is "
                                  "made of other calls, too, before these; with backward=False no calls of a backward "
                                  "without create_graph, which then runs as if nobody looked on.")
        .def(nb::init<nb::object, bool, bool>(), nb::arg("handler"), nb::kw_only(), nb::arg("composites") = false,
             nb::arg("backward") = true)
        .def("push", &PythonInterpreter::enter, "Puts it on top of this thread's stack.")
        .def("pop", &PythonInterpreter::leave, "Takes it from the stack.");
    module.def(
        "copy_out", copy_out, nb::arg("tensor"), nb::arg("buffer"), nb::arg("offset"),
        "Copies a tensor's bytes into a buffer: (offset, bytes, dtype, shape, strides, as it lies, requires grad); "
        "None if it has no memory, the bytes that it takes if there is no room.");
    module.def(
        "is_interpreted", [] { return mode(kInterpreted); }, "Whether an interpreter is on this thread's stack.");
}

}  // namespace clew::bind
