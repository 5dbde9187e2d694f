// Is a tool of sys.monitoring in use (a debugger, coverage)? Asked at each call, so the interpreter's own state is
// read: in C, since its headers are not C++ in all versions.
#define Py_BUILD_CORE 1
#include <Python.h>

#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
#include <internal/pycore_interp.h>

int clew_monitoring_tools_in_use(void) {
    const PyInterpreterState* const interpreter = PyThreadState_Get()->interp;
    for (int tool = 0; tool < PY_MONITORING_TOOL_IDS; ++tool)
        if (interpreter->monitoring_tool_names[tool] != NULL) return 1;
    return 0;
}
#endif
