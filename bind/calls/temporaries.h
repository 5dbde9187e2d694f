// Operands that die with the operation that reads them.
//
// Note [Temporaries]
// In `0.5 * x + y` nobody will see the product once the sum is made: the only reference to it is on the interpreter's
// stack. So the sum may be written over it, which takes no other memory and finds it in the cache. One reference alone
// proves nothing (`operator.add(*pair)` reads the elements of a tuple that lives on), so we look whether the
// interpreter itself called us, with operands that lie on its stack: the code that runs stands at an operator and these
// two are the topmost, or the arguments lie behind this very callable. Whatever calls us in another way gets its result
// in memory of its own; and so does everybody on CPython 3.14 and newer.
#pragma once
#include <Python.h>

#include "core/tensor/tensor.h"

namespace clew::bind {

const TensorObject* find_temporary_operand(PyObject* a, PyObject* b);
const TensorObject* find_temporary_argument(PyObject* callable, PyObject* const* args);

// The one of an operator's operands that dies with it, if it is worth writing over; else null.
inline const TensorObject* donated_operand(PyObject* a, PyObject* b) {
    return Py_REFCNT(a) == 1 || Py_REFCNT(b) == 1 ? find_temporary_operand(a, b) : nullptr;
}
// The same of a call: its first argument.
inline const TensorObject* donated_argument(PyObject* callable, PyObject* const* args, Py_ssize_t count) {
    return count > 0 && Py_REFCNT(args[0]) == 1 ? find_temporary_argument(callable, args) : nullptr;
}

}  // namespace clew::bind
