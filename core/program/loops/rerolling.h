// Makes the program whose loops are steps: Note [Loops of programs].
#pragma once
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/program/loops/loop.h"
#include "core/program/loops/loop_body.h"
#include "core/program/loops/loop_finding.h"

namespace clew {

class Folding {
public:
    explicit Folding(Program& program)
        : program_(program),
          finder_(program),
          found_(finder_.find()),
          registers_(program.registers.size(), -1),
          memories_(program.memories.size(), -1),
          steps_(program.steps.size(), -1) {}
    bool is_worth_it() const { return !found_.empty(); }
    std::vector<int> go(std::vector<int>& constants);

private:
    // A program's memory in the folded one.
    struct Place {
        int memory;
        std::int64_t begin;
    };
    // Who made memory, if it is in a loop.
    struct Maker {
        std::size_t loop;
        int iteration, step, output;
    };

    const Memory& old_memory(int memory) const { return program_.memories[static_cast<std::size_t>(memory)]; }
    const Step& old_step(int step) const { return program_.steps[static_cast<std::size_t>(step)]; }
    const FoundLoop& found(int loop) const { return found_[static_cast<std::size_t>(loop)]; }
    Memory& new_memory(int memory) { return folded_.memories[static_cast<std::size_t>(memory)]; }
    KeptRegister& new_register(int reg) { return folded_.registers[static_cast<std::size_t>(reg)]; }
    int steps() const { return static_cast<int>(folded_.steps.size()); }

    // rerolling.cpp
    bool in_loop(int memory) const;
    Maker maker_of(int memory) const;
    const Action* action_of(const Action* action);
    int add_memory(std::int64_t bytes, int input, int made_by);
    int add_register(const KeptRegister& like, Place at, int made_by);
    Place place_of(int memory);
    int read_register(int reg);
    int first_on(int memory);
    int first_register(int memory);
    int look(const KeptRegister& like, Place at, int from);
    void note_writes(const Few<KeptWrite, 1>& writes);
    void take_step(int index);
    void put_back(std::vector<int>& constants);

    // rerolled_loops.cpp
    class StepInputs;
    void keep_in_frame(int memory);
    void frame_all();
    void take_loop(std::size_t index);
    void begin_frames(std::size_t index, Loop& loop, StepInputs& inputs);
    void copy_wanted(std::size_t index);

    Program& program_;
    LoopFinder finder_;
    std::vector<FoundLoop> found_;
    std::vector<LoopFrames> frames_;
    std::vector<int> owns_;  // of each loop: the register of its own memory
    std::vector<std::unique_ptr<Loop>> loops_;
    std::vector<int> registers_, memories_, steps_;  // of the program: in the folded one
    std::unordered_map<const Action*, const Action*> actions_;
    Recorded folded_;
};

}  // namespace clew
