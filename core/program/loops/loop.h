// Loops of a program, each one step of it.
//
// Note [Loops of programs]
// A call that does the same a thousand times is recorded as many thousand steps. Once it has ended, iterations that
// repeat are folded: one of them becomes a program of its own, the body, and all of them one step of the program, which
// runs the body once for each iteration. So what is kept, the plan and the time to make it are those of one iteration.
//
// What a iteration reads is the same in each (a parameter), or what the iteration made itself, or what one before it
// made, or what a iteration of another loop made: a backward goes through the iterations of its forward from the last
// to the first. What is needed outside its iteration lies in the loop's own memory, in frames of one size, one for each
// iteration and a few before these for what the first ones find. So the address of everything that a iteration touches
// is that of the iteration before and a constant: a body is a program on inputs that lie elsewhere in each iteration,
// and memory that it makes itself. From iteration to iteration its pointers move by constants, those of a table of code
// all at once. Frames overlap nothing else, so code may keep in variables what it writes there (Input::apart).
//
// Iterations at the beginning and at the end that differ stay steps, and so does all of a loop that the rules do not
// fit: iterations that read values in Python, draw, write memory from before the call, leave tensors behind, or have a
// step that takes two places of one memory which move differently. A view of another place in each iteration (an
// element of a sequence) is no step of the body: who reads it is told where it looks.
#pragma once
#include <memory>
#include <vector>

#include "core/program/program.h"

namespace clew {

struct Plan;
struct Planned;
namespace kernels {
class MovingPointers;
}

struct Loop {
    static constexpr int kOwn = -1;
    // Where memory of the body lies in the first iteration, from the address of an input of the step or of the loop's
    // own memory; and how much further in each iteration.
    struct Buffer {
        int memory;  // of the body
        int input;   // of the step, or kOwn
        std::int64_t start, stride;
    };
    // What a frame before the first iteration holds: a copy.
    struct Begin {
        int input;
        std::int64_t from, to, bytes;
    };
    // Which bytes of an input are touched, from its address on.
    struct Reach {
        std::int64_t below = 0, above = 0;
        bool written = false;
        void add(std::int64_t begin, std::int64_t end);
    };

    Program body{};
    int iterations = 0;
    std::int64_t bytes = 0;  // of its own memory
    std::vector<Buffer> bindings{};
    std::vector<Begin> begins{};
    std::vector<Reach> reaches{};  // of each input of the step

    void run(Tensors inputs, const Tensor& own);
    // By the plan of the body, which is nothing but calls.
    void run_calls(char* const* inputs, char* own);
    bool may_fail();

private:
    void begin(char* const* inputs, char* own) const;
    void run_steps(int iteration, Tensors inputs, const Tensor& own);
    void run_turns(Plan& plan, char* const* inputs, char* own, const Planned*& now) const;
    kernels::MovingPointers pointers_that_move(Plan& plan) const;
    bool is_calls_only();
};

// Folds what repeats. Gives for each step that there was its place now, -1 if it is in a loop; empty if nothing was
// folded. Constants that only loops used are gone: `constants` says where the others are, -1 if they are not.
std::vector<int> fold(Program& program, std::vector<int>& constants);

std::size_t steps_in_loops(const Program& program);  // of all iterations

}  // namespace clew
