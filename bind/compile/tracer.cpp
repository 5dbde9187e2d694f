#include "bind/compile/tracer.h"

#include "bind/compile/kinds.h"
#include "bind/compile/stopwatch.h"
#include "bind/compile/watch.h"

#include <cstring>
#include <utility>

#include "bind/errors.h"
#include "bind/objects.h"
#include "bind/operation_object.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {

bool Tracer::others_trace() {
    const PyThreadState* const thread = PyThreadState_Get();
    return thread->c_tracefunc != nullptr || thread->c_profilefunc != nullptr;
}

#if PY_VERSION_HEX < 0x030C0000

namespace {

constexpr std::size_t kMostWitnesses = 10000;

}  // namespace

void Tracer::add_older(PyObject* object) {
    if (object == nullptr || is_atom(object) || as_tensor(object)) return;
    if (arguments_.contains(object) && !PyTuple_CheckExact(object))
        return stay_eager("is given a container that it reaches in another way, too");
    if (!older_.insert(object).second) return;
    held_.push_back(nb::borrow(object));
    if (PyMethod_Check(object)) add_older(PyMethod_GET_SELF(object)), add_older(PyMethod_GET_FUNCTION(object));
    if (PyCFunction_Check(object) && PyCFunction_GET_SELF(object)) add_older(PyCFunction_GET_SELF(object));
}

void Tracer::add_argument(PyObject* container) {
    arguments_.insert(container);
    held_.push_back(nb::borrow(container));
}

bool Tracer::is_older(PyObject* object) const {
    if (const TensorObject* const tensor = as_tensor(object)) return tensor->has(TensorObject::kOlder);
    return older_.contains(object);
}

void Tracer::begin_call(PyObject* function, PyObject* arguments) {
    call(function, &PyTuple_GET_ITEM(arguments, 0), static_cast<std::size_t>(PyTuple_GET_SIZE(arguments)));
}

void Tracer::start() {
    on_ = true;
    const nb::object self = nb::capsule(this);
    PyEval_SetTrace(trace, self.ptr());
}

void Tracer::stop() {
    if (!on_) return;
    on_ = false;
    PyEval_SetTrace(nullptr, nullptr);
}

int Tracer::trace(PyObject* self, PyFrameObject* frame, int what, PyObject*) {
    auto& tracer = *static_cast<Tracer*>(PyCapsule_GetPointer(self, nullptr));
    if (tracer.cause) return 0;
    return guarded(
        [&] {
            if (what == PyTrace_CALL) tracer.enter(frame);
            if (what == PyTrace_OPCODE) tracer.instruction(frame);
            return 0;
        },
        -1);
}

const unsigned char* Tracer::bytes_of(PyCodeObject* code) {
    nb::object& bytes = bytes_[code];
    if (!bytes.is_valid()) {
        bytes = nb::steal(checked(PyCode_GetCode(code)));
        held_.push_back(nb::borrow(reinterpret_cast<PyObject*>(code)));
    }
    return reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.ptr()));
}

void Tracer::enter(PyFrameObject* frame) {
    frame->f_trace_opcodes = 1;
    frame->f_trace_lines = 0;
    if (root_ == nullptr) root_ = frame;
    PyFunctionObject* const function = frame->f_frame->f_func;
    PyObject* const object = reinterpret_cast<PyObject*>(function);
    if (made_codes_.contains(function->func_code) && !older_.contains(object)) return;
    add_older(object);
    state.function(object);
    for (PyObject* const tuple : {function->func_defaults, function->func_closure})
        for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); ++i) add_older(PyTuple_GET_ITEM(tuple, i));
    if (function->func_kwdefaults) iterate(function->func_kwdefaults);
}

void Tracer::instruction(PyFrameObject* frame) {
    const Timed timed(spent);
    Watch watch(*this, *frame->f_frame);
    if (reading_ == frame) {
        reading_ = nullptr;
        if (program_.reads.size() == reads_before_ + 1 && PyFloat_CheckExact(watch.top()))
            numbers[watch.top()] = {.number = nb::borrow(watch.top()), .read = static_cast<int>(reads_before_)};
    }
    if (handed_on_) take_constant();
    if (stepping_ == frame) take_options();
    current_ = frame;
    watch.go();
    if (state.size() > kMostWitnesses) stay_eager("reads more than 10,000 values of Python from before the call");
}

#else

bool Tracer::is_older(PyObject*) const { return false; }
void Tracer::add_older(PyObject*) {}
void Tracer::add_argument(PyObject*) {}
void Tracer::start() {}
void Tracer::begin_call(PyObject*, PyObject*) {}
void Tracer::finish() {}
void Tracer::use(PyObject*) {}
void Tracer::stop() {}

#endif

}  // namespace clew::bind
