// Nodes as they were outlined, and graphs that are made when somebody goes there: Note [Deferred graphs].
#include "core/program/results/deferred_graph.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/autograd/engine.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/program/results/graph_gradient.h"

namespace clew {
namespace {

bool leads_out(const EdgeOutline& to) { return to.input >= 0; }

bool is_unwritten(std::span<const SavedSlot> slots) {
    return std::ranges::all_of(slots, [](const SavedSlot& slot) {
        return slot.state == SlotState::Empty ||
               (slot.state == SlotState::Held && current_version(slot) == slot.version);
    });
}

}  // namespace

DeferredGraph::DeferredGraph(const Outcome& outcome, std::size_t slot_count, std::size_t edges)
    : Deferred({reinterpret_cast<Node**>(reinterpret_cast<SavedSlot*>(this + 1) + slot_count),
                reinterpret_cast<std::uint16_t*>(
                    reinterpret_cast<Node**>(reinterpret_cast<SavedSlot*>(this + 1) + slot_count) + edges),
                static_cast<std::uint32_t>(edges)}),
      slots(reinterpret_cast<SavedSlot*>(this + 1), slot_count),
      outcome_(&outcome) {
    std::memset(static_cast<void*>(this + 1), 0, bytes_of(slot_count, edges) - sizeof(DeferredGraph));
}

// From now on its nodes count as made.
void DeferredGraph::begin() {
    first = graph_clock + 1;
    graph_clock += static_cast<std::uint64_t>(count());
    count_nodes(1);
    waits_ = true;
}

void DeferredGraph::free() {
    const std::size_t bytes = bytes_of(slots.size(), out.count);
    this->~DeferredGraph();
    pool_give(this, bytes);
}

DeferredGraph::~DeferredGraph() {
    if (!waits_) return;
    graph_counters.nodes_alive -= count();
    std::size_t at = 0;
    for (int i = 0; i < count() && !slots.empty(); ++i) {
        bool held = false;
        for (const std::size_t end = at + outline(i).slots.size(); at < end; ++at) {
            held = held || slots[at].state == SlotState::Held;
            drop_slot(slots[at]);
        }
        graph_counters.nodes_freed_by_scope += held;
    }
}

Ref<DeferredGraph> DeferredGraph::of(const Program& program) {
    const Outcome* const outcome = program.outcome.get();
    const std::vector<int>& edges = outcome->edges_out;
    const std::size_t slot_count = outcome->gradient ? outcome->slots_below.size() : 0;
    Ref<DeferredGraph> below = Ref<DeferredGraph>::steal(new (pool_take(bytes_of(slot_count, edges.size())))
                                                             DeferredGraph(*outcome, slot_count, edges.size()));
    for (std::uint32_t i = 0; i < edges.size(); ++i) {
        const Edge edge = gradient_edge(program.inputs[static_cast<std::size_t>(edges[i])].present());
        if (edge.node && edge.node->has(Node::kPython)) return {};  // the collector has to see what leads there
        below->set_edge_out(i, edge);
    }
    if (outcome->gradient) outcome->gradient->compile_as(program);
    if (outcome->from_head) outcome->from_head->compile_as(program);
    below->begin();
    return below;
}

void DeferredGraph::count_nodes(int sign) const {
    graph_counters.nodes_built += sign * count();
    graph_counters.nodes_alive += sign * count();
    if (!outcome_->gradient) graph_counters.nodes_freed_by_backward += sign * (outcome_->released - 1);
}

void DeferredGraph::make(Node& root) {
    waits_ = false;
    count_nodes(-1);
    std::size_t first_out = out.count, slot = 0;
    for (int i = 0; i <= count(); ++i) {
        const NodeOutline& outline = this->outline(i);
        const NodeRef node = i == count() ? NodeRef(&root) : make_node(outline);
        first_out -= static_cast<std::size_t>(std::ranges::count_if(outline.edges, leads_out));
        const EdgeWriter edges{*node};
        for (std::size_t e = 0, next = first_out; e < outline.edges.size(); ++e) {
            const EdgeOutline& to = outline.edges[e];
            if (to.node >= 0) edges.set(e, {made_[static_cast<std::size_t>(to.node)].get(), to.index});
            if (to.input < 0) continue;
            edges.set(e, {out.nodes[next], out.indices[next]});
            ++next;
        }
        if (i == count()) return;
        node->sequence = first + static_cast<std::uint64_t>(i);
        if (!slots.empty()) {
            std::memcpy(static_cast<void*>(node->slots()), &slots[slot], sizeof(SavedSlot) * outline.slots.size());
            slot += outline.slots.size();
            const bool freed = std::ranges::any_of(std::span(node->slots(), node->slot_count),
                                                   [](const SavedSlot& one) { return one.state == SlotState::Freed; });
            if (freed) set_released(*node, released_);
        } else if (outline.released) {
            mark_released(*node, released_);
        }
        made_.push_back(node);
    }
}

bool DeferredGraph::can_run(Node& root) const {
    return waits_ && !released_ && is_unwritten(slots) && is_unwritten({root.slots(), root.slot_count});
}

void DeferredGraph::run(Node& root, std::span<Tensor> incoming, std::span<Tensor> sums, const Ref<Release>& record) {
    const bool hooked = root.extras && !root.extras->post_hooks.empty();
    if (!hooked && can_run(root) && outcome_->gradient->run({*this, root, nullptr}, incoming[0], sums)) {
        if (record) release_all(root, record);
        return;
    }
    std::vector<Tensor> gradients(sums.size());
    run_nodes(root, incoming, gradients, record);
    fit(gradients);
    add(gradients, sums);
}

bool DeferredGraph::run_from(Node& head, Node& root, const Tensor& gradient, std::span<Tensor> sums,
                             const Ref<Release>& record) {
    if (!can_run(root) || !outcome_->from_head->run({*this, root, &head}, gradient, sums)) return false;
    if (record) release_saved(head, record), release_all(root, record);
    return true;
}

void DeferredGraph::fit(std::span<Tensor> gradients) const {
    std::size_t next = 0;
    for (int i = outcome_->root; i >= 0; --i) {
        const std::vector<EdgeOutline>& edges = outline(i).edges;
        for (std::size_t e = 0; e < edges.size(); ++e) {
            if (edges[e].input < 0) continue;
            const std::size_t at = next++;
            const auto [layout, dtype] = expected(at);
            if (layout && gradients[at])
                fit_gradient(gradients[at], *layout, dtype, outline(i).kind->node_name, static_cast<int>(e));
        }
    }
}

void DeferredGraph::release_all(Node& root, const Ref<Release>& record) {
    release_saved(root, record);
    for (const NodeRef& node : made_) release_saved(*node, record);
    if (!waits_) return;
    released_ = record;
    std::size_t at = slots.size();
    for (int i = count() - 1; i >= 0; --i) {
        at -= outline(i).slots.size();
        if (free_slots(slots.subspan(at, outline(i).slots.size()))) ++graph_counters.nodes_freed_by_backward;
    }
}

void DeferredGraph::run_nodes(Node& root, std::span<Tensor> incoming, std::span<Tensor> leaving,
                              const Ref<Release>& record) {
    const Ref<Deferred> alive(this);
    make_whole(root);
    std::vector<std::vector<Tensor>> gradients(made_.size() + 1);
    for (std::size_t i = 0; i < made_.size(); ++i) gradients[i].resize(made_[i]->output_count);
    gradients.back().assign(incoming.begin(), incoming.end());
    std::size_t next = 0;  // of leaving
    for (int i = count(); i >= 0; --i) {
        Node& node = i == count() ? root : *made_[static_cast<std::size_t>(i)];
        std::vector<Tensor> arrived = std::move(gradients[static_cast<std::size_t>(i)]), sent(node.edge_count);
        if (std::ranges::any_of(arrived, [](const Tensor& one) { return bool(one); })) {
            if (&node != &root) run_tensor_hooks(node, arrived), run_pre_hooks(node, arrived);
            std::vector<Tensor> shown;  // the rule may consume its gradients; hooks after it see them still
            if (node.extras && !node.extras->post_hooks.empty()) shown = arrived;
            std::uint64_t wants = 0;
            for (std::uint32_t e = 0; e < node.edge_count; ++e)
                if (node.edge_nodes()[e]) wants |= std::uint64_t{1} << std::min<std::uint32_t>(e, 63);
            BackwardCall call{&node, arrived, sent, wants};
            call_rule(call);
            if (!shown.empty()) run_post_hooks(node, sent, shown);
            if (record && !node.has(Node::kSpared)) release_saved(node, record);
        }
        for (std::size_t e = 0; e < sent.size(); ++e) {
            const EdgeOutline& to = outline(i).edges[e];
            if (to.input >= 0) leaving[next++] = std::move(sent[e]);
            if (to.node < 0 || !sent[e]) continue;
            Node& child = *made_[static_cast<std::size_t>(to.node)];
            fit_gradient(sent[e], *child.outputs()[to.index].layout, child.output_dtypes()[to.index],
                         node.kind->node_name, static_cast<int>(e));
            add_gradient(gradients[static_cast<std::size_t>(to.node)][to.index], std::move(sent[e]));
        }
    }
}

void describe_node(Node& node, const NodeOutline& outline) {
    const Handle before = Handle::steal(std::exchange(node.code, Handle(outline.code).detach()));
    node.instruction = outline.instruction;
    for (std::size_t i = 0; i < outline.outputs.size(); ++i)
        if (const auto& [layout, dtype] = outline.outputs[i]; layout)  // a GRU has no cell
            set_output_shape(node, static_cast<int>(i), layout, dtype);
    std::copy(outline.attributes.begin(), outline.attributes.end(), static_cast<char*>(node.attributes()));
    for (std::size_t i = 0; i < outline.slots.size(); ++i) {
        const SlotOutline& saved = outline.slots[i];
        SavedSlot& slot = node.slots()[i];
        name_slot(slot, saved);
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

namespace {

bool leads_to_result(const EdgeOutline& to) { return to.result >= 0; }
bool has_history(const ResultOutline& one) { return one.node >= 0; }

// One result has a history, and the call's own backward has released all of it.
bool is_only_looked_at(const Outcome& outcome) {
    const Release* const released = outcome.nodes.back().released.get();
    for (const NodeOutline& node : outcome.nodes) {
        const bool saved = std::ranges::any_of(node.slots, &SlotOutline::saved);
        if (!released || ((node.released || saved) && node.released.get() != released)) return false;
    }
    return std::ranges::count_if(outcome.results, has_history) == 1 &&
           std::ranges::find_if(outcome.results, has_history)->node == static_cast<int>(outcome.nodes.size()) - 1 &&
           std::ranges::none_of(outcome.results, [](const ResultOutline& one) { return one.base >= 0; });
}

}  // namespace

void Outcome::defer() {
    root = find_root();
    if (root < 0) return;
    for (int i = root; i >= 0; --i)
        for (const EdgeOutline& to : nodes[static_cast<std::size_t>(i)].edges)
            if (leads_out(to)) edges_out.push_back(to.input);
    for (int i = 0; i < root; ++i)
        std::ranges::copy(nodes[static_cast<std::size_t>(i)].slots, std::back_inserter(slots_below));
    if (nodes.back().released) return;
    gradient = std::make_shared<GraphGradient>();
    const auto above = static_cast<std::size_t>(root) + 1;
    if (above == nodes.size()) return;
    const NodeOutline& head = nodes[above];
    const bool leads_there = head.edges.size() == 1 && head.edges[0].node == root;
    if (leads_there && head.slots.empty() && head.shape.outputs == 1) from_head = std::make_shared<GraphGradient>();
}

int Outcome::find_root() const {
    constexpr int kWorthIt = 2;
    if (nodes.size() < 2) return -1;
    for (const NodeOutline& node : nodes)
        if (node.context >= 0 || node.hooked >= 0 || node.slices.inner >= 0 ||
            std::ranges::any_of(node.edges, leads_to_result))
            return -1;
    const int last = static_cast<int>(nodes.size()) - 1;
    if (is_only_looked_at(*this)) return last;
    if (std::ranges::any_of(nodes, [](const NodeOutline& node) { return bool(node.released); })) return -1;
    // Nothing that is given or younger leads past it.
    int root = last;
    for (const ResultOutline& one : results)
        if (has_history(one)) root = std::min(root, one.node);
    for (int i = last; i > root; --i)
        for (const EdgeOutline& to : nodes[static_cast<std::size_t>(i)].edges)
            if (to.node >= 0) root = std::min(root, to.node);
    return root >= kWorthIt && nodes[static_cast<std::size_t>(root)].shape.outputs == 1 ? root : -1;
}

}  // namespace clew
