// What CPython 3.12 and 3.13 have, or have in another way than 3.11.
#include "bind/watch/watch.h"

#if CLEW_READS_FRAMES && PY_VERSION_HEX >= 0x030C0000

#include <opcode.h>

#include "bind/errors.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

#if PY_VERSION_HEX >= 0x030D0000
constexpr int kComparisonBits = 5;
#else
constexpr int kComparisonBits = 4;
#endif

// Arguments of CALL_INTRINSIC_1.
enum Intrinsic { StopIteration = 3, UnaryPositive = 5, ListToTuple = 6 };

}  // namespace

bool Watch::go_by_version() {
    switch (opcode_) {
        case LOAD_ATTR:
            tracer_.attribute(top(), name(argument_ >> 1));
            return true;
        case LOAD_SUPER_ATTR:
            super_attribute();
            return true;
        case BINARY_SLICE:
            slice(top(3), nullptr);
            return true;
        case STORE_SLICE:
            slice(top(3), top(4));
            return true;
        case COMPARE_OP:
            tracer_.compare(top(2), top(1), argument_ >> kComparisonBits);
            return true;
        case CALL_INTRINSIC_1:
            intrinsic();
            return true;
        case RETURN_CONST:
            return_value(PyTuple_GET_ITEM(tracer_.code_->co_consts, argument_));
            return true;
        case LOAD_LOCALS:
        case LOAD_FROM_DICT_OR_DEREF:
        case LOAD_FROM_DICT_OR_GLOBALS:
            tracer_.define_class();
            return true;
        case CALL_INTRINSIC_2:
            stay_eager("raises a group of exceptions or defines a generic function");
            return true;
#if PY_VERSION_HEX >= 0x030D0000
        case TO_BOOL:
            tracer_.truth(top());
            return true;
        case CONVERT_VALUE:
        case FORMAT_SIMPLE:
            tracer_.contents(top());
            return true;
        case FORMAT_WITH_SPEC:
            tracer_.contents(top(2));
            return true;
        case CALL:
        case CALL_KW: {  // the callable, an object that a method is of or nothing, arguments, names
            PyObject** const end = top_ - (opcode_ == CALL_KW);
            const int count = argument_ + (end[-argument_ - 1] != nullptr);
            tracer_.plain_call_ = opcode_ == CALL;
            tracer_.begin_root(end[-argument_ - 2]);
            tracer_.call(end[-argument_ - 2], end - count, static_cast<std::size_t>(count));
            tracer_.plain_call_ = false;
            return true;
        }
        case CALL_FUNCTION_EX:
            call_with_tuple(top((argument_ & 1) ? 4 : 3));
            return true;
#else
        case UNARY_NOT:
        case POP_JUMP_IF_FALSE:
        case POP_JUMP_IF_TRUE:
            tracer_.truth(top());
            return true;
#endif
        default:
            return false;
    }
}

// super().name, or super(type, object).name: all in one instruction.
void Watch::super_attribute() const {
    PyObject* const given[] = {top(2), top(1)};
    PyObject* const callee = top(3);
    if (callee != reinterpret_cast<PyObject*>(&PySuper_Type)) return stay_eager("has a super of its own");
    if (argument_ & 2) tracer_.call(callee, given, 2);
    const nb::object super = nb::steal(PyObject_CallFunctionObjArgs(callee, given[0], given[1], nullptr));
    if (!super.is_valid()) return PyErr_Clear();  // the instruction raises it
    tracer_.attribute(super.ptr(), name(argument_ >> 2));
}

void Watch::slice(PyObject* container, PyObject* stored) const {
    const nb::object key = nb::steal(checked(PySlice_New(top(2), top(1), nullptr)));
    stored ? tracer_.set_item(container, key.ptr(), stored) : tracer_.subscript(container, key.ptr());
}

void Watch::intrinsic() const {
    switch (argument_) {
        case UnaryPositive:
            return tracer_.contents(top());
        case StopIteration:
        case ListToTuple:
            return;
        default:
            return tracer_.define_class();
    }
}

}  // namespace clew::bind

#endif
