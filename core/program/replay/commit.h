// What a replay changes, all at once.
#pragma once
#include <string>
#include <utility>

#include "core/program/program.h"
#include "core/program/replay/slice.h"

namespace clew {

struct ReplayState {
    Program& program;
    Slice& slice;
    std::unique_ptr<Plan> plan;           // null: the first replay, or one that runs while another does
    std::vector<Tensor> regs;             // what the steps made
    std::vector<BufferBinding> bindings;  // of each memory
    std::vector<StorageRef> places;   // of each memory, in the commit: where it lies from now on, if not in the new one
    StorageRef arena{};               // of the plan
    std::uint64_t first_release = 0;  // numbers for the records of the call's own backward passes, from here on
    bool has_copies = false;          // of memory from before the block, which the commit writes

    ReplayState(Program& program, Slice& slice, bool by_plan);
    ~ReplayState();
    ReplayState(const ReplayState&) = delete;
    ReplayState& operator=(const ReplayState&) = delete;
    const std::vector<char>& direct() const { return plan ? plan->direct : slice.direct; }
    // A whole run leaves nodes as the block left them.
    bool fills(const KeptNode& kept) const { return kept.alive() && (slice.target >= 0 || !kept.freed_at_end); }
};

// For a scope in which a replay writes nothing where it lies, whatever is `direct`.
class CopyAllWritten {
public:
    explicit CopyAllWritten(std::vector<char>& direct)
        : direct_(direct), before_(std::exchange(direct, std::vector<char>(direct.size()))) {}
    ~CopyAllWritten() { direct_ = std::move(before_); }
    CopyAllWritten(const CopyAllWritten&) = delete;
    CopyAllWritten& operator=(const CopyAllWritten&) = delete;

private:
    std::vector<char>& direct_;
    std::vector<char> before_;
};

// Puts generators back unless keep() is called.
class GeneratorGuard {
public:
    explicit GeneratorGuard(const Slice& slice);
    ~GeneratorGuard();
    GeneratorGuard(const GeneratorGuard&) = delete;
    GeneratorGuard& operator=(const GeneratorGuard&) = delete;
    void keep() { before_.clear(); }

private:
    std::vector<std::pair<Generator*, Generator>> before_;
};

// Notes in the slice which registers the commit reads, so that the steps leave them. Fails where it could not end.
void note_wanted(ReplayState& state);

// What a register holds after the commit.
Tensor settled(const ReplayState& state, int reg);

// Gives the results of a compiled call.
std::vector<Tensor> commit(ReplayState& state);

}  // namespace clew
