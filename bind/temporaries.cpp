#include "bind/frame.h"

#include "bind/temporaries.h"

#include "bind/objects.h"
#include "core/ops/apply.h"

#if CLEW_READS_FRAMES
#include <opcode.h>
#endif

namespace clew::bind {
namespace {

// Does one reference hold it, and is it large enough for the look at the stack to pay?
bool may_die(PyObject* object) {
    if (!is_exact_tensor(object) || Py_REFCNT(object) != 1) return false;
    const auto* tensor = reinterpret_cast<const TensorObject*>(object);
    return tensor->layout->numel >= kWorthWritingOver;
}

#if CLEW_READS_FRAMES

// Where the running code keeps what it computes with. What lies above the top is left over from before.
struct Stack {
    PyObject** first = nullptr;
    PyObject** last = nullptr;
    int opcode = -1;

    Stack() {
        _PyInterpreterFrame* frame = innermost();
        if (frame == nullptr || !runs_python(frame)) return;
        PyCodeObject* code = code_of(frame);
        if (code == nullptr) return;
        first = reinterpret_cast<PyObject**>(frame->localsplus) + code->co_nlocalsplus;
        last = first + code->co_stacksize;
        opcode = static_cast<unsigned char>(*instruction_at(frame));
    }
    bool is_at_operator() const {
#ifdef BINARY_OP_ADAPTIVE
        if (opcode == BINARY_OP_ADAPTIVE) return true;
#endif
        return opcode == BINARY_OP;
    }
};

// Are these the operands of the operator under way?
bool are_operands(PyObject* a, PyObject* b) {
    const Stack stack;
    if (!stack.is_at_operator()) return false;
    for (PyObject** at = stack.first; at + 1 < stack.last; ++at)
        if (at[0] == a && at[1] == b) return true;
    return false;
}

// Between callable and arguments there may be an empty place.
bool lie_behind(PyObject* callable, PyObject* const* args) {
    const Stack stack;
    if (args <= stack.first || args >= stack.last) return false;
    return args[-1] == callable || (args[-1] == nullptr && args - 2 >= stack.first && args[-2] == callable);
}

#endif

}  // namespace

const TensorObject* find_dying_operand(PyObject* a, PyObject* b) {
    PyObject* const dying = may_die(a) ? a : b;
    if (dying == b && !may_die(b)) return nullptr;
#if CLEW_READS_FRAMES
    const bool on_stack = are_operands(a, b);
#else
    const bool on_stack = PyUnstable_Object_IsUniqueReferencedTemporary(dying);
#endif
    return on_stack ? reinterpret_cast<const TensorObject*>(dying) : nullptr;
}

const TensorObject* find_dying_argument(PyObject* callable, PyObject* const* args) {
    if (!may_die(args[0])) return nullptr;
#if CLEW_READS_FRAMES
    const bool on_stack = lie_behind(callable, args);
#else
    const bool on_stack = (void(callable), PyUnstable_Object_IsUniqueReferencedTemporary(args[0]));
#endif
    return on_stack ? reinterpret_cast<const TensorObject*>(args[0]) : nullptr;
}

}  // namespace clew::bind
