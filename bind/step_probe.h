// What a step would take if it were kept: `clew xray` records one, and measures replays of it.
#pragma once
#include <cstdint>

#include "core/program/recorder.h"

namespace clew::bind {

class StepProbe {
public:
    // From now on, aside: who records or replays for the user ends it.
    StepProbe();
    // The step is over. Nanoseconds that a replay takes, of which nothing is changed; 0: it can't be told.
    std::int64_t end();

private:
    Program program_;
    Recorder recorder_;
};

}  // namespace clew::bind
