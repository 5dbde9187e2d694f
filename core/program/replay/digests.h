// The bits that each step makes, to compare a replay with the function itself.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/program/record/recorder.h"

namespace clew {

// Of each step of a program; 0 where a step makes no values: views, reads, memory that is not written yet.
using Digests = std::vector<std::uint64_t>;

// What each step of a replay makes, and the first that makes other values where a memory plan runs it.
struct Rehearsal {
    Digests steps;
    int other_by_plan = -1;
};

bool makes_values(const Step& step);
std::uint64_t digest_of(Tensors values);

// Writes down a call like any other, and what its steps make.
class DigestingRecorder : public Recorder {
public:
    DigestingRecorder(Program& program, Digests& digests) : Recorder(program), program_(program), digests_(digests) {}
    void handle(OpCall& call) override;

private:
    Program& program_;
    Digests& digests_;
};

// The first step that the two do not share, or whose bits differ.
struct StepDifference {
    const Step* step = nullptr;  // null: there is none
    std::string text{};
};
StepDifference first_difference(const Program& replayed, const Digests& of_replay, const Program& eager,
                                const Digests& of_eager);

}  // namespace clew
