// The operands of the instruction that is about to run.
#pragma once
#include "bind/watch/tracer.h"

#if CLEW_READS_FRAMES

namespace clew::bind {

class Watch {
public:
    Watch(Tracer& tracer, _PyInterpreterFrame& frame, const Instruction& at);
    PyObject* top(int depth = 1) const { return top_[-depth]; }
    void go();  // tells the tracer what the instruction reads and changes
    // Known of those that have been seen to: it reads and changes nothing but values of the call.
    static bool only_moves(int opcode) { return only_moves_[opcode]; }
    // The same by what stands in the code: an opcode, or one that the interpreter has put in its place.
    static bool only_moves_as(char code) { return moves_as_[static_cast<unsigned char>(code)]; }
    static void note_as(char code) { moves_as_[static_cast<unsigned char>(code)] = true; }

private:
    bool go_by_version();  // instructions_311.cpp, instructions_312.cpp: those that are not the same in all versions
    PyObject* name(int i) const { return PyTuple_GET_ITEM(tracer_.code_->co_names, i); }
    void stay_eager(const char* text) const { tracer_.stay_eager(text); }
    void call_with_tuple(PyObject* callee) const;
    void with_names(PyObject* callee, PyObject* positional, PyObject* names) const;
    void return_value(PyObject* value) const;
    bool gives_attribute() const;
    void go_on(PyObject* iterator) const;
    void as_given(int depth) const;
    // Of 3.12 and later.
    void super_attribute() const;
    void slice(PyObject* container, PyObject* stored) const;
    void intrinsic() const;

    static inline bool only_moves_[256] = {}, moves_as_[256] = {};
    Tracer& tracer_;
    _PyInterpreterFrame& frame_;
    PyObject** top_;
    int opcode_, argument_;
};

}  // namespace clew::bind

#endif
