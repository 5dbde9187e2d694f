// Runs steps of a program again.
//
// Note [Replay and commit]
// First it is checked that the inputs are as they were: shape, strides, dtype, who shares memory with whom, who
// requires a gradient, histories, hooks, whether there is a .grad. Then the steps run, one after the other, on the
// kernels that the recorded run used, so that every bit is the same; in memory of their own. What was there before the
// block and is written goes into a copy; generators are noted. A step that fails, or a read of another value than then,
// drops all of it. Only when the last step has run is anything changed that others can see, and that part cannot fail.
#pragma once
#include "core/program/replay/digests.h"

namespace clew {

// Of the value of a tracked tensor, or (-1) of the whole program.
void replay(Program& program, int target);
// Fails where the whole program would whatever its inputs are: for who runs it elsewhere.
void check_whole(Program& program);

// A compiled call: what it gives, and the numbers at reads that are followed, in order. The inputs that are bound hold
// the arguments.
std::vector<Tensor> replay_call(Program& program, std::vector<ReadNumber>& numbers);

// Where an input lies, instead of its tensor. Nothing is checked.
struct InputPlace {
    Storage* storage;
    std::int64_t offset;  // in bytes
};
// A program that is given all it reads, and changes nothing else; inputs that it hands on have their tensors.
std::vector<Tensor> replay_at(Program& program, std::span<const InputPlace> inputs);
// The same, if its plan is nothing but captured calls on its inputs and its arena. False: nothing is done.
bool replay_bare(Program& program, std::span<const InputPlace> inputs);

// The shortest time of some replays, in nanoseconds; nothing is changed. It takes no longer than `most`, but for two of
// them.
std::int64_t measure(Program& program, std::int64_t most);

// A compiled call, of which nothing is changed.
Rehearsal rehearse(Program& program);

}  // namespace clew
