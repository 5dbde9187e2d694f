#include "core/autograd/prune.h"

#include <unordered_set>

#include "core/autograd/hooks.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"

namespace clew {

std::vector<NodeRef> nodes_below(std::span<const NodeRef> roots) {
    std::vector<NodeRef> found;
    std::unordered_set<const Node*> seen;
    const auto visit = [&](Node* node) {
        if (node && !node->has(Node::kAccumulate) && seen.insert(node).second) found.emplace_back(node);
    };
    for (const NodeRef& root : roots) visit(root.get());
    for (std::size_t i = 0; i < found.size(); ++i) {
        Node& node = *found[i];
        for (std::uint32_t edge = 0; edge < node.edge_count; ++edge) visit(node.edge_nodes()[edge]);
    }
    return found;
}

void free_graph(const NodeRef& root) {
    const Ref<Release> record = Release::make("clew.graph.free");
    record->youngest = root->sequence;
    for (const NodeRef& node : nodes_below(std::span(&root, 1))) release_saved(*node, record);
}

void cut_history(Node& node) {
    if (node.output_count != 1)
        fail(ErrorKind::NotImplemented,
             "cut: expected the history of one tensor, but %s made %d at once; take clone() of it and cut that",
             node.kind->node_name, static_cast<int>(node.output_count));
    const Ref<Release> record = Release::make("clew.graph.cut");
    record->youngest = node.sequence;
    release_saved(node, record);
    node.set(Node::kCut);
    if (node.released == nullptr) {
        retain(record.get());
        node.released = record.get();
    }
    std::vector<NodeRef> below;  // they go when the node is whole again
    const auto sever = [&](Node& from) {
        for (std::uint32_t i = 0; i < from.edge_count; ++i)
            if (Node* const child = std::exchange(from.edge_nodes()[i], nullptr))
                below.push_back(NodeRef::steal(child));
    };
    sever(node);
    if (node.extras && node.extras->inner) sever(*node.extras->inner);
}

const Release* find_cut(std::span<const NodeRef> roots) {
    for (const NodeRef& node : nodes_below(roots))
        if (node->has(Node::kCut)) return node->released;
    return nullptr;
}

SpareGuard::SpareGuard(std::span<const NodeRef> roots) {
    if (roots.empty()) return;
    for (NodeRef& node : nodes_below(roots)) {
        if (node->has(Node::kSpared)) continue;
        node->set(Node::kSpared);
        nodes_.push_back(std::move(node));
    }
}

SpareGuard::~SpareGuard() {
    for (const NodeRef& node : nodes_) node->clear(Node::kSpared);
}

}  // namespace clew
