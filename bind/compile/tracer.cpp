#include "bind/compile/tracer.h"

#include <opcode.h>

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

bool is_atom(PyObject* object) {
    return object == Py_None || PyBool_Check(object) || PyLong_CheckExact(object) || PyFloat_CheckExact(object) ||
           PyUnicode_CheckExact(object) || PyBytes_CheckExact(object) || PyComplex_CheckExact(object) ||
           object == Py_Ellipsis || object == Py_NotImplemented;
}

// What only watched Python, or callables that are known, can read.
bool is_read_by_python(PyObject* object) {
    if (PyType_Check(object) || PyFunction_Check(object) || PyMethod_Check(object) || PyModule_Check(object) ||
        PyCFunction_Check(object) || PyRange_Check(object) || PySlice_Check(object) || PyCode_Check(object) ||
        PyGen_CheckExact(object))
        return true;
    PyTypeObject* type = Py_TYPE(object);
    while (type && (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) type = type->tp_base;
    return type == &PyBaseObject_Type || is_clews(type) || type == &operation_type ||
           PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(PyExc_BaseException)) || type == &PyUnicode_Type ||
           type == &PyLong_Type || type == &PyFloat_Type || type == &PyMethodDescr_Type ||
           type == &PyWrapperDescr_Type || known_call(std::string("object ") + type->tp_name);
}

bool is_exact_as_double(PyObject* object) {
    if (!PyLong_CheckExact(object)) return false;
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0 && value <= (1LL << 53) && value >= -(1LL << 53);
}

bool is_python_class(PyTypeObject* type) {
    return (type->tp_flags & Py_TPFLAGS_HEAPTYPE) && !(type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
}

}  // namespace

// The operands of the instruction that is about to run.
class Watch {
public:
    Watch(Tracer& tracer, _PyInterpreterFrame& frame) : tracer_(tracer), frame_(frame) {
        PyCodeObject* const code = frame.f_code;
        const unsigned char* bytes = tracer.bytes_of(code) + instruction_of(&frame, code);
        opcode_ = bytes[0];
        argument_ = bytes[1];
        while (opcode_ == EXTENDED_ARG) {
            bytes += 2;
            opcode_ = bytes[0];
            argument_ = argument_ << 8 | bytes[1];
        }
        top_ = frame.localsplus + frame.stacktop;
        tracer.next_ = bytes + 2;
        tracer.names_ = code->co_names;
        tracer.constants_ = code->co_consts;
    }

    PyObject* top(int depth = 1) const { return top_[-depth]; }

    void go() {
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
            case LOAD_ATTR:
            case LOAD_METHOD:
                return tracer_.attribute(top(), name(argument_));
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
                if (tracer_.is_older(top(2)) || tracer_.is_argument(top(2)))
                    stay_eager("deletes an item of a container from before the call");
                return;
            case GET_ITER:
            case GET_YIELD_FROM_ITER:
            case UNPACK_SEQUENCE:
            case UNPACK_EX:
            case LIST_EXTEND:
            case SET_UPDATE:
            case DICT_UPDATE:
            case DICT_MERGE:
                return tracer_.iterate(top());
            case FOR_ITER:
            case SEND:
                if (tracer_.is_older(opcode_ == SEND ? top(2) : top()))
                    stay_eager("goes on with an iterator from before the call");
                return;
            case CONTAINS_OP:
                tracer_.contents(top(2));
                return tracer_.contents(top());
            case COMPARE_OP:
                return tracer_.compare(top(2), top(1), argument_);
            case IS_OP:
                tracer_.use(top(2));
                return tracer_.use(top(1));
            case BINARY_OP:
                if (argument_ >= 13 && !as_tensor(top(2)) && !is_atom(top(2)) &&
                    (tracer_.is_older(top(2)) || tracer_.is_argument(top(2))))
                    stay_eager("changes an object from before the call in place");
                tracer_.contents(top(2));
                return tracer_.contents(top(1));
            case UNARY_NEGATIVE:
            case UNARY_POSITIVE:
            case UNARY_INVERT:
                return tracer_.contents(top());
            case UNARY_NOT:
            case JUMP_IF_FALSE_OR_POP:
            case JUMP_IF_TRUE_OR_POP:
            case POP_JUMP_FORWARD_IF_FALSE:
            case POP_JUMP_FORWARD_IF_TRUE:
            case POP_JUMP_BACKWARD_IF_FALSE:
            case POP_JUMP_BACKWARD_IF_TRUE:
                return tracer_.truth(top());
            case GET_LEN:
                return tracer_.contents(top(), false);
            case FORMAT_VALUE:
                return tracer_.contents(top((argument_ & 4) ? 2 : 1));
            case CALL: {
                const bool method = top(argument_ + 2) != nullptr;
                const int count = argument_ + method;
                return tracer_.call(top(count + 1), top_ - count, static_cast<std::size_t>(count), nullptr);
            }
            case CALL_FUNCTION_EX:
                return call_with_tuple();
            case IMPORT_NAME:
                return tracer_.import(frame_, name(argument_), top(2));
            case IMPORT_FROM:
                return tracer_.attribute(top(), name(argument_));
            case YIELD_VALUE:
            case SET_ADD:
                return tracer_.use(top());
            case MAP_ADD:
                return tracer_.use(top(2));
            case BUILD_SET:
                for (int i = 1; i <= argument_; ++i) tracer_.use(top(i));
                return;
            case BUILD_MAP:
                for (int i = 1; i <= argument_; ++i) tracer_.use(top(2 * i));
                return;
            case RETURN_VALUE:
                // To C, which may do more than hand it on.
                if (frame_.is_entry && frame_.frame_obj != tracer_.root_) tracer_.use(top());
                return;
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
            case LOAD_CLASSDEREF:
            case LOAD_BUILD_CLASS:
            case IMPORT_STAR:
            case PRINT_EXPR:
                return stay_eager("defines a class or runs code of a module");
            case GET_AWAITABLE:
            case GET_AITER:
            case GET_ANEXT:
            case BEFORE_ASYNC_WITH:
            case END_ASYNC_FOR:
                return stay_eager("is asynchronous");
            case MATCH_CLASS:
            case MATCH_KEYS:
                return stay_eager("matches a pattern of a class or a mapping");
            default:
                return;  // it moves values of the call, and makes new ones
        }
    }

