// How a slice is run from its second replay on: kernels on memory that was laid out in advance.
//
// Note [Memory plans]
// While the first replay runs, the kernels of its steps are captured (Note [Captured kernels]). A step all of whose
// work is in captured kernels needs no forward any more: its calls run with pointers that were set before. Memory that
// such steps make and that does not leave the call lies in one arena, which each replay takes and gives back (one that
// is small, or smaller than a list of what points into it, is kept), and in which what is not needed at the same time
// shares its place. Memory that leaves the call (results, gradients, what graphs save) is taken anew by each replay,
// and inputs may lie elsewhere; so for each of these the plan knows which pointers to move. Kernels of optimizers read
// their options where the step has them, so these may change. Views are nothing at all. Steps whose forwards do more
// (they decide by values, draw, run Python) run as they are, between the others.
//
// Elementwise calls over the same many elements run together, strip by strip: Note [Strips of captured calls],
// core/program/passes/strip_fusion.cpp.
//
// Calls whose results nobody reads are left out: a captured kernel draws nothing, writes only its operands, and fails
// only if it says that it may. Calls that only read constants have run once.
//
// Note [Memory of gradients]
// Eager execution drops gradients before it makes new ones (zero_grad), so these get the same memory, which is still in
// the cache. A replay drops them in its commit. So where a step sets a .grad that it does not read, the replay writes
// the new gradient into the old one if nobody else has that, once nothing can fail any more.
#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/slab_list.h"
#include "core/kernels/memory/flat_loops.h"
#include "core/kernels/memory/pointers.h"
#include "core/program/code/coded.h"
#include "core/program/passes/by_position.h"
#include "core/program/program.h"

namespace clew {

struct Slice;
struct ReplayStep;

class Planner;

struct Planned {
    const kernels::KernelCall* call;  // of `step`, if it may fail; or, if it is null,
    int step;                         // of Slice::replay_steps; a register to let go, if it is negative: -1 - register
    bool takes_long = false;          // other threads may run Python meanwhile
};

struct Plan {
    struct Place {
        char** pointer;
        std::int64_t offset;
    };
    // Memory that may lie elsewhere in each replay, and what points into it.
    struct Base {
        char* address = nullptr;
        std::vector<Place> places{};
        void move(char* to) {
            if (address == to) return;
            address = to;
            for (const Place& place : places) *place.pointer = to + place.offset;
        }
        void point(char** pointer, std::int64_t offset) {
            *pointer = address + offset;
            places.push_back({pointer, offset});
        }
    };

    std::shared_ptr<const kernels::FlatLoops> loops;  // of the calls
    std::vector<std::unique_ptr<kernels::KernelCall>> calls;
    std::vector<Planned> order;
    std::vector<Base> bases;
    std::vector<int> base_of;  // of each memory of the program: its place in `bases`; -1: none
    // Memory that each replay takes.
    struct Taken {
        int memory;
        std::vector<int> looking{};    // registers on it that somebody wants as tensors
        int leaf = -1, gradient = -1;  // it becomes the .grad of this leaf, as this register
    };
    std::vector<Taken> taken;
    std::vector<Taken> renewed;     // Note [Memory of gradients]
    std::size_t safe = 0;           // from this place of `order` on nothing can fail
    std::vector<int> looking;       // registers that somebody wants as tensors, on inputs
    std::vector<int> passing;       // registers that are let go when the replay ends
    std::vector<int> saved;         // registers that only slots hold: no tensor is made of them
    std::vector<char> handed_over;  // of each result of the call: it is the register's tensor, which nobody else needs
    std::vector<Tensor> registers;  // that stay
    Base arena;
    std::int64_t arena_bytes = 0;
    static constexpr std::int64_t kKeptArena = 4096;  // bytes: one that is no larger is kept from replay to replay
    StorageRef kept_arena;
    StorageRef new_arena() const;
    void put_arena(const StorageRef& memory);
    void point_into_arena(char** pointer, std::int64_t offset);
    StorageRef constants;      // what calls made that have run once
    std::vector<char> direct;  // as in Slice
    bool calls_only = false;   // short ones, on inputs and on the arena
    // And these can't fail, on inputs, which are written where they lie, and on the arena; and nothing is given.
    bool bare = false;
    // Where the operands lie of calls that code may take over, call by call.
    struct Located {
        static constexpr int kArena = -1, kFixed = -2;
        struct Operand {
            int base;             // of `bases`, or one of these
            std::int64_t offset;  // from there
            char* fixed;
        };
        std::vector<int> starts;
        std::vector<Operand> operands;
    };
    std::vector<Located> located;
    std::unique_ptr<code::Codes> codes;  // null: none is worth it, or wanted
    std::shared_ptr<Planner> planner;    // until these are found
    void advance_code();
    void drop_replaced();  // Note [Code takes over]

