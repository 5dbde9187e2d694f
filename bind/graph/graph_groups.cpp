// Nodes that look alike, counted together.
#include <unordered_map>
#include <unordered_set>

#include "bind/graph/graph_totals.h"
#include "bind/graph/site.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

struct Look {
    std::size_t operator()(Node* node) const {
        std::size_t hash = reinterpret_cast<std::uintptr_t>(node->kind);
        const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15u; };
        mix(reinterpret_cast<std::uintptr_t>(node->code));
        mix(static_cast<std::size_t>(node->instruction));
        if (const Layout* layout = layout_of(node))
            for (const std::int64_t size : layout->shape()) mix(static_cast<std::size_t>(size));
        return hash;
    }
    bool operator()(Node* a, Node* b) const {
        if (a->kind != b->kind || a->code != b->code || a->instruction != b->instruction) return false;
        const Layout *first = layout_of(a), *second = layout_of(b);
        if (!first || !second) return first == second;
        return same_sizes(first->shape(), second->shape()) && a->output_dtypes()[0] == b->output_dtypes()[0];
    }
    static Layout* layout_of(Node* node) { return node->output_count ? node->outputs()[0].layout : nullptr; }
};

// What a slot's storage is told by: its identity if it has one (then it is the same before and after it was freed).
struct StorageKey {
    std::uint64_t number;
    bool is_identity;
    bool operator==(const StorageKey&) const = default;
};
struct HashKey {
    std::size_t operator()(const StorageKey& key) const { return key.number * 0x9e3779b97f4a7c15u >> 8; }
};

// Bytes of the storage, once for each: 0 if `seen` has it.
std::int64_t new_bytes(const SavedSlot& slot, std::unordered_set<StorageKey, HashKey>& seen) {
    if (const Storage* storage = slot.held_storage()) {
        const bool known = !storage->foreign && storage->identity;
        const StorageKey key{known ? storage->identity : reinterpret_cast<std::uintptr_t>(storage), known};
        return seen.insert(key).second ? storage->bytes : 0;
    }
    if (slot.state != SlotState::Freed) return 0;
    if (slot.freed_identity == 0) return slot.freed_bytes;
    return seen.insert({slot.freed_identity, true}).second ? slot.freed_bytes : 0;
}

}  // namespace

std::vector<NodeGroup> graph_groups(const NodeSet& seen) {
    std::unordered_map<Node*, std::size_t, Look, Look> numbers;
    std::unordered_set<StorageKey, HashKey> storages;
    std::vector<NodeGroup> groups;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        Node& node = *seen[i];
        const auto [place, is_new] = numbers.try_emplace(&node, groups.size());
        if (is_new)
            groups.push_back({.kind = node.kind,
                              .code = Handle::borrow(node.code),
                              .instruction = node.instruction,
                              .layout = LayoutRef(Look::layout_of(&node)),
                              .dtype = node.output_count ? node.output_dtypes()[0] : DType{}});
        NodeGroup& group = groups[place->second];
        ++group.count;
        each_slot(node, [&](SavedSlot& slot) {
            ++group.slots;
            group.saved_bytes += new_bytes(slot, storages);
        });
    }
    return groups;
}

nb::list groups_list(const std::vector<NodeGroup>& groups) {
    nb::list list;
    for (const NodeGroup& group : groups) {
        const Layout* layout = group.layout.get();
        list.append(nb::make_tuple(
            group.kind->node_name, group.kind->name, nb::steal(site_object({group.code.get(), group.instruction})),
            layout ? nb::steal(plain_tuple(layout->shape())) : nb::none(),
            layout ? nb::steal(dtype_object(group.dtype)) : nb::none(), group.count, group.slots, group.saved_bytes));
    }
    return list;
}

}  // namespace clew::bind
