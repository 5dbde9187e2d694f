// A recorder that looks on to measure: how it gives up.
#include <utility>

#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"

namespace clew {

void Recorder::begin_passive() {
    begin();
    passive_ = true;
}

// The stack that it is on is another thread's, or in use: then it is popped later, by its own thread.
bool Recorder::gives_way() {
    if (!passive_) return false;
    if (thread_ == std::this_thread::get_id() && !handles_call())
        end(false);
    else
        abandon();
    return true;
}

// What it holds is dropped by its own thread, which may be in the middle of a step.
void Recorder::abandon() {
    if (!on_ || std::exchange(abandoned_, true)) return;
    forget_nodes(program_);
    unmark();
    if (under_way_ == this) under_way_ = nullptr;
}

// Whether calls are only passed on.
bool Recorder::is_passive_over() {
    if (!abandoned_ && program_.steps.size() >= kMostPassive) abandon();
    if (abandoned_ && !program_.registers.empty()) forget();
    return abandoned_;
}

// Destructors may run Python, which may come to handle() again: there is nothing left to do by then.
void Recorder::forget() {
    forget_nodes(program_);
    const auto recorded = std::exchange(static_cast<Recorded&>(program_), {});
    const auto tables = std::exchange(static_cast<RecorderTables&>(*this), {});
}

}  // namespace clew
