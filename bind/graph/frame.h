// The interpreter's own frames, where their shape is known to us; include it before anything else. With CLEW_PUBLIC_API
// defined, no interpreter's is: that is tested, for those that are newer than we know.
#pragma once
#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX < 0x030E0000 && !defined(CLEW_PUBLIC_API)
#define CLEW_READS_FRAMES 1
#include <internal/pycore_frame.h>
#else
#define CLEW_READS_FRAMES 0
#endif
#undef Py_BUILD_CORE

#include <cstdint>

#if CLEW_READS_FRAMES

namespace clew::bind {

inline PyCodeObject* code_of(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
    return PyCode_Check(frame->f_executable) ? reinterpret_cast<PyCodeObject*>(frame->f_executable) : nullptr;
#else
    return frame->f_code;
#endif
}
// The instruction under way; its first byte is the opcode.
inline const char* instruction_at(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030D0000
    return reinterpret_cast<const char*>(frame->instr_ptr);
#else
    return reinterpret_cast<const char*>(frame->prev_instr);
#endif
}
inline std::int32_t instruction_of(_PyInterpreterFrame* frame, PyCodeObject* code) {
    return static_cast<std::int32_t>(instruction_at(frame) - reinterpret_cast<const char*>(code->co_code_adaptive));
}
inline _PyInterpreterFrame* innermost() {
    PyThreadState* thread = _PyThreadState_UncheckedGet();
    if (thread == nullptr) return nullptr;
#if PY_VERSION_HEX >= 0x030D0000
    return thread->current_frame;
#else
    return thread->cframe->current_frame;
#endif
}
inline PyFunctionObject* function_of(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
    return reinterpret_cast<PyFunctionObject*>(frame->f_funcobj);
#else
    return frame->f_func;
#endif
}
// Was it called by C?
inline bool is_entry(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
    return frame->previous == nullptr || frame->previous->owner == FRAME_OWNED_BY_CSTACK;
#else
    return frame->is_entry;
#endif
}
inline bool runs_python(_PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
    return frame->owner != FRAME_OWNED_BY_CSTACK;
#else
    (void)frame;
    return true;
#endif
}

}  // namespace clew::bind

#else
struct _PyInterpreterFrame;
#endif
