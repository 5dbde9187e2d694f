// The operands of the instruction that is about to run.
#pragma once
#include "bind/compile/tracer.h"

#if PY_VERSION_HEX < 0x030C0000

namespace clew::bind {

class Watch {
public:
    Watch(Tracer& tracer, _PyInterpreterFrame& frame);
    PyObject* top(int depth = 1) const { return top_[-depth]; }
    void go();  // tells the tracer what the instruction reads and changes

private:
    PyObject* name(int i) const { return PyTuple_GET_ITEM(frame_.f_code->co_names, i); }
    void stay_eager(const char* text) const { tracer_.stay_eager(text); }
    void call_with_tuple() const;
    void with_names(PyObject* callee, PyObject* positional, PyObject* names) const;

    Tracer& tracer_;
    _PyInterpreterFrame& frame_;
    PyObject** top_;
    int opcode_, argument_;
};

}  // namespace clew::bind

#endif
