// What a replay changes, all at once.
#pragma once
#include <string>

#include "core/program/program.h"
#include "core/program/slice.h"

namespace clew {

struct ReplayState {
    Program& program;
    Slice& slice;
    std::vector<Tensor> regs;         // what the steps made
    std::vector<StorageRef> shadows;  // of each memory: what is written in place of one from before the block

    ReplayState(Program& program, Slice& slice)
        : program(program), slice(slice), regs(std::move(slice.spare)), shadows(program.memories.size()) {
        regs.resize(program.registers.size());
    }
    ~ReplayState() {
        for (std::size_t i = 0; i < regs.size(); ++i)
            if (!slice.reused[i]) regs[i] = Tensor();
        slice.spare = std::move(regs);
    }
    ReplayState(const ReplayState&) = delete;
    ReplayState& operator=(const ReplayState&) = delete;
    // A whole run leaves nodes as the block left them.
    bool fills(const KeptNode& kept) const { return kept.alive() && (slice.target >= 0 || !kept.freed_at_end); }
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

// What a register holds after the commit; `places`: where each memory lies then, if not where the replay made it.
Tensor settled(const ReplayState& state, int reg, const std::vector<StorageRef>& places);

// Gives the results of a compiled call.
std::vector<Tensor> commit(ReplayState& state);

}  // namespace clew
