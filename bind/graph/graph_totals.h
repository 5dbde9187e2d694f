// Sums over a graph: how many nodes, what they hold and what they have let go, and the nodes that look alike.
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bind/graph/node_sequence.h"
#include "bind/graph/node_set.h"

namespace clew::bind {

// Note [Accounting of saved bytes]: each storage counts once, and what a slot still holds has not been let go.
struct GraphTotals {
    std::int64_t nodes = 0, leaves = 0, node_bytes = 0;
    std::int64_t held = 0, packed = 0, freed = 0;  // slots
    std::int64_t held_bytes = 0, foreign_bytes = 0;
    std::int64_t graph_only_bytes = 0, staying_bytes = 0;                   // of held_bytes
    std::int64_t freed_bytes = 0, released_bytes = 0, elsewhere_bytes = 0;  // the others are parts of the first
    std::vector<std::pair<const Storage*, std::int64_t>> shared{};          // held, and a living tensor has it too
    std::vector<std::pair<std::uint64_t, std::int64_t>> dropped{};  // freed, but not to the allocator: by identity
    std::vector<Ref<Release>> releases{};
};

// `seen` has the nodes that backward goes through, and gets those that the graph holds besides, which `beside` may add
// to. Without owners nothing is said of what would go with them.
GraphTotals graph_totals(NodeSet& seen, const nanobind::tuple* beside, const nanobind::tuple* owners);
nanobind::dict totals_dict(const GraphTotals& totals);

// graph_groups.cpp. Nodes that look alike: same operation, same line, same shape.
struct NodeGroup {
    const NodeKind* kind;
    Handle code;
    std::int32_t instruction;
    LayoutRef layout;  // of the first output
    DType dtype;
    std::int64_t count = 0, slots = 0, saved_bytes = 0;
};
std::vector<NodeGroup> graph_groups(const NodeSet& seen);
nanobind::list groups_list(const std::vector<NodeGroup>& groups);

void init_graph_totals(nanobind::module_& m);

}  // namespace clew::bind
