// The steps that a value depends on.
#pragma once
#include "core/program/passes/plan.h"
#include "core/program/program.h"

namespace clew {

// Note [What a value depends on]
// The step that made its register, the writes before that reach its bytes, what these read in turn, and each value that
// Python read before the last of them: it may have decided that they ran at all. Of nodes that the steps made, what
// they saved is made, too, so that they can be filled again.
// A step as the replay runs it.
struct ReplayStep {
    int step;                                // of the program
    int first;                               // of its registers in Slice::registers
    std::uint16_t inputs, outputs, dropped;  // how many
    Form form;                               // as of Step, from here on
    StepKind kind;
    bool varies;
};

struct SliceWrite {
    std::size_t run;  // of Slice::replay_steps
    int reg;
};

struct Slice {
    int target;                           // of Program::tracked; -1: all of the program
    std::vector<int> steps{};             // in order
    std::vector<char> runs{};             // for each step of the program
    std::vector<int> nodes{};             // whose slots are filled again, the oldest first; those that live
    std::vector<int> inputs{};            // that are read
    std::vector<int> tracked{};           // tensors that get a new value
    std::vector<int> beside{};            // others on their memory
    std::vector<char> whole{};            // for each memory: all that writes it runs
    std::vector<char> written{};          // for each memory: something writes it
    std::vector<int> last_use{};          // of each register, a step
    std::vector<char> direct{};           // for each memory: modified in place, since nothing that runs then can fail
    std::vector<int> edged{};             // nodes that saved a value with a history of its own
    SlabList<ReplayStep> replay_steps{};  // the steps; in the program's slabs, as their registers
    SlabList<int> registers{};
    std::vector<Generator*> generators{};        // that steps draw from
    std::vector<std::pair<int, int>> counted{};  // writes to memory from before the block: step, which of its writes
    std::vector<SliceWrite> writes{};            // of all steps
    std::vector<int> rebinds{};                  // steps that set a .grad, if not for long
    std::vector<int> gradients{};                // steps that set a .grad last; of the whole program only
    // What a replay found, for the next one.
    std::vector<std::pair<const Storage*, std::int64_t>> sharing{};  // of each input: that is in order
    std::vector<char> wanted{};                                      // registers, as of so many deaths:
    std::uint64_t deaths = ~std::uint64_t{0};
    std::unique_ptr<Plan> plan{};           // while no replay has it
    bool planned = false;                   // there is one
    std::vector<BufferBinding> bindings{};  // room for those of ReplayState
    std::vector<StorageRef> places{};
    std::vector<std::pair<Tensor, Tensor>> assigned{};  // room for leaves and their new .grad, empty between replays
    bool remakes(const Program& program, int reg, int before) const;
};

Slice& slice_of(Program& program, int target);

}  // namespace clew
