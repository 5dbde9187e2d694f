// Whether somebody may ask for the derivative of what a rule, or a composite, computes: a graph, or tangents. Where it
// is false, a shorter way that has no derivative itself will do.
#pragma once
#include "core/autograd/mode.h"

namespace clew {

inline bool differentiates() { return (mode_word & (kNoGrad | kForwardMode)) != kNoGrad; }

}  // namespace clew
