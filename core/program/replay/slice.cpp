#include "core/program/replay/slice.h"

#include <algorithm>
#include <utility>

#include "core/autograd/hooks.h"
#include "core/program/record/weak_bindings.h"

namespace clew {
namespace {

constexpr int kEnd = 1 << 30;

class Slicer {
public:
    Slicer(const Program& program, Slice& slice) : program_(program), slice_(slice) {
        slice_.runs.assign(program.steps.size(), slice.target < 0);
        has_node_.assign(program.nodes.size(), slice.target < 0);
    }

    void go() {
        if (slice_.target >= 0) {
            find_makers();
            const TrackedTensor& target = program_.tracked[static_cast<std::size_t>(slice_.target)];
            need(target.reg, kEnd);
            if (target.node >= 0) need_graph(program_.nodes[static_cast<std::size_t>(target.node)].node);
            settle();
            need_reads();
        }
        finish();
    }

private:
    std::size_t memory_of(int tracked) const {
        return static_cast<std::size_t>(program_.of(program_.tracked[static_cast<std::size_t>(tracked)].reg).memory);
    }
    void find_makers() {
        made_by_step_.resize(program_.steps.size());
        for (std::size_t i = 0; i < program_.nodes.size(); ++i)
            if (program_.nodes[i].step >= 0)
                made_by_step_[static_cast<std::size_t>(program_.nodes[i].step)].push_back(static_cast<int>(i));
    }
    // The register as it is before that step.
    void need(int reg, int before) {
        if (reg < 0) return;
        const KeptRegister& of = program_.of(reg);
        if (of.made_by >= 0) need_step(of.made_by);
        const Memory& memory = program_.memory_of(reg);
        if (memory.made_by >= 0) need_step(memory.made_by);
        for (const int writer : memory.writers) {
            if (writer >= before) break;
            if (program_.writes(writer, reg)) need_step(writer);
        }
    }
    void need_step(int step) {
        char& runs = slice_.runs[static_cast<std::size_t>(step)];
        if (runs) return;
        runs = 1;
        pending_.push_back(step);
    }
    void need_node(int node) {
        char& has = has_node_[static_cast<std::size_t>(node)];
        if (has) return;
        has = 1;
        const KeptNode& kept = program_.nodes[static_cast<std::size_t>(node)];
        for (const KeptSlot& slot : kept.slots) need(slot.reg, kept.step + 1);
    }
    void need_graph(Node* root) {
        std::vector<Node*> stack{root};
        std::vector<char> seen(program_.nodes.size());
        while (!stack.empty()) {
            Node* const node = stack.back();
            stack.pop_back();
            const int index = index_of(program_, node);
            if (index < 0 || std::exchange(seen[static_cast<std::size_t>(index)], 1)) continue;
            need_node(index);
            if (node->extras && node->extras->inner) stack.push_back(node->extras->inner.get());
            for (std::uint32_t i = 0; i < node->edge_count; ++i)
                if (node->edge_nodes()[i]) stack.push_back(node->edge_nodes()[i]);
        }
    }
    void settle() {
        while (!pending_.empty()) {
            const int step = pending_.back();
            pending_.pop_back();
            for (const int input : program_.steps[static_cast<std::size_t>(step)].inputs) need(input, step);
            for (const int node : made_by_step_[static_cast<std::size_t>(step)]) need_node(node);
        }
    }
    void need_reads() {
        int last = -1;
        for (int i = 0; i < static_cast<int>(slice_.runs.size()); ++i)
            if (slice_.runs[static_cast<std::size_t>(i)]) last = i;
        for (int i = 0; i < last; ++i)
            if (program_.steps[static_cast<std::size_t>(i)].action->kind == StepKind::Read) need_step(i);
        settle();
    }

    void finish() {
        const std::size_t memories = program_.memories.size();
        slice_.whole.assign(memories, 1);
        slice_.written.assign(memories, 0);
        slice_.last_use.assign(program_.registers.size(), -1);
        slice_.steps.reserve(program_.steps.size());
        std::size_t registers = 0;
        for (std::size_t i = 0; i < program_.steps.size(); ++i) {
            const Step& step = program_.steps[i];
            for (const KeptWrite& written : step.writes) {
                const auto memory = static_cast<std::size_t>(program_.of(written.reg).memory);
                if (!slice_.runs[i])
                    slice_.whole[memory] = 0;
                else if (step.action->kind == StepKind::Run)
                    slice_.written[memory] = 1;
            }
            if (!slice_.runs[i]) continue;
            slice_.steps.push_back(static_cast<int>(i));
            registers += step.inputs.size() + step.outputs.size();
            for (const auto* list : {&step.inputs, &step.outputs})
                for (const int reg : *list)
                    if (reg >= 0) slice_.last_use[static_cast<std::size_t>(reg)] = static_cast<int>(i);
        }
        for (std::size_t i = 0; i < memories; ++i) {
            const Memory& memory = program_.memories[i];
            if (memory.made_by >= 0 && !slice_.runs[static_cast<std::size_t>(memory.made_by)]) slice_.whole[i] = 0;
        }
        find_direct();
        compile(registers);
        for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
            if (!has_node_[i]) continue;
            slice_.nodes.push_back(static_cast<int>(i));
            if (std::ranges::any_of(program_.nodes[i].slots, &KeptSlot::edge))
                slice_.edged.push_back(static_cast<int>(i));
        }
        const auto born = [&](int i) { return program_.nodes[static_cast<std::size_t>(i)].born; };
        if (!std::ranges::is_sorted(slice_.nodes, {}, born)) std::ranges::sort(slice_.nodes, {}, born);
        for (std::size_t i = 0; i < program_.tracked.size(); ++i)
            if (slice_.remakes(program_, program_.tracked[i].reg, kEnd)) slice_.tracked.push_back(static_cast<int>(i));
        std::vector<char> renewed(memories);
        for (const int i : slice_.tracked) renewed[memory_of(i)] = 1;
        for (int i = 0; i < static_cast<int>(program_.tracked.size()); ++i)
            if (renewed[memory_of(i)] && !std::ranges::binary_search(slice_.tracked, i)) slice_.beside.push_back(i);
        for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
            const int reg = program_.inputs[i].reg;
            bool read = slice_.target < 0 || slice_.last_use[static_cast<std::size_t>(reg)] >= 0;
            for (std::size_t node = 0; node < slice_.nodes.size() && !read; ++node)
                for (const KeptSlot& slot : program_.nodes[static_cast<std::size_t>(slice_.nodes[node])].slots)
                    read = read || slot.reg == reg;
            if (read) slice_.inputs.push_back(static_cast<int>(i));
        }
    }

