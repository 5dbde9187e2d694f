// Python numbers that were read from tensors with history.
#pragma once
#include <Python.h>

#include "core/autograd/ledger.h"
#include "core/tensor/tensor.h"

namespace clew::bind {

// Note [Provenance of Python numbers]
// A Python number has no history, so `tensor(loss.item())` is a new leaf, and by itself nobody could say what was lost.
// The last few floats that were read from tensors with history are therefore kept, with the line that read them: a
// number that arrives is one of them if it is the very same object, which is proof because we keep the object alive.
// Numbers computed from them are other objects: of those nothing is claimed, and an error only tells of the last read.

// Remembers `number`, just read from `source` by `how` (static text); does nothing if `source` has no history to lose.
void note_number(const Tensor& source, const char* how, PyObject* number);
// Where this very number was read, among those remembered; null if it was not.
Ref<HistoryBreak> where_read(PyObject* number);
// The same for the last one only: what an operation on a Python number can afford to ask.
extern PyObject* last_number;
Ref<HistoryBreak> last_read();

}  // namespace clew::bind
