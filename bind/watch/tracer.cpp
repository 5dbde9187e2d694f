#include "bind/watch/tracer.h"

#include <opcode.h>

#include "bind/keep/stopwatch.h"
#include "bind/watch/kinds.h"
#include "bind/watch/watch.h"

#include <cstring>
#include <utility>

#include "bind/calls/operation_object.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/types/overridable.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {

#if CLEW_READS_FRAMES

namespace {

constexpr std::size_t kMostWitnesses = 10000;
constexpr std::uint32_t kOneInCounted = 64;                       // instructions, after which guards are counted
constexpr bool kTellsOfPrefixOnly = PY_VERSION_HEX < 0x030C0000;  // and not of the instruction behind it

bool begins_callback_of_collector(_PyInterpreterFrame* frame) {
    if (!is_entry(frame)) return false;
    static PyObject* const callbacks = from_module("gc", "callbacks");
    auto* const function = reinterpret_cast<PyObject*>(function_of(frame));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(callbacks); ++i) {
        PyObject* one = PyList_GET_ITEM(callbacks, i);
        if (PyMethod_Check(one)) one = PyMethod_GET_FUNCTION(one);
        if (one == function) return true;
    }
    return false;
}

PyObject* content_of(PyObject* local) { return local && PyCell_Check(local) ? PyCell_GET(local) : local; }

// Whether C gave the function an argument that `is` true of.
template <class Is>
bool is_given(_PyInterpreterFrame* frame, PyCodeObject* code, const Is& is) {
    for (int i = 0; i < code->co_argcount; ++i)
        if (PyObject* const one = content_of(frame->localsplus[i]); one && is(one)) return true;
    if (!(code->co_flags & CO_VARARGS)) return false;
    PyObject* const others = content_of(frame->localsplus[code->co_argcount + code->co_kwonlyargcount]);
    for (Py_ssize_t i = 0; others && PyTuple_CheckExact(others) && i < PyTuple_GET_SIZE(others); ++i)
        if (is(PyTuple_GET_ITEM(others, i))) return true;
    return false;
}

bool is_told_of_a_death(PyObject* object) {
    if (!PyWeakref_Check(object)) return false;
    const auto* const reference = reinterpret_cast<PyWeakReference*>(object);
    return reference->wr_object == Py_None && reference->wr_callback == nullptr;
}

// What began here without being called by the call, and may not begin the next time; null: nothing did.
const char* interruption_by(_PyInterpreterFrame* frame) {
    if (!is_entry(frame)) return nullptr;
    PyCodeObject* const code = code_of(frame);
    PyObject* const self = code->co_argcount ? content_of(frame->localsplus[0]) : nullptr;
    static PyObject* const finalizer = PyUnicode_InternFromString("__del__");
    if (self && _PyType_Lookup(Py_TYPE(self), finalizer) == reinterpret_cast<PyObject*>(function_of(frame)))
        return "runs the finalizer of an object";
    if (is_given(frame, code, is_told_of_a_death)) return "runs a callback of a weak reference";
    if (is_given(frame, code, [](PyObject* one) { return PyFrame_Check(one); }))
        return "is interrupted by the handler of a signal";
    return nullptr;
}

}  // namespace

void Tracer::add_older(PyObject* object) {
    if (object == nullptr || is_atom(object) || as_tensor(object)) return;
    if (arguments_.contains(object) && !is_tuple_of_atoms(object))
        return stay_eager("is given a container that another object also refers to");
    if (!older_.insert(object, 1)) return;
    held_.push_back(nb::borrow(object));
    if (PyMethod_Check(object)) add_older(PyMethod_GET_SELF(object)), add_older(PyMethod_GET_FUNCTION(object));
    if (PyCFunction_Check(object) && PyCFunction_GET_SELF(object)) add_older(PyCFunction_GET_SELF(object));
}

void Tracer::add_callback(PyObject* callable) {
    add_older(callable);
    if (!is_partial(callable)) return;
    const auto [function, given, named] = parts_of(callable);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(given.ptr()); ++i) add_older(PyTuple_GET_ITEM(given.ptr(), i));
    PyObject *name, *value;
    for (Py_ssize_t place = 0; PyDict_Next(named.ptr(), &place, &name, &value);) add_older(value);
    add_callback(function.ptr());
}

bool Tracer::watches(PyObject* callable) {
    if (PyMethod_Check(callable)) callable = PyMethod_GET_FUNCTION(callable);
    if (is_partial(callable)) return watches(parts_of(callable).function.ptr());
    return PyFunction_Check(callable) || function_of_overridable(callable) || python_call_of(Py_TYPE(callable));
}

void Tracer::add_argument(PyObject* container) {
    arguments_.insert(container);
    held_.push_back(nb::borrow(container));
}

bool Tracer::is_older(PyObject* object) const {
    if (const TensorObject* const tensor = as_tensor(object)) return tensor->has(TensorObject::kPreexisting);
    return older_.contains(object) || PyType_Check(object);  // a call that makes a class stays eager
}

