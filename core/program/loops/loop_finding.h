// Which steps of a program are iterations of a loop: Note [Loops of programs].
#pragma once
#include <optional>
#include <vector>

#include "core/program/program.h"

namespace clew {

// What a step of a iteration finds there where it looks for an operand.
struct LoopMemory {
    enum class Kind { None, Fixed, Own, Other } kind = Kind::None;
    int memory = -1;         // Fixed: the same in each iteration,
    std::int64_t shift = 0;  // so many bytes further than in the iteration before
    // Own, Other: made by this step of a iteration, as this output of it
    int step = -1, output = -1;
    int lag = 0;                  // Own: so many iterations before
    int loop = -1;                // Other: of the loops that were found before,
    int iteration = 0, sign = 0;  // in which iteration the operand of iteration `at` was made, and how this goes on
                                  // from iteration to iteration
    int at = 0;
};

struct FoundLoop {
    int begin = 0;  // a step
    int period = 0, iterations = 0;
    int lags = 0;                        // iterations that the oldest of what a iteration reads is old
    int shown = 0;                       // the iteration that becomes the body
    std::vector<LoopMemory> operands{};  // of its steps, in the order of for_each_operand()
    std::vector<char> moves{};           // of these steps: a view of another place in each iteration
    int end() const { return begin + period * iterations; }
    int iteration_of(int step) const { return (step - begin) / period; }
};

// The registers of a step: what it reads, what it makes, what it writes; -1: none.
template <class Work>
void for_each_operand(const Step& step, const Work& work) {
    for (const int reg : step.inputs) work(reg);
    for (const int reg : step.outputs) work(reg);
    for (const KeptWrite& written : step.writes) work(written.reg);
}

class LoopFinder {
public:
    explicit LoopFinder(const Program& program);
    std::vector<FoundLoop> find();
    // Registers that somebody has or sets as a .grad when the call has ended.
    const std::vector<int>& all_wanted() const { return all_wanted_; }
    static constexpr int kVaries = -2;  // a constant that is set anew for each run
    int constant_of(int memory) const { return constant_of_[static_cast<std::size_t>(memory)]; }  // -1: it is none
    // Which output of its step a memory is; -1: none.
    int output_of(int memory) const;
    int loop_of_step(int step) const { return loop_of_[static_cast<std::size_t>(step)]; }  // -1: none

private:
    static constexpr int kFewestIterations = 4, kMostLag = kFewestIterations;
    static constexpr std::size_t kMostLeft = 16;  // memories that leave the call, of all iterations
    struct Repeat {
        int begin, period, iterations;
    };
    struct Iteration {
        std::vector<LoopMemory> operands{};
        std::vector<char> moves{};
        int earliest;  // where all that is fixed is there
    };
    // loop_finding.cpp
    void note_constants();
    std::vector<int> kinds_of_actions() const;
    std::vector<Repeat> repeats() const;
    std::optional<Iteration> look_at(const Repeat& of, int shown) const;
    bool accept(const Repeat& of);
    // loop_operands.cpp
    std::optional<LoopMemory> what_is(int reg, int before, const Repeat& of, int iteration) const;
    bool fits(const LoopMemory& what, int reg, int shown, const Repeat& of, int iteration, int of_shown) const;
    bool repeats_in(const Repeat& of, const std::vector<LoopMemory>& operands, int iteration, int shown) const;
    // loop_rules.cpp
    static bool may_be_folded(const Step& step);
    bool may_write(const FoundLoop& loop) const;
    bool has_one_name_each(const FoundLoop& loop) const;
    bool tells_operands_apart(const FoundLoop& loop) const;
    bool is_met_from(int step, int memory) const;
    bool may_leave(const FoundLoop& loop) const;
    const KeptRegister& reg_at(int reg) const { return program_.of(reg); }
    const Memory& memory_at(int memory) const { return program_.memories[static_cast<std::size_t>(memory)]; }
    const Step& step_at(int step) const { return program_.steps[static_cast<std::size_t>(step)]; }

    const Program& program_;
    std::vector<char> wanted_;  // of each register
    std::vector<int> all_wanted_;
    std::vector<int> constant_of_;  // of each memory: the first constant with the same bits
    std::vector<int> loop_of_;      // of each step
    std::vector<FoundLoop> found_;
};

}  // namespace clew
