// Verbs for a graph that lives: drop what it saved, sever it, spare some of it.
#pragma once
#include <span>
#include <vector>

#include "core/autograd/node.h"

namespace clew {

// All nodes that gradients reach from these, leaves' accumulators left out.
std::vector<NodeRef> nodes_below(std::span<const NodeRef> roots);

// Drops what the graph below saved, as a backward does.
void free_graph(const NodeRef& root);

// The node's gradient goes nowhere from now on, in no graph that leads to it; what it saved, and the graph that it
// alone led to, go. Error(NotImplemented) if it has several outputs.
void cut_history(Node& node);

// Where a graph below these was cut, or null.
const Release* find_cut(std::span<const NodeRef> roots);

// For a scope, backward passes leave what these nodes and those below them saved.
class SpareGuard {
public:
    explicit SpareGuard(std::span<const NodeRef> roots);
    ~SpareGuard();
    SpareGuard(const SpareGuard&) = delete;
    SpareGuard& operator=(const SpareGuard&) = delete;

private:
    std::vector<NodeRef> nodes_;  // marked by this guard
};

}  // namespace clew