private:
    PyObject* name(int i) const { return PyTuple_GET_ITEM(frame_.f_code->co_names, i); }
    void stay_eager(const char* text) const { tracer_.stay_eager(text); }

    void call_with_tuple() const {
        const bool named = argument_ & 1;
        PyObject* const names = named ? top(1) : nullptr;
        PyObject* const positional = top(named ? 2 : 1);
        PyObject* const callee = top(named ? 3 : 2);
        if (!PyTuple_CheckExact(positional)) {
            tracer_.iterate(positional);
            if (PyList_CheckExact(positional))
                return with_names(callee, nb::steal(checked(PyList_AsTuple(positional))).ptr(), names);
            PyObject* const function = PyMethod_Check(callee) ? PyMethod_GET_FUNCTION(callee) : callee;
            if (!PyFunction_Check(function)) stay_eager("calls something in C with the items of an iterator");
            return;
        }
        with_names(callee, positional, names);
    }
    void with_names(PyObject* callee, PyObject* positional, PyObject* names) const {
        std::vector<PyObject*> all;
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(positional); ++i) all.push_back(PyTuple_GET_ITEM(positional, i));
        if (names) {
            if (tracer_.is_older(names)) tracer_.iterate(names);
            PyObject *key, *value;
            for (Py_ssize_t place = 0; PyDict_Next(names, &place, &key, &value);) all.push_back(value);
        }
        tracer_.call(callee, all.data(), all.size(), names);
    }

    Tracer& tracer_;
    _PyInterpreterFrame& frame_;
    PyObject** top_;
    int opcode_, argument_;
};

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
    call(function, &PyTuple_GET_ITEM(arguments, 0), static_cast<std::size_t>(PyTuple_GET_SIZE(arguments)), nullptr);
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
    Watch watch(*this, *frame->f_frame);
    if (reading_ == frame) {
        reading_ = nullptr;
        if (program_.reads.size() == reads_before_ + 1 && PyFloat_CheckExact(watch.top()))
            numbers[watch.top()] = {.number = nb::borrow(watch.top()), .read = static_cast<int>(reads_before_)};
    }
    if (stepping_ == frame) take_options();
    current_ = frame;
    watch.go();
    if (state.size() > kMostWitnesses) stay_eager("reads more than 10,000 values of Python from before the call");
}

void Tracer::stay_eager(std::string text) {
    if (cause) return;
    const Site site = runtime.current_site();
    cause = Cause{std::move(text), Handle::steal(site.code), site.instruction};
}

void Tracer::use(PyObject* operand) {
    if (numbers.empty() || operand == nullptr || !PyFloat_CheckExact(operand)) return;
    const auto found = numbers.find(operand);
    if (found == numbers.end() || std::exchange(found->second.used, true) || found->second.read >= 0) return;
    state.entry(found->second.dict.ptr(), found->second.key.ptr());
}

