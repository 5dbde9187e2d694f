// The frames of a loop, and its body: Note [Loops of programs].
#pragma once
#include <array>
#include <map>
#include <vector>

#include "core/program/loops/loop.h"
#include "core/program/loops/loop_finding.h"

namespace clew {

// Memory that a iteration makes and somebody outside of it reads lies in the loop's frames.
class LoopFrames {
public:
    explicit LoopFrames(int lags = 0) : lags_(lags) {}
    void keep(int step, int output, std::int64_t bytes);  // of a iteration
    std::int64_t place_of(int step, int output) const { return places_.at({step, output}); }
    // Where the frame of a iteration begins; those before the first one count from -1 down.
    std::int64_t frame_of(int iteration) const { return (iteration + lags_) * stride(); }
    std::int64_t stride() const { return (bytes_ + kLine - 1) / kLine * kLine; }
    std::int64_t bytes(int iterations) const { return frame_of(iterations); }
    const std::map<std::pair<int, int>, std::int64_t>& places() const { return places_; }

private:
    static constexpr std::int64_t kLine = 64;
    std::map<std::pair<int, int>, std::int64_t> places_;  // by step and output
    std::int64_t bytes_ = 0;
    int lags_;
};

// Makes the body from the iteration that is shown.
class LoopBody {
public:
    // Gives the input of the loop's step where memory of the program lies, or the own memory of another loop.
    struct Inputs {
        struct At {
            int input;
            std::int64_t begin;  // of the memory, from the address of the input
        };
        virtual ~Inputs() = default;
        virtual At of_memory(int memory) = 0;
        virtual At of_loop(int loop) = 0;
    };
    LoopBody(const Program& program, const LoopFinder& finder, const std::vector<FoundLoop>& found,
             const std::vector<LoopFrames>& frames, std::size_t index, Loop& loop, Inputs& inputs)
        : program_(program),
          finder_(finder),
          found_(found),
          frames_(frames),
          index_(index),
          loop_(loop),
          inputs_(inputs) {}
    void make();

private:
    using Key = std::array<std::int64_t, 3>;
    const FoundLoop& of() const { return found_[index_]; }
    int memory_of(const LoopMemory& what, int memory);
    int new_memory(std::int64_t bytes, int made_by);
    int find(int memory, const KeptRegister& like, std::int64_t offset) const;
    std::int64_t offset_of(const LoopMemory& what, const KeptRegister& reg) const;
    int input_register(const LoopMemory& what, int reg);
    int output_register(const LoopMemory& what, int reg);
    int add_register(int memory, const KeptRegister& like, std::int64_t offset, int made_by);
    void pin();
    void note_apart();

    const Program& program_;
    const LoopFinder& finder_;
    const std::vector<FoundLoop>& found_;
    const std::vector<LoopFrames>& frames_;
    const std::size_t index_;
    Loop& loop_;
    Inputs& inputs_;
    std::map<Key, int> memories_;               // of the body
    std::map<std::pair<int, int>, int> bases_;  // of the frames of another loop: the iteration that is iteration 0's
    std::map<const Action*, const Action*> actions_;
    std::vector<int> places_;  // of the steps of a iteration: in the body; -1: it is not there
};

}  // namespace clew
