// What a commit reads is not dropped after its last use.
#include "core/program/replay/commit.h"
#include "core/program/results/outcome.h"

namespace clew {
namespace {

void check_edges(const KeptNode& kept) {
    for (std::size_t slot = 0; slot < kept.slots.size(); ++slot)
        if (kept.slots[slot].edge && kept.node->slots()[slot].state == SlotState::Freed)
            fail(ErrorKind::NotImplemented,
                 "forward: %s saved a value with a history of its own that is neither its input nor its output, "
                 "and it was freed; keep it by backward(retain_graph=True)",
                 kept.node->kind->node_name);
}

void want_gradient(const Step& step, const Program& program, std::vector<char>& wanted) {
    wanted[static_cast<std::size_t>(step.inputs[0])] = 1;
    const Leaf& leaf = program.leaves[static_cast<std::size_t>(step.index)];
    if (leaf.last < 0 || !leaf_of(program, leaf)) return;
    for (const TrackedTensor& tracked : program.tracked)
        if (tracked.reg == step.inputs[0] && tracked.node >= 0 && tracked.tensor == nullptr)
            fail(ErrorKind::NotImplemented,
                 "run: a .grad with a history (create_graph=True) was dropped since; keep the tensor alive");
}

}  // namespace

void note_wanted(ReplayState& state) {
    const Program& program = state.program;
    Slice& slice = state.slice;
    const auto node_at = [&](int i) -> const KeptNode& { return program.nodes[static_cast<std::size_t>(i)]; };
    for (const int i : slice.edged)
        if (state.fills(node_at(i))) check_edges(node_at(i));
    if (slice.deaths == program.deaths) return;
    for (auto* list : {&slice.nodes, &slice.edged})
        std::erase_if(*list, [&](int i) { return node_at(i).node == nullptr; });
    std::vector<char>& wanted = slice.wanted;
    wanted.assign(program.registers.size(), 0);
    for (const int i : slice.tracked)
        if (program.tracked[static_cast<std::size_t>(i)].tensor)
            wanted[static_cast<std::size_t>(program.tracked[static_cast<std::size_t>(i)].reg)] = 1;
    for (const int i : slice.nodes) {
        if (!state.fills(node_at(i))) continue;
        for (const KeptSlot& slot : node_at(i).slots)
            if (slot.reg >= 0) wanted[static_cast<std::size_t>(slot.reg)] = 1;
    }
    if (slice.target < 0)
        for (const int index : slice.rebinds)
            want_gradient(program.steps[static_cast<std::size_t>(index)], program, wanted);
    if (program.outcome)
        for (const int reg : program.outcome->registers()) wanted[static_cast<std::size_t>(reg)] = 1;
    for (const Pinned& one : program.pinned) wanted[static_cast<std::size_t>(one.reg)] = 1;
    slice.deaths = program.deaths;
}

}  // namespace clew