    std::optional<kernels::MovingPointers> moving;  // from iteration to iteration of a loop, once code has been tried

    Base* base(int memory) {
        const int index = base_of[static_cast<std::size_t>(memory)];
        return index < 0 ? nullptr : &bases[static_cast<std::size_t>(index)];
    }
    void move(int memory, char* address) {
        if (Base* const found = base(memory)) found->move(address);
    }
    std::int64_t bytes() const;  // that it takes between replays
};

// Where memory lies during a replay that somebody had before, or that leaves the call.
struct BufferBinding {
    StorageRef storage{};
    std::int64_t shift = 0;  // in bytes, from the recorded place
    bool copied = false;     // in place of memory from before the block, which the commit writes
    char* address() const { return storage->data + shift; }
};

// A tensor for a register, on memory that lies at `storage`; offsets of inputs are `shift` bytes further.
Tensor look_at(const KeptRegister& reg, StorageRef storage, std::int64_t shift);

// Makes a plan of what a replay shows.
class Planner {
public:
    Planner(const Program& program, const Slice& slice);
    // Where the memory of an input lies (`shift` included), before the first step.
    void bind_address(int memory, char* address);
    kernels::FlatLoops& loops() { return *loops_; }  // for what is captured
    // Does what the step does, if another one did the same before: Note [Repeated steps].
    bool repeat(int index, std::vector<Tensor>& registers);
    // What the step has left behind, which it takes; `registers` as they are after it.
    void note(int index, kernels::Capture& capture, const std::vector<Tensor>& registers);
    std::unique_ptr<Plan> make();
    static void code_later(std::unique_ptr<Planner> planner, Plan& plan);
    std::int64_t bytes() const;

private:
    struct Reference {
        char** pointer;
        std::int64_t offset;
        int memory;  // of the program, or one of `temporaries_` after those
        bool written;
    };
    using References = Few<Reference, 3>;
    struct Call {
        std::unique_ptr<kernels::KernelCall> call;
        References references;
        bool runs = false, constant = false;
        int step = -1;  // of Slice::replay_steps, if it runs with those of another one
        bool is_gathered() const { return call == nullptr; }  // into one before it: Note [Runs of flat calls]
    };
    using Calls = SlabList<Call>;
    struct Noted {
        bool captured = false;
        Calls calls{};
    };
    struct Temporary {
        char* address;
        std::int64_t before, after;
    };
    // What steps of one action do: Note [Repeated steps].
    struct Repeatable {
        static constexpr int kMostInputs = 4, kMostCalls = 3;
        struct Operand {
            int input;           // -1: the result
            std::int64_t delta;  // in bytes, from where that begins
        };
        struct OneCall {
            const kernels::FlatLoop* loop;
            Operand operands[kernels::kFewOperands];
        };
        int run;  // the first one, of Slice::replay_steps
        int count;
        OneCall calls[kMostCalls]{};
        std::uint64_t numbers[kMostInputs]{};  // for each input that is a Python number: its bits
    };
    // What such a step makes or writes.
    struct Result {
        enum class Kind { Other, New, View, Sum } kind = Kind::Other;
        int reg = -1;
        int input = -1;  // that it is a view of
    };
    // Of which there is at least one among the calls: what has to do with others alone need not look for them.
    struct Kinds {
        unsigned traits = 0;
        std::int64_t most_work = 0;
        bool optimizer = false, derivative = false, strips = false;
    };
    void note_kind(const Call& call);
    const int* registers_of(const ReplayStep& run) const;  // inputs, then outputs
    Result result_of(const ReplayStep& run) const;
    std::optional<Repeatable::Operand> operand_of(const Reference& one, const ReplayStep& run,
                                                  const Result& result) const;
    void note_repeatable(int index, const std::vector<Tensor>& registers);
    bool repeats(const Repeatable& known, const ReplayStep& run, const Result& result,
                 const std::vector<Tensor>& registers) const;

