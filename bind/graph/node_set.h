// A set of nodes in the order in which they were met: what every walk of bind/ keeps.
//
// The engine's visit hint (core/autograd/engine.cpp) would need no hashing, but a walk may run inside a hook, and must
// not disturb the backward under way.
#pragma once
#include <cstdint>
#include <vector>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"

namespace clew::bind {

class NodeSet {
public:
    static constexpr std::uint32_t kAbsent = ~std::uint32_t{0};

    // `places`: a power of two; it grows.
    explicit NodeSet(std::size_t places = 1024) : table_(places, 0) { nodes_.reserve(places / 2); }

    // Whether it is new.
    bool insert(Node* node) {
        if (nodes_.size() * 10 >= table_.size() * 7) grow();
        std::uint32_t& place = table_[place_of(node)];
        if (place) return false;
        nodes_.push_back(node);
        place = static_cast<std::uint32_t>(nodes_.size());
        return true;
    }
    std::uint32_t index_of(Node* node) const {
        const std::uint32_t place = table_[place_of(node)];
        return place ? place - 1 : kAbsent;
    }
    bool contains(Node* node) const { return index_of(node) != kAbsent; }
    std::size_t size() const { return nodes_.size(); }
    Node* operator[](std::size_t i) const { return nodes_[i]; }

private:
    std::size_t place_of(const Node* node) const {
        const std::size_t mask = table_.size() - 1;
        std::size_t i = (reinterpret_cast<std::uintptr_t>(node) >> 4) * 0x9e3779b97f4a7c15u >> 20 & mask;
        while (table_[i] && nodes_[table_[i] - 1] != node) i = (i + 1) & mask;
        return i;
    }
    void grow() {
        table_.assign(table_.size() * 2, 0);
        for (std::size_t i = 0; i < nodes_.size(); ++i) table_[place_of(nodes_[i])] = static_cast<std::uint32_t>(i + 1);
    }

    std::vector<Node*> nodes_;
    std::vector<std::uint32_t> table_;  // index + 1; 0: free
};

// Backward: the edges that gradients take. Held: also the nodes that a node keeps without sending gradients to them.
enum class Reach { Backward, Held };

// The node whose slots tell what `node` saved: CopySlices has those of the operation that it wraps.
inline Node& saver_of(Node& node) { return node.extras && node.extras->inner ? *node.extras->inner : node; }

// Calls visit(Node*) for each node that `node` keeps alive.
template <class Visit>
void each_below(Node& node, Reach reach, const Visit& visit) {
    for (std::uint32_t i = 0; i < node.edge_count; ++i)
        if (Node* child = node.edge_nodes()[i]) visit(child);
    if (reach == Reach::Backward) return;
    Node& saver = saver_of(node);
    if (&saver != &node)
        for (std::uint32_t i = 0; i < saver.edge_count; ++i)
            if (Node* child = saver.edge_nodes()[i]) visit(child);
    for (int i = 0; i < saver.slot_count; ++i) {
        const SavedSlot& slot = saver.slots()[i];
        if (slot.has_rest && slot.rest->edge) visit(slot.rest->edge.get());
    }
}

// Calls visit(SavedSlot&) for what the node saved, also where it was freed since.
template <class Visit>
void each_slot(Node& node, const Visit& visit) {
    Node& saver = saver_of(node);
    for (int i = 0; i < saver.slot_count; ++i) {
        SavedSlot& slot = saver.slots()[i];
        if (slot.state != SlotState::Empty && slot.layout) visit(slot);
    }
}

// Calls visit(Node*) for the nodes that a tensor holds: its own, its base's, and those that fill their gradients.
template <class Visit>
void each_root(const TensorObject& tensor, const Visit& visit) {
    for (const TensorObject* one = &tensor; one; one = one->base.get()) {
        if (one->grad_fn) visit(one->grad_fn.get());
        if (one->extras && one->extras->accumulator) visit(one->extras->accumulator.get());
    }
}

// All that can be reached from `root` and was not met before; appended to `seen`, and to `finished` (if given) when all
// below a node has been: so that its reverse is the topological order that clew.graph.walk describes. With `within` no
// other nodes are visited than those.
inline void walk(Node* root, Reach reach, NodeSet& seen, std::vector<Node*>* finished = nullptr,
                 const NodeSet* within = nullptr) {
    if (seen.contains(root) || (within && !within->contains(root))) return;
    std::vector<Node*> stack;  // null: the node under it is complete
    stack.reserve(32);
    stack.push_back(root);
    while (!stack.empty()) {
        Node* node = stack.back();
        stack.pop_back();
        if (node == nullptr) {
            finished->push_back(stack.back());
            stack.pop_back();
            continue;
        }
        if (!seen.insert(node)) continue;
        if (finished) {
            stack.push_back(node);
            stack.push_back(nullptr);
        }
        each_below(*node, reach, [&](Node* child) {
            if (!seen.contains(child) && (!within || within->contains(child))) stack.push_back(child);
        });
    }
}

}  // namespace clew::bind
