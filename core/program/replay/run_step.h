// Runs one step of a program as it is: its operation's forward, on the registers of a replay.
#pragma once
#include <vector>

#include "core/kernels/capture.h"
#include "core/program/replay/commit.h"

namespace clew {

class StepRunner {
public:
    explicit StepRunner(ReplayState& state) : state_(state), program_(state.program) {}
    void run(const ReplayStep& run, kernels::Capture* capture = nullptr);
    std::vector<ReadNumber> numbers;  // that reads found, in order

private:
    void execute(const ReplayStep& run, const int* inputs, const int* outputs, Tensor* room, kernels::Capture* capture);
    void check_read(const Step& step);

    ReplayState& state_;
    Program& program_;
    Tensor in_place_;
};

}  // namespace clew
