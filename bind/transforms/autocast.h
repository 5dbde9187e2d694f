// torch.autocast: the operations that its lists name get their arguments in another dtype.
//
// Note [Autocast]
// PyTorch casts where its dispatcher is entered, so that what an operation is made of is not looked at again. Here that
// is where Python calls an operation or a public function. One that has a rule runs on arguments that are cast, with
// kAutocast off; one that has none runs as ever, and the operations that it calls from Python are looked at in their
// turn. Calls in place and with out= have no rule, as in PyTorch. src/clew/amp/_lists.py has the lists, and gives the
// rules to their operations when the first region is entered. The casts are calls like any other: they are recorded in
// graphs and in programs. Outside regions all of this costs the test of a mode word that is made anyway.
#pragma once
#include <Python.h>

#include <vector>

#include "bind/calls/parse.h"
#include "bind/types/objects.h"
#include "core/autograd/mode.h"

namespace clew::bind {

// Whether the call is to be made by run_autocast().
inline bool is_autocast(const AutocastRule& rule) { return mode(kAutocast) && rule.kind != Autocast::None; }

// A call's arguments as its rule has them; kAutocast is off while they live.
class AutocastArguments {
public:
    AutocastArguments(const AutocastRule& rule, PyObject* callable, const Arguments& given);
    Arguments arguments() const { return {values_.data(), count_, names_}; }

private:
    std::vector<Handle> held_;
    std::vector<PyObject*> values_;
    Py_ssize_t count_;
    PyObject* names_;
    const ModeGuard off_;
};

// call(arguments), or the handler of the rule.
template <class Call>
[[gnu::noinline]] PyObject* run_autocast(const AutocastRule& rule, PyObject* callable, const Arguments& given,
                                         const Call& call) {
    const AutocastArguments cast(rule, callable, given);
    const Arguments arguments = cast.arguments();
    if (rule.kind != Autocast::Custom) return call(arguments);
    return PyObject_Vectorcall(rule.handler, arguments.values, static_cast<std::size_t>(arguments.count),
                               arguments.names);
}

void init_autocast(PyObject* module);

}  // namespace clew::bind