// C hands on what the function will return, as it is.
void Tracer::begin_root(PyObject* function) {
    if (PyMethod_Check(function)) function = PyMethod_GET_FUNCTION(function);
    if (PyObject* const inner = function_of_overridable(function)) function = inner;
    if (!PyFunction_Check(function)) function = python_call_of(Py_TYPE(function));
    if (function == nullptr) return;
    auto* const code = reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(function)->func_code);
    constexpr int kSuspended = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (!(code->co_flags & kSuspended)) code_of_root_ = code;
}

// What a callable in C calls is no root: that it returns to C.
void Tracer::begin_call(PyObject* function, PyObject* arguments) {
    state.type(&tensor_type);
    handled_before_ = nb::steal(PyErr_GetHandledException());
    nb::object root = nb::borrow(function);
    while (is_partial(root.ptr())) root = parts_of(root.ptr()).function;
    begin_root(root.ptr());
    call(function, &PyTuple_GET_ITEM(arguments, 0), static_cast<std::size_t>(PyTuple_GET_SIZE(arguments)));
}

// The garbage collector may begin anywhere. What its callbacks do is not of the call.
bool Tracer::is_collectors(_PyInterpreterFrame* frame) {
    while (frame && frame != collecting_) frame = frame->previous;
    if (frame == nullptr) collecting_ = nullptr;
    return frame != nullptr;
}

// Of one that began in the call. Others are not gone on with; what is left of them runs when they die.
bool Tracer::is_generators(_PyInterpreterFrame* frame) {
    PyCodeObject* const code = code_of(frame);
    const Instruction* const at = table_of(code).at(instruction_of(frame, code));
    if (at && at->opcode == RESUME && at->argument == 0) generators_.insert(frame);
    return generators_.contains(frame);
}

void Tracer::enter(_PyInterpreterFrame* frame) {
    if (collecting_ == frame) collecting_ = nullptr;  // another one was there before
    if (collecting_ && is_collectors(frame)) return;
    if (begins_callback_of_collector(frame)) {
        collecting_ = frame;
        return;
    }
    if (const char* const interruption = interruption_by(frame)) return stay_eager(interruption);
    if (frame->owner == FRAME_OWNED_BY_GENERATOR && !is_generators(frame))
        return stay_eager("ends a generator from before the call");
    roots_.erase(frame);  // another one was there before
    if (std::exchange(code_of_root_, nullptr) == code_of(frame)) roots_.insert(frame);
    if (reading_ == frame) reading_ = nullptr;  // another one was there before
    if (stepping_ == frame) take_options();
    if (question_.frame) fills_cache();
    PyFunctionObject* const function = function_of(frame);
    PyObject* const object = reinterpret_cast<PyObject*>(function);
    if (made_codes_.contains(function->func_code) && !older_.contains(object)) return;
    add_older(object);
    state.function(object);
    for (PyObject* const tuple : {function->func_defaults, function->func_closure})
        for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(tuple); ++i) add_older(PyTuple_GET_ITEM(tuple, i));
    if (function->func_kwdefaults) add_older(function->func_kwdefaults), iterate(function->func_kwdefaults);
}

void Tracer::count_witnesses() {
    if (state.size() > kMostWitnesses) stay_eager("reads more than 10,000 values of Python from before the call");
}

// Reading a clock takes as long as looking. Of a long call, one in so many instructions stands for the others; but not
// one that took so long that there was an interruption.
void Tracer::instruction(_PyInterpreterFrame* frame) {
    constexpr std::uint32_t kAll = 256, kOneIn = 64;
    constexpr std::int64_t kUnlikely = 5000;  // nanoseconds
    if (collecting_ && is_collectors(frame)) return;
    if (kTellsOfPrefixOnly && Watch::only_moves_as(*instruction_at(frame)) && !waits()) return;
    const bool all = instructions_++ < kAll;
    if (!all && instructions_ % kOneIn) return look_at(frame);
    const Stopwatch watch;
    look_at(frame);
    const std::int64_t took = watch.nanoseconds();
    spent += took * (all || took > kUnlikely ? 1 : kOneIn);
}

void Tracer::look_at(_PyInterpreterFrame* frame) {
    PyCodeObject* const code = code_of(frame);
    const CodeTable& table = table_of(code);
    const Instruction *const first = table.at(instruction_of(frame, code)), *at = first;
    if (kTellsOfPrefixOnly)
        while (at && at->opcode == EXTENDED_ARG) ++at;
    if (at == nullptr || at->depth < 0) return stay_eager("runs code that can't be read");
    if (at->opcode == EXTENDED_ARG) return;
    if (Watch::only_moves(at->opcode)) {
        if (at == first) Watch::note_as(*instruction_at(frame));
        if (!waits()) return;
    }
    code_ = code;
    rest_ = {at + 1, table.end()};
    Watch watch(*this, *frame, *at);
    if (reading_ == frame) {
        reading_ = nullptr;
        if (program_.reads.size() == reads_before_ + 1 && may_be_followed(watch.top()))
            numbers[watch.top()] = {.number = nb::borrow(watch.top()), .read = static_cast<int>(reads_before_)};
    }
    code_of_root_ = nullptr;  // it did not begin: its arguments did not fit
    if (handed_on_) take_constant();
    if (stepping_ == frame) take_options();
    if (question_.frame == frame) take_answer(watch.top());
    current_ = frame;
    watch.go();
    if (instructions_ % kOneInCounted == 0) count_witnesses();
}

#endif

}  // namespace clew::bind
