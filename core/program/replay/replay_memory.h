// Where memory lies during a replay.
#pragma once
#include <span>

#include "core/program/replay/commit.h"
#include "core/program/replay/replay.h"

namespace clew {

// Inputs where they lie, or copies of those that are written; what the plan takes.
void load_inputs(ReplayState& state);
void load_inputs(ReplayState& state, std::span<const InputPlace> places);
// Once nothing can fail any more, memory for gradients, where the ones before lie if they may be written over: Note
// [Memory of gradients] in plan.h.
void take_gradients(ReplayState& state, bool over_those_before);

}  // namespace clew
