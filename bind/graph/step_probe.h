// What the operations of a step would take if it were kept: `clew xray` records one, and measures replays of it.
#pragma once
#include <cstdint>

#include "core/program/record/recorder.h"

namespace clew::bind {

class StepProbe {
public:
    // From now on, aside: who records or replays for the user ends it.
    StepProbe();
    // The step is over; it gave these. Nanoseconds that a replay takes, but for the commit: nothing is changed. 0: it
    // can't be told, as of a step that runs Python, which a replay would do again, or that replayed something itself.
    std::int64_t end(const std::vector<Tensor>& results);
    // Nothing will be told.
    void give_up() { recorder_.abandon(); }

private:
    Program program_;
    Recorder recorder_;
};

}  // namespace clew::bind
