#include "bind/frame.h"

#include "bind/temporaries.h"

#include "bind/objects.h"
#include "core/ops/dispatch.h"

#if CLEW_READS_FRAMES
#include <opcode.h>

#include <unordered_map>

#include "bind/errors.h"
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

using Depths = std::unordered_map<std::int32_t, std::int32_t>;  // of the stack, at offsets of operators

PyObject* call_depths_at_operators(PyCodeObject* code) {
    static PyObject* function = nullptr;
    if (function == nullptr) {
        const Handle module = Handle::steal(checked(PyImport_ImportModule("clew._stack_depths")));
        function = checked(PyObject_GetAttrString(static_cast<PyObject*>(module.get()), "depths_at_operators"));
    }
    return checked(PyObject_CallOneArg(function, reinterpret_cast<PyObject*>(code)));
}

Depths read_depths(PyCodeObject* code) {
    const Handle found = Handle::steal(call_depths_at_operators(code));
    Depths depths;
    PyObject *offset, *depth;
    for (Py_ssize_t at = 0; PyDict_Next(static_cast<PyObject*>(found.get()), &at, &offset, &depth);)
        depths[static_cast<std::int32_t>(PyLong_AsLong(offset))] = static_cast<std::int32_t>(PyLong_AsLong(depth));
    return depths;
}

// Worked out once for each code, which is kept alive so that its address stays its own.
const Depths& depths_of(PyCodeObject* code) {
    static auto* const known = new std::unordered_map<PyCodeObject*, Depths>;
    const auto it = known->find(code);
    if (it != known->end()) return it->second;
    constexpr std::size_t kMost = 1000;  // a program that makes code without end
    if (known->size() >= kMost) {
        std::unordered_map<PyCodeObject*, Depths> old;
        old.swap(*known);
        for (const auto& [each, depths] : old) Py_DECREF(each);
    }
    Depths depths = read_depths(code);
    Py_INCREF(code);
    return (*known)[code] = std::move(depths);
}

// Where the running code keeps what it computes with.
struct Stack {
    _PyInterpreterFrame* frame = innermost();
    PyCodeObject* code = frame && runs_python(frame) ? code_of(frame) : nullptr;

    PyObject** first() const { return reinterpret_cast<PyObject**>(frame->localsplus) + code->co_nlocalsplus; }
    PyObject** last() const { return first() + code->co_stacksize; }
    bool is_at_operator() const {
        const int opcode = static_cast<unsigned char>(*instruction_at(frame));
#ifdef BINARY_OP_ADAPTIVE
        if (opcode == BINARY_OP_ADAPTIVE) return true;
#endif
        return opcode == BINARY_OP;
    }
};

// Are these the operands of the operator under way? What lies above the top of the stack is left over from before and
// may be anything, and the operator may have been called by another one (NumPy multiplies arrays of objects so): the
// two must be the topmost.
bool are_operands(PyObject* a, PyObject* b) {
    const Stack stack;
    if (stack.code == nullptr || !stack.is_at_operator()) return false;
    const Depths& depths = depths_of(stack.code);
    const auto it = depths.find(instruction_of(stack.frame, stack.code));
    if (it == depths.end() || it->second < 2 || it->second > stack.code->co_stacksize) return false;
    PyObject** const top = stack.first() + it->second;
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
