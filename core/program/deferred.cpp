// Nodes as they were outlined, and graphs that are made when somebody looks: Note [Deferred graphs].
#include <algorithm>
#include <utility>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/program/commit.h"
#include "core/program/outcome.h"

namespace clew {
namespace {

// All nodes of an outcome but the last one.
class Below final : public Deferred {
public:
    Below(std::shared_ptr<const Outcome> outcome, std::vector<std::pair<NodeRef, std::uint32_t>> outside,
          std::uint64_t first)
        : outcome_(std::move(outcome)), outside_(std::move(outside)), first_(first) {
        count(1);
    }
    ~Below() override {
        if (!made_) graph_counters.nodes_alive -= nodes();
    }

    void make(Node& root) override {
        made_ = true;
        count(-1);
        const Ref<Release> released(root.released);
        std::vector<NodeRef> made;
        std::size_t outside = 0;
        for (const NodeOutline& outline : outcome_->nodes) {
            const bool last = &outline == &outcome_->nodes.back();
            const NodeRef node = last ? NodeRef(&root) : make_node(outline);
            const EdgeWriter edges{*node};
            for (std::size_t i = 0; i < outline.edges.size(); ++i) {
                const EdgeOutline& to = outline.edges[i];
                if (to.node >= 0) edges.set(i, {made[static_cast<std::size_t>(to.node)].get(), to.index});
                if (to.input < 0) continue;
                edges.set(i, {outside_[outside].first.get(), outside_[outside].second});
                ++outside;
            }
            if (last) return;
            node->sequence = first_ + made.size();
            if (outline.released) mark_released(*node, released);
            made.push_back(node);
        }
    }

private:
    std::int64_t nodes() const { return static_cast<std::int64_t>(outcome_->nodes.size()) - 1; }
    void count(int sign) const {
        graph_counters.nodes_built += sign * nodes();
        graph_counters.nodes_alive += sign * nodes();
        graph_counters.nodes_freed_by_backward += sign * (outcome_->released - 1);
    }

    std::shared_ptr<const Outcome> outcome_;
    std::vector<std::pair<NodeRef, std::uint32_t>> outside_;  // where edges lead that leave the graph, in their order
    std::uint64_t first_;                                     // the number of the first node; the others follow
    bool made_ = false;
};

}  // namespace

void describe_node(Node& node, const NodeOutline& outline) {
    const Handle before = Handle::steal(std::exchange(node.code, Handle(outline.code).detach()));
    node.instruction = outline.instruction;
    for (std::size_t i = 0; i < outline.outputs.size(); ++i)
        set_output_shape(node, static_cast<int>(i), outline.outputs[i].first, outline.outputs[i].second);
    std::copy(outline.attributes.begin(), outline.attributes.end(), static_cast<char*>(node.attributes()));
    for (std::size_t i = 0; i < outline.slots.size(); ++i) {
        const SlotOutline& saved = outline.slots[i];
        SavedSlot& slot = node.slots()[i];
        slot.source = saved.source;
        slot.index = saved.index;
        slot.wrapped_number = saved.wrapped_number;
        if (!saved.saved || !outline.released) continue;
        slot.layout = LayoutRef(saved.layout).detach();
        slot.dtype = saved.dtype;
    }
}

NodeRef make_node(const NodeOutline& outline) {
    const ModeGuard without_site(kNoProvenance, true);  // it gets that of the recorded node
    NodeRef made = new_node(*outline.kind, outline.shape);
    describe_node(*made, outline);
    return made;
}

Ref<Release> release_like(const Release& then, std::uint64_t serial) {
    const Site site{Handle::borrow(then.site.code).detach(), then.site.instruction};
    Ref<Release> made = Release::make(then.kind, site);
    made->serial = serial;
    return made;
}

NodeRef make_last(const std::shared_ptr<const Outcome>& outcome, const ReplayState& state) {
    std::vector<std::pair<NodeRef, std::uint32_t>> outside;
    outside.reserve(2 * outcome->nodes.size());
    for (const NodeOutline& outline : outcome->nodes)
        for (const EdgeOutline& to : outline.edges) {
            if (to.input < 0) continue;
            const Edge edge = gradient_edge(state.program.inputs[static_cast<std::size_t>(to.input)].present());
            if (edge.node && edge.node->has(Node::kPython)) return {};  // the collector has to see what leads there
            outside.emplace_back(edge.node, edge.index);
        }
    const std::uint64_t first = graph_clock + 1, count = outcome->nodes.size() - 1;
    graph_clock += count;
    const NodeOutline& outline = outcome->nodes.back();
    NodeRef last = make_node(outline);
    const Ref<Release> released = release_like(*outline.released, state.first_release);
    mark_released(*last, released);
    const auto ran = static_cast<std::uint64_t>(std::ranges::count_if(
        outcome->nodes, [&](const NodeOutline& one) { return one.born <= outline.released->youngest; }));
    released->youngest = ran > count ? last->sequence : ran > 0 ? first + ran - 1 : 0;
    released->below = new Below(outcome, std::move(outside), first);
    last->set(Node::kDeferred);
    return last;
}

bool Outcome::is_only_looked_at() const {
    if (nodes.size() < 2) return false;
    const Release* const released = nodes.back().released.get();
    for (const NodeOutline& node : nodes) {
        const bool saved = std::ranges::any_of(node.slots, &SlotOutline::saved);
        if (!released || ((node.released || saved) && node.released.get() != released)) return false;
        if (node.context >= 0 || node.hooked >= 0 || node.slices.inner >= 0) return false;
        if (std::ranges::any_of(node.edges, [](const EdgeOutline& to) { return to.result >= 0; })) return false;
    }
    const auto has_history = [](const ResultOutline& one) { return one.node >= 0; };
    return std::ranges::count_if(results, has_history) == 1 &&
           std::ranges::find_if(results, has_history)->node == static_cast<int>(nodes.size()) - 1 &&
           std::ranges::none_of(results, [](const ResultOutline& one) { return one.base >= 0; });
}

}  // namespace clew
