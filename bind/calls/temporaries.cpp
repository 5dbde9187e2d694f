#include "bind/graph/frame.h"

#include "bind/calls/temporaries.h"

#include "bind/types/objects.h"
#include "core/ops/dispatch.h"

#if CLEW_READS_FRAMES
#include <opcode.h>

#include "bind/graph/code_table.h"
#endif

namespace clew::bind {

#if CLEW_READS_FRAMES

namespace {

// Does one reference hold it, and is it large enough for the look at the stack to pay?
bool may_die(PyObject* object) {
    if (!is_exact_tensor(object) || Py_REFCNT(object) != 1) return false;
    const auto* tensor = reinterpret_cast<const TensorObject*>(object);
    return tensor->layout->numel >= kWorthWritingOver;
}

// Where the running code keeps what it computes with.
struct Stack {
    _PyInterpreterFrame* frame = innermost();
    PyCodeObject* code = frame && runs_python(frame) ? code_of(frame) : nullptr;

    PyObject** first() const { return reinterpret_cast<PyObject**>(frame->localsplus) + code->co_nlocalsplus; }
    PyObject** last() const { return first() + code->co_stacksize; }
};

// Are these the operands of the operator under way? What lies above the top of the stack is left over from before and
// may be anything, and the operator may have been called by another one (NumPy multiplies arrays of objects so): the
// two must be the topmost.
bool are_operands(PyObject* a, PyObject* b) {
    const Stack stack;
    if (stack.code == nullptr) return false;
    const Instruction* const running = table_of(stack.code).at(instruction_of(stack.frame, stack.code));
    if (running == nullptr || running->opcode != BINARY_OP || running->depth < 2) return false;
    PyObject** const top = stack.first() + running->depth;
    return top[-2] == a && top[-1] == b;
}

bool lie_behind(PyObject* callable, PyObject* const* args) {
    const Stack stack;
    if (stack.code == nullptr || args <= stack.first() || args >= stack.last()) return false;
#if PY_VERSION_HEX >= 0x030D0000  // between the callable and arguments there may be an empty place
    if (args[-1] == nullptr && args - 2 >= stack.first()) return args[-2] == callable;
#endif
    return args[-1] == callable;
}

}  // namespace

const TensorObject* find_temporary_operand(PyObject* a, PyObject* b) {
    PyObject* const donated = may_die(a) ? a : b;
    if ((donated == b && !may_die(b)) || !are_operands(a, b)) return nullptr;
    return reinterpret_cast<const TensorObject*>(donated);
}

const TensorObject* find_temporary_argument(PyObject* callable, PyObject* const* args) {
    if (!may_die(args[0]) || !lie_behind(callable, args)) return nullptr;
    return reinterpret_cast<const TensorObject*>(args[0]);
}

#else

// Newer interpreters lend references to their stack, and nothing says who called us.
const TensorObject* find_temporary_operand(PyObject*, PyObject*) { return nullptr; }
const TensorObject* find_temporary_argument(PyObject*, PyObject* const*) { return nullptr; }

#endif

}  // namespace clew::bind
