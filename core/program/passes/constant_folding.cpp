// Calls that need to run once only.
#include <algorithm>
#include <utility>

#include "core/program/passes/plan.h"
#include "core/program/replay/slice.h"

namespace clew {

// Calls that read constants only, and write what nobody reads before it is written again: who does would find what is
// there in the end.
void Planner::fold_constants() {
    constant_.assign(memories(), 0);
    for (std::size_t i = 0; i < memories(); ++i) constant_[i] = is_planned(static_cast<int>(i)) && !wanted_[i];
    for (const auto& [reg, value] : program_.constants)
        constant_[static_cast<std::size_t>(program_.of(reg).memory)] = 1;
    bool found = false;
    const auto varies = [&](int memory) { found |= std::exchange(constant_[static_cast<std::size_t>(memory)], 0); };
    std::vector<char> is_read(memories());
    for (std::size_t i = 0; i < noted_.size(); ++i) {
        const ReplayStep& run = slice_.replay_steps[i];
        for (int k = 0; k < run.inputs && !noted_[i].captured; ++k)
            if (const int reg = registers_of(run)[k]; reg >= 0)
                is_read[static_cast<std::size_t>(program_.of(reg).memory)] = 1;
        for (const Call& call : noted_[i].calls) {
            if (!call.runs) continue;
            for (const Reference& one : call.references)
                if (one.written && is_read[static_cast<std::size_t>(one.memory)]) varies(one.memory);
            for (const Reference& one : call.references)
                if (!one.written) is_read[static_cast<std::size_t>(one.memory)] = 1;
        }
    }
    for (const SliceWrite& one : slice_.writes)
        if (!noted_[one.run].captured) varies(program_.of(one.reg).memory);
    std::vector<Call*> constant;
    const auto look_at = [&](Call& call) {
        call.constant = std::ranges::all_of(
            call.references, [&](const Reference& one) { return constant_[static_cast<std::size_t>(one.memory)]; });
        if (call.constant) return true;
        for (const Reference& one : call.references)
            if (one.written) varies(one.memory);
        return false;
    };
    for (Noted& noted : noted_)
        for (Call& call : noted.calls)
            if (call.runs && look_at(call)) constant.push_back(&call);
    while (std::exchange(found, false)) std::erase_if(constant, [&](Call* call) { return !look_at(*call); });
}

}  // namespace clew
