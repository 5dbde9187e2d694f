// A compiled call's graph below one of its nodes, as long as nobody has gone there: Note [Deferred graphs].
#pragma once
#include <memory>
#include <vector>

#include "core/autograd/deferred.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/program/results/outcome.h"

namespace clew {

class DeferredGraph final : public Deferred {
public:
    // Null if it can't wait this time. The slots are empty, and yet to be filled.
    static Ref<DeferredGraph> of(const Program& program);
    ~DeferredGraph() override;
    void free() override;

    // The call has released what the graph saved.
    void mark_released_all(const Ref<Release>& record) { released_ = record; }
    std::span<SavedSlot> slots;  // of the nodes below the root, the oldest first; none if they have been released
    std::uint64_t first;         // the number of the first node; the others follow

    void make(Node& root) override;
    bool can_run(Node& root) const override;
    void run(Node& root, std::span<Tensor> incoming, std::span<Tensor> sums, const Ref<Release>& record) override;
    bool run_from(Node& head, Node& root, const Tensor& gradient, std::span<Tensor> sums,
                  const Ref<Release>& record) override;

    // A slot of the graph: those of all nodes, the oldest first, then the root's.
    SavedSlot& slot(Node& root, std::size_t i) { return i < slots.size() ? slots[i] : root.slots()[i - slots.size()]; }
    std::size_t slots_in_all(const Node& root) const { return slots.size() + root.slot_count; }
    // Node by node, and not all at once: the gradient of each edge that leaves the graph.
    void run_nodes(Node& root, std::span<Tensor> incoming, std::span<Tensor> leaving, const Ref<Release>& record);
    // Casts and sums them to what is expected at the other end of their edges.
    void fit(std::span<Tensor> gradients) const;
    std::pair<Layout*, DType> expected(std::size_t edge) const {
        Node* const child = out.nodes[edge];
        if (!child) return {};
        return {child->outputs()[out.indices[edge]].layout, child->output_dtypes()[out.indices[edge]]};
    }
    static void add(std::span<Tensor> gradients, std::span<Tensor> sums) {
        for (std::size_t i = 0; i < sums.size(); ++i)
            if (gradients[i]) add_gradient(sums[i], std::move(gradients[i]));
    }

private:
    // With room behind it for slots and edges.
    DeferredGraph(const Outcome& outcome, std::size_t slots, std::size_t edges);
    static std::size_t bytes_of(std::size_t slots, std::size_t edges) {
        return sizeof(DeferredGraph) + slots * sizeof(SavedSlot) + edges * (sizeof(Node*) + sizeof(std::uint16_t));
    }
    int count() const { return outcome_->root; }
    const NodeOutline& outline(int i) const { return outcome_->nodes[static_cast<std::size_t>(i)]; }
    void begin();
    void count_nodes(int sign) const;
    void release_all(Node& root, const Ref<Release>& record);

    Ref<const Outcome> outcome_;
    Ref<Release> released_;
    std::vector<NodeRef> made_;
    bool waits_ = false;
};

}  // namespace clew
