#include "bind/watch/watch.h"

#if CLEW_READS_FRAMES

#include <opcode.h>

#include <cmath>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/types/overridable.h"
#include "bind/watch/kinds.h"

namespace nb = nanobind;

namespace clew::bind {

namespace {

bool is_nan(PyObject* object) { return PyFloat_CheckExact(object) && std::isnan(PyFloat_AS_DOUBLE(object)); }

}  // namespace

Watch::Watch(Tracer& tracer, _PyInterpreterFrame& frame, const Instruction& at)
    : tracer_(tracer), frame_(frame), opcode_(at.opcode), argument_(at.argument) {
    top_ = frame.localsplus + tracer.code_->co_nlocalsplus + at.depth;
}

void Watch::go() {
    if (go_by_version()) return;
    switch (opcode_) {
        case LOAD_GLOBAL:
            return tracer_.load_global(frame_, name(argument_ >> 1));
        case LOAD_DEREF: {
            PyObject* const cell = frame_.localsplus[argument_];
            if (!tracer_.is_older(cell)) return;
            tracer_.state.cell(cell);
            return tracer_.add_older(PyCell_GET(cell));
        }
        case STORE_DEREF:
        case DELETE_DEREF:
            if (tracer_.is_older(frame_.localsplus[argument_]))
                stay_eager("assigns to a variable of a function around it");
            return;
        case STORE_ATTR:
            return tracer_.set_attribute(top(), name(argument_), top(2));
        case DELETE_ATTR:
            if (tracer_.is_older(top())) stay_eager("deletes an attribute of an object from before the call");
            return;
        case BINARY_SUBSCR:
            return tracer_.subscript(top(2), top(1));
        case STORE_SUBSCR:
            return tracer_.set_item(top(2), top(1), top(3));
        case DELETE_SUBSCR:
            tracer_.use(top(2));
            tracer_.use_all(top());
            if (tracer_.is_older(top(2)) || tracer_.is_argument(top(2)))
                stay_eager("deletes an item of a container from before the call");
            return;
        case GET_ITER:
        case GET_YIELD_FROM_ITER:
        case UNPACK_SEQUENCE:
        case UNPACK_EX:
        case LIST_EXTEND:
        case DICT_UPDATE:
        case DICT_MERGE:
            return tracer_.iterate(top());
        case FOR_ITER:
        case SEND:
            return go_on(opcode_ == SEND ? top(2) : top());
        case CONTAINS_OP:
            if (is_nan(top(2))) as_given(2);
            tracer_.note_identity(top(2));
            tracer_.contents(top(2));
            return tracer_.contents(top());
        case IS_OP:
            if (PyFloat_CheckExact(top(2)) && PyFloat_CheckExact(top(1))) as_given(2), as_given(1);
            return tracer_.identity(top(2), top(1));
        case BINARY_OP:
            if (argument_ >= 13 && !as_tensor(top(2)) && !is_atom(top(2)) &&
                (tracer_.is_older(top(2)) || tracer_.is_argument(top(2))))
                stay_eager("changes an object from before the call in place");
            return tracer_.arithmetic(top(2), top(1), argument_);
        case UNARY_NEGATIVE:
        case UNARY_INVERT:
            return tracer_.contents(top());
        case GET_LEN:
            return tracer_.contents(top(), false);
        case IMPORT_NAME:
            return tracer_.import(frame_, name(argument_), top(2));
        case IMPORT_FROM:
            return tracer_.import_from(top(), name(argument_));
        case RAISE_VARARGS:
            return tracer_.raise(top_ - argument_, argument_);
        case CHECK_EXC_MATCH:
        case CHECK_EG_MATCH:
            return tracer_.match_exception(top(2), top());
        case MATCH_SEQUENCE:
        case MATCH_MAPPING:
            tracer_.touch(top());
            return tracer_.state.registered_classes();
        case YIELD_VALUE:
            return tracer_.contents(top());
        case SET_ADD:
            return tracer_.add_key(top());
        case MAP_ADD:
            return tracer_.add_key(top(2));
        case BUILD_SET:
            for (int i = 1; i <= argument_; ++i) tracer_.add_key(top(i));
            return;
        case BUILD_MAP:
            for (int i = 1; i <= argument_; ++i) tracer_.add_key(top(2 * i));
            return;
        case SET_UPDATE:
            tracer_.use_all(top());
            return tracer_.iterate(top());
        case RETURN_VALUE:
            return return_value(top());
        case MAKE_FUNCTION:
            tracer_.made_codes_.insert(top());
            return;
        case BEFORE_WITH:
            return tracer_.enter_with(top());
        case STORE_GLOBAL:
        case DELETE_GLOBAL:
            return stay_eager("assigns to a global");
        case LOAD_NAME:
        case STORE_NAME:
        case DELETE_NAME:
        case LOAD_BUILD_CLASS:
            return tracer_.define_class();
        case GET_AWAITABLE:
        case GET_AITER:
        case GET_ANEXT:
        case BEFORE_ASYNC_WITH:
        case END_ASYNC_FOR:
            return stay_eager("is asynchronous");
        case MATCH_CLASS:
            return tracer_.match_class(top(3), top(2), top(), argument_);
        case MATCH_KEYS:
            return stay_eager("matches a pattern of a mapping");
#if PY_VERSION_HEX < 0x030D0000
        case KW_NAMES:
            tracer_.names_arguments_ = true;
            return;
        case FORMAT_VALUE:
            return tracer_.contents(top((argument_ & 4) ? 2 : 1));
        case CALL: {
            const bool method = top(argument_ + 2) != nullptr;
            const int count = argument_ + method;
            tracer_.plain_call_ = !std::exchange(tracer_.names_arguments_, false);
            tracer_.begin_root(top(count + 1));
            tracer_.call(top(count + 1), top_ - count, static_cast<std::size_t>(count));
            tracer_.plain_call_ = false;
            return;
        }
        case CALL_FUNCTION_EX:
            return call_with_tuple(top((argument_ & 1) ? 3 : 2));
#endif
        default:
            only_moves_[opcode_] = true;  // and makes new ones
            return;
    }
}

// A float argument of which it counts which object it is: the one that was given, not that which is followed.
void Watch::as_given(int depth) const {
    const auto found = tracer_.numbers.find(top(depth));
    if (found == tracer_.numbers.end() || found->second.argument < 0 || found->second.is_option()) return;
    stay_eager("compares which object a float argument is");
    Py_SETREF(top_[-depth], found->second.given.inc_ref().ptr());
}

// To C that hands it on to the instruction that reads an attribute: of a `__getattr__`, a getter.
bool Watch::gives_attribute() const {
    _PyInterpreterFrame* const caller = frame_.previous;
    if (caller == nullptr || !runs_python(caller)) return false;
    PyCodeObject* const code = code_of(caller);
    const Instruction* at = table_of(code).at(instruction_of(caller, code));
    while (at && at->opcode == EXTENDED_ARG) ++at;
#if PY_VERSION_HEX < 0x030C0000
    return at && (at->opcode == LOAD_ATTR || at->opcode == LOAD_METHOD);
#else
    return at && at->opcode == LOAD_ATTR;
#endif
}

// To C, which may do more than hand it on.
void Watch::return_value(PyObject* value) const {
    if (tracer_.roots_.contains(&frame_)) {
        tracer_.returned_code = Handle::borrow(reinterpret_cast<void*>(tracer_.code_));
        tracer_.returned_at = instruction_of(&frame_, tracer_.code_);
    }
    if (is_entry(&frame_) && !tracer_.roots_.contains(&frame_) && !gives_attribute()) tracer_.contents(value);
}

void Watch::go_on(PyObject* iterator) const {
    if (tracer_.is_older(iterator)) stay_eager("continues an iterator from before the call");
    tracer_.use_if_read(iterator);
}

void Watch::call_with_tuple(PyObject* callee) const {
    tracer_.begin_root(callee);
    const bool named = argument_ & 1;
    PyObject* const names = named ? top(1) : nullptr;
    PyObject* const positional = top(named ? 2 : 1);
    if (!PyTuple_CheckExact(positional)) {
        tracer_.iterate(positional);
        const bool named_tuple = PyTuple_Check(positional) && Py_TYPE(positional)->tp_iter == PyTuple_Type.tp_iter;
        if (named_tuple || PyList_CheckExact(positional))
            return with_names(callee, nb::steal(checked(PySequence_Tuple(positional))).ptr(), names);
        PyObject* const function = PyMethod_Check(callee) ? PyMethod_GET_FUNCTION(callee) : callee;
        if (!PyFunction_Check(function) && !function_of_overridable(function))
            stay_eager("calls something in C with the items of an iterator");
        return;
    }
    if (tracer_.is_older(positional)) tracer_.iterate(positional);
    with_names(callee, positional, names);
}

void Watch::with_names(PyObject* callee, PyObject* positional, PyObject* names) const {
    std::vector<PyObject*> all;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional); ++i) all.push_back(PyTuple_GET_ITEM(positional, i));
    if (names) {
        if (tracer_.is_older(names)) tracer_.iterate(names);
        PyObject *key, *value;
        for (Py_ssize_t place = 0; PyDict_Next(names, &place, &key, &value);) all.push_back(value);
    }
    tracer_.call(callee, all.data(), all.size());
}

}  // namespace clew::bind

#endif