    // A call of a step: its place in `noted_`.
    struct Place {
        std::size_t step, call;
    };
    Call& call_at(const Place& at) { return noted_[at.step].calls[at.call]; }
    const Step& step_at(std::size_t run) const;  // of Slice::replay_steps
    // Between the others: it does more than its calls.
    bool runs_as_it_is(std::size_t step) const;
    std::size_t memories() const { return program_.memories.size() + temporaries_.size(); }
    bool is_planned(int memory) const;
    const Pinned* pinned_at(std::size_t memory) const {  // null: it may lie anywhere
        const int index = memory < pinned_.size() && planned_[memory] ? pinned_[memory] : -1;
        return index < 0 ? nullptr : &program_.pinned[static_cast<std::size_t>(index)];
    }
    bool is_input(int memory) const {
        const auto index = static_cast<std::size_t>(memory);
        return index < program_.memories.size() && program_.memories[index].input >= 0;
    }
    bool may_overlap(int memory) const {  // memory of another input
        const int input = is_input(memory) ? program_.memories[static_cast<std::size_t>(memory)].input : -1;
        return input >= 0 && !program_.inputs[static_cast<std::size_t>(input)].apart;
    }
    std::vector<int> count_uses() const;
    static code::Statement statement_of(const kernels::FlatLoop* loop, const References& references);
    // An expression only if its operands lie element after element, or are one number.
    static code::Statement dense_statement_of(const kernels::FlatLoop& loop, const References& references);
    bool may_be_captured(int index) const;
    bool refer(const kernels::Operand& operand, int index, const std::vector<Tensor>& registers, Call& call);
    bool refer_to_temporary(const kernels::Operand& operand, std::size_t first, Call& call);
    void find_planned();
    void find_wanted();
    void find_constants();
    void share_transposes();
    void keep_scores();
    void keep_derivatives();
    bool writes_inputs() const;
    // Two inputs may overlap: where one is written, any may be.
    bool may_change_between(std::size_t first, std::size_t last, int memory) const;
    void eliminate_dead_calls();
    void fuse_pairs();
    void elide_copies();
    void fold_constants();
    static constexpr std::int64_t kWorthCode = 600;  // elements: fewer are done before strips have begun
    void fuse_strips();
    void fuse_epilogues();
    void lay_out(Plan& plan);
    std::vector<char> reused_buffers(const std::vector<int>& last) const;
    Plan::Located::Operand locate(Plan& plan, const Reference& one);
    ByPosition last_uses() const;
    void order(Plan& plan);
    std::vector<char> only_saved() const;
    void look(Plan& plan);
    bool may_fail(std::size_t index) const;
    void hoist_checks();
    void hoist_optimizer_steps();
    void share_results();
    void make_call_tables();
    void find_last_failing();
    void find_taken(Plan& plan) const;
    void find_direct(Plan& plan) const;
    static bool is_calls_only(const Plan& plan);
    bool is_bare(const Plan& plan) const;

    const Program& program_;
    const Slice& slice_;
    std::vector<int> pinned_;       // of each memory, if there are any: of Program::pinned; -1: none
    std::vector<char> varying_;     // of each register: a constant that is set anew for each run
    std::vector<char*> addresses_;  // of memories in this replay
    std::shared_ptr<kernels::FlatLoops> loops_ = std::make_shared<kernels::FlatLoops>();
    Slabs slabs_;            // of the calls
    SlabList<Noted> noted_;  // for each of Slice::replay_steps
    std::vector<Temporary> temporaries_;
    std::unordered_map<const Action*, Repeatable> repeatable_;
    Kinds kinds_;
    std::vector<char> planned_, wanted_, constant_;  // for each memory
    int last_failing_ = -1;                          // of Slice::replay_steps: the last that may fail
    std::vector<std::int64_t> places_;               // in the arena
    friend class Hoisting;
    friend class StripFusion;
    friend class CopyElision;
    friend class EpilogueFusion;
    friend class CallTables;
    friend class PairFusion;
    friend class KeepingDerivatives;
    friend class SharedResults;
    friend class Coding;
};

}  // namespace clew
