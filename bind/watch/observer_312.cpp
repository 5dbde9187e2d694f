// From CPython 3.12 on a tool of sys.monitoring is told of each instruction, of all threads.
#include "bind/watch/tracer.h"

#if CLEW_READS_FRAMES && PY_VERSION_HEX >= 0x030C0000

#include "bind/errors.h"
#include "bind/keep/stopwatch.h"

namespace nb = nanobind;

extern "C" int clew_monitoring_tools_in_use(void);

namespace clew::bind {
namespace {

constexpr int kTool = 5;  // sys.monitoring.OPTIMIZER_ID
constexpr const char* kToolName = "clew.compile";
constexpr const char* kEvents[] = {"PY_START", "PY_THROW", "INSTRUCTION"};

Tracer* watching = nullptr;
PyThreadState* thread_watched = nullptr;

bool begun = false;  // a function has begun, and its first instruction has not been told yet

// Once a function has called sys.settrace() while it was watched, CPython tells of its start and of nothing in it.
void check_begun() {
    if (std::exchange(begun, false) && !watching->cause)
        watching->cause = Cause{"runs a function that has set a trace function: CPython tells no more of it", {}, -1};
}

template <auto tell, bool begins>
PyObject* on_event(PyObject*, PyObject* const*, Py_ssize_t) {
    if (watching == nullptr || watching->cause || PyThreadState_Get() != thread_watched) Py_RETURN_NONE;
    if (begins) check_begun();
    begun = begins;
    return guarded([]() -> PyObject* {
        (watching->*tell)(innermost());
        Py_RETURN_NONE;
    });
}

template <auto tell, bool begins = false>
nb::object callback(const char* name) {
    static PyMethodDef definition{name, reinterpret_cast<PyCFunction>(reinterpret_cast<void*>(on_event<tell, begins>)),
                                  METH_FASTCALL, nullptr};
    return nb::steal(checked(PyCFunction_New(&definition, nullptr)));
}

}  // namespace

bool Tracer::others_trace() {
    const PyThreadState* const thread = PyThreadState_Get();
    return thread->c_tracefunc != nullptr || thread->c_profilefunc != nullptr || clew_monitoring_tools_in_use();
}

void Tracer::start() {
    const Timed timed(spent);
    const nb::object monitoring = nb::module_::import_("sys").attr("monitoring");
    monitoring.attr("use_tool_id")(kTool, kToolName);
    on_ = true;
    watching = this;
    thread_watched = PyThreadState_Get();
    begun = false;
    const nb::object callbacks[] = {callback<&Tracer::enter, true>("begin"), callback<&Tracer::enter>("enter"),
                                    callback<&Tracer::instruction>("instruction")};
    nb::int_ events(0);
    for (std::size_t i = 0; i < std::size(kEvents); ++i) {
        const nb::object event = monitoring.attr("events").attr(kEvents[i]);
        monitoring.attr("register_callback")(kTool, event, callbacks[i]);
        events = nb::int_(events | event);
    }
    monitoring.attr("set_events")(kTool, events);
}

void Tracer::stop() {
    if (!std::exchange(on_, false)) return;
    const Timed timed(spent);
    const nb::error_scope raised;  // by the call
    check_begun();
    watching = nullptr;
    const nb::object monitoring = nb::module_::import_("sys").attr("monitoring");
    const nb::object holder = monitoring.attr("get_tool")(kTool);
    if (holder.is_none())  // the call has freed it, but its events are on
        monitoring.attr("use_tool_id")(kTool, kToolName);
    else if (!holder.equal(nb::str(kToolName)))
        return;
    monitoring.attr("set_events")(kTool, 0);
    for (const char* const name : kEvents)
        monitoring.attr("register_callback")(kTool, monitoring.attr("events").attr(name), nb::none());
    monitoring.attr("free_tool_id")(kTool);
}

}  // namespace clew::bind

#endif