// A float of a group of parameters is read anew by each replay, if it goes only to the step of the optimizer.
bool Tracer::follow_option(PyObject* dict, PyObject* key) {
    static PyObject* const params = PyUnicode_InternFromString("params");
    PyObject* const value = PyDict_GetItemWithError(dict, key);
    if (value == nullptr || !PyFloat_CheckExact(value) || !PyDict_GetItemWithError(dict, params)) return false;
    const auto [found, fresh] = numbers.emplace(value, FollowedNumber{nb::borrow(value)});
    FollowedNumber& number = found->second;
    if (fresh) {
        number.dict = nb::borrow(dict);
        number.key = nb::borrow(key);
        return true;
    }
    if (number.used) return false;
    if (number.dict.ptr() == dict && same_value(number.key.ptr(), key)) return true;
    use(value);  // one object in two places
    return false;
}

void Tracer::finish() {
    if (stepping_) take_options();
    for (const Counter& one : counters)
        if (!one.stored) stay_eager("counts, but does not store the count");
}

// What a step of an optimizer was given: its steps have been recorded by now.
void Tracer::take_options() {
    stepping_ = nullptr;
    for (std::size_t i = steps_before_; i < program_.steps.size(); ++i) {
        if (!program_.steps[i].op->is(kOptimizerStep)) continue;
        for (const Option& one : pending_) options.push_back({one.dict, one.key, static_cast<int>(i), one.field});
    }
    pending_.clear();
}

// With a constant, the outcome is the witness.
void Tracer::compare(PyObject* left, PyObject* right, int operation) {
    const auto number = numbers.find(left), other = numbers.find(right);
    const bool constant = other == numbers.end() && (PyFloat_CheckExact(right) || is_exact_as_double(right));
    if (number != numbers.end() && number->second.read >= 0 && constant) {
        const double bound = PyFloat_AsDouble(right);
        const int outcome = PyObject_RichCompareBool(left, right, operation);
        checked(outcome);
        program_.comparisons.push_back({number->second.read, operation, bound, outcome == 1});
        return;
    }
    contents(left);
    contents(right);
}

void Tracer::touch(PyObject* object) {
    state.type(Py_TYPE(object));
    if (PyType_Check(object))
        state.type(reinterpret_cast<PyTypeObject*>(object));
    else if (is_python_class(Py_TYPE(object)) && older_.contains(object))
        state.instance(object);
}

void Tracer::truth(PyObject* object) {
    if (object == Py_True || object == Py_False || object == Py_None) return;
    contents(object, false);
}

// What it holds, so that who is given it may read that: of what it holds no more than which objects, unless `deep`.
void Tracer::contents(PyObject* object, bool deep) {
    use(object);
    if (object == nullptr || is_atom(object)) return;
    touch(object);
    if (as_tensor(object)) return;
    const bool older = is_older(object);
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
            holds(value);
        }
        for (const Effect& one : effects)
            if (one.holder.ptr() == object) stay_eager("reads all of a dict that it has changed");
    } else if (PyAnySet_Check(object)) {
        if (older && !PyFrozenSet_Check(object)) state.set(object);
        PyObject* item;
        Py_hash_t hash;
        for (Py_ssize_t place = 0; older && _PySet_NextEntry(object, &place, &item, &hash);) add_older(item);
    } else if (older && Py_TYPE(object) == &PyDictProxy_Type) {
        PyObject* const dict = behind_proxy(object);
        add_older(dict);
        contents(dict);
    } else if (PyDictKeys_Check(object) || PyDictValues_Check(object) || PyDictItems_Check(object)) {
        if (!older) return;
        struct View {
            PyObject_HEAD PyObject* dict;
        };
        PyObject* const dict = reinterpret_cast<View*>(object)->dict;
        add_older(dict);
        contents(dict, deep);
    } else if (PyCFunction_Check(object) || std::strcmp(Py_TYPE(object)->tp_name, "functools.partial") == 0) {
        call(object, nullptr, 0, nullptr);  // who is given it may call it
    } else if (deep && PyCallable_Check(object) && !is_read_by_python(object)) {
        stay_eager(std::string("hands on a ") + Py_TYPE(object)->tp_name + ", which may be called");
    } else if (older && !is_read_by_python(object)) {
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
        std::string text = PyUnicode_AsUTF8(package);
        for (long i = 1; i < up; ++i) text.resize(std::min(text.rfind('.'), text.size()));
        if (PyUnicode_GET_LENGTH(name)) text += std::string(".") + PyUnicode_AsUTF8(name);
        full = nb::steal(PyUnicode_InternFromString(text.c_str()));
    }
    PyObject* const module = PyDict_GetItemWithError(modules, full.ptr());
    if (module == nullptr) return stay_eager("imports a module for the first time");
    state.entry(modules, full.ptr());
    add_older(module);
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
