// One call that runs as Python and is written down.
#pragma once
#include <memory>

#include "bind/keep/variant.h"
#include "core/program/replay/digests.h"

namespace clew::bind {

struct Recording {
    nanobind::object result;           // not there: Python has raised
    std::shared_ptr<Variant> variant;  // the next call may replay it, if there is no
    Cause cause;
};

bool is_traced();  // whether a compiled call is watched right now

Recording record_call(PyObject* function, const CallArguments& arguments, PyObject* positional, PyObject* named);

// Runs the call as Python, beside replays from the same state: the first step that differs.
struct Checked {
    Recording recording;
    StepDifference difference;
};
Checked check_call(const Variant& variant, const Rehearsal& replayed, PyObject* function,
                   const CallArguments& arguments, PyObject* positional, PyObject* named);

}  // namespace clew::bind
