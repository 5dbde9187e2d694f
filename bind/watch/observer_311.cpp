// On CPython 3.11 a trace function tells of each instruction.
#include "bind/watch/tracer.h"

#if CLEW_READS_FRAMES && PY_VERSION_HEX < 0x030C0000

#include "bind/errors.h"

namespace clew::bind {
namespace {

Tracer* at_work = nullptr;  // one call is recorded at a time

int trace(PyObject*, PyFrameObject* frame, int what, PyObject*) {
    Tracer& tracer = *at_work;
    if (tracer.cause) return 0;
    return guarded(
        [&] {
            if (what == PyTrace_OPCODE) {
                tracer.instruction(frame->f_frame);
            } else if (what == PyTrace_CALL) {
                frame->f_trace_opcodes = 1;
                frame->f_trace_lines = 0;
                tracer.enter(frame->f_frame);
            }
            return 0;
        },
        -1);
}

}  // namespace

bool Tracer::others_trace() {
    const PyThreadState* const thread = PyThreadState_Get();
    return thread->c_tracefunc != nullptr || thread->c_profilefunc != nullptr;
}

void Tracer::start() {
    on_ = true;
    at_work = this;
    PyEval_SetTrace(trace, nullptr);
}

void Tracer::stop() {
    if (!std::exchange(on_, false)) return;
    if (PyThreadState_Get()->c_tracefunc == trace) PyEval_SetTrace(nullptr, nullptr);  // not one that the call has set
    at_work = nullptr;
}

}  // namespace clew::bind

#endif