    // Steps of optimizers at the end, on large memory: two copies of every parameter would cost more than the step.
    void find_direct() {
        constexpr std::int64_t kWorthIt = 4096;  // bytes
        slice_.direct.resize(program_.memories.size(), program_.is_body);
        if (program_.is_body) return;
        bool any = false;
        for (std::size_t i = 0; i < program_.memories.size(); ++i)
            if (program_.memories[i].bytes >= kWorthIt) slice_.direct[i] = any = true;
        if (!any) return;
        int last = -1;  // that may fail
        for (const int i : slice_.steps)
            if (!program_.steps[static_cast<std::size_t>(i)].action->op->is(kOptimizerStep)) last = i;
        for (const int i : slice_.steps)
            for (const KeptWrite& written : program_.steps[static_cast<std::size_t>(i)].writes)
                if (i <= last || !program_.of(written.reg).layout->contiguous)
                    slice_.direct[static_cast<std::size_t>(program_.of(written.reg).memory)] = 0;
    }

    void note_effects(const Step& step, int index) {
        for (const KeptWrite& written : step.writes)
            slice_.writes.push_back({slice_.replay_steps.size() - 1, written.reg});
        if (step.action->kind == StepKind::Rebind && step.inputs[0] >= 0) slice_.rebinds.push_back(index);
        if (step.action->generator &&
            std::ranges::find(slice_.generators, step.action->generator) == slice_.generators.end())
            slice_.generators.push_back(step.action->generator);
        for (std::size_t i = 0; i < step.writes.size(); ++i)
            if (program_.memory_of(step.writes[i].reg).input >= 0 && step.writes[i].bump)
                slice_.counted.emplace_back(index, static_cast<int>(i));
        if (slice_.target < 0 && step.action->kind == StepKind::Rebind &&
            program_.leaves[static_cast<std::size_t>(step.index)].last == index)
            slice_.gradients.push_back(index);
    }

    void compile(std::size_t registers) {  // of all its steps
        std::vector<char> dropped(program_.registers.size());
        Slabs& slabs = *program_.slabs;
        slice_.replay_steps.reserve(slabs, slice_.steps.size());
        slice_.registers.reserve(slabs, registers + program_.registers.size());
        for (const int index : slice_.steps) {
            const Step& step = program_.steps[static_cast<std::size_t>(index)];
            ReplayStep& run = slice_.replay_steps.emplace_back(slabs);
            run.step = index;
            run.form = step.action->form;
            run.kind = step.action->kind;
            run.inputs = static_cast<std::uint16_t>(step.inputs.size());
            run.outputs = static_cast<std::uint16_t>(step.outputs.size());
            run.first = static_cast<int>(slice_.registers.size());
            run.varies = step.action->varies;
            for (const auto* list : {&step.inputs, &step.outputs})
                for (const int reg : *list) slice_.registers.emplace_back(slabs, int{reg});
            for (const auto* list : {&step.inputs, &step.outputs})
                for (const int reg : *list) {
                    if (reg < 0 || slice_.last_use[static_cast<std::size_t>(reg)] != index) continue;
                    if (std::exchange(dropped[static_cast<std::size_t>(reg)], 1)) continue;
                    slice_.registers.emplace_back(slabs, int{reg});
                    ++run.dropped;
                }
            note_effects(step, index);
        }
    }

    const Program& program_;
    Slice& slice_;
    std::vector<int> pending_;
    std::vector<std::vector<int>> made_by_step_;
    std::vector<char> has_node_;
};

}  // namespace

// The register gets the value that it has before that step: what makes it runs, and all writes that reach its bytes.
bool Slice::remakes(const Program& program, int reg, int before) const {
    const KeptRegister& of = program.of(reg);
    const Memory& memory = program.memory_of(reg);
    if (of.made_by < 0 || !runs[static_cast<std::size_t>(of.made_by)]) return false;
    if (memory.made_by >= 0 && !runs[static_cast<std::size_t>(memory.made_by)]) return false;
    return std::ranges::none_of(memory.writers, [&](int writer) {
        return writer < before && !runs[static_cast<std::size_t>(writer)] && program.writes(writer, reg);
    });
}

Slice& slice_of(Program& program, int target) {
    for (const auto& slice : program.slices)
        if (slice->target == target) return *slice;
    auto made = std::make_unique<Slice>(Slice{.target = target});
    Slicer(program, *made).go();
    program.slices.push_back(std::move(made));
    return *program.slices.back();
}

}  // namespace clew
