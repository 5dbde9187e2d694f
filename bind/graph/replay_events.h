// Replays while it is measured where the time goes (kTiming): one event for each line that calls them.
#pragma once
#include <nanobind/nanobind.h>

#include "core/autograd/ledger.h"
#include "core/autograd/mode.h"
#include "core/program/program.h"

namespace clew::bind {

void note_replay(const Program& program, const char* what, PyObject* function, std::int64_t ns);
void forget_replays();
void init_replay_events(nanobind::module_& m);

// For one replay, from its construction until done().
class ReplayTimer {
public:
    ReplayTimer() : start_(mode(kTiming) ? now_ns() : 0) {}
    // `what` it is, or the function that was compiled.
    void done(const Program& program, const char* what, PyObject* function = nullptr) const {
        if (start_) [[unlikely]]
            note_replay(program, what, function, now_ns() - start_);
    }

private:
    std::int64_t start_;
};

}  // namespace clew::bind
