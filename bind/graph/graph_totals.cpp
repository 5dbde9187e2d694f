#include "bind/graph/graph_totals.h"

#include <algorithm>
#include <unordered_set>

#include "bind/types/node_attributes.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

// The storage of a slot that was freed.
struct FreedStorage {
    std::uint64_t identity;
    std::int64_t bytes;
    Fate fate;
};

struct Counts {
    GraphTotals totals{};
    std::vector<const Storage*> storages{};  // what slots hold
    std::vector<FreedStorage> let_go{};      // storages that had more than one holder
    std::vector<Release*> releases{};
    std::unordered_set<const TensorObject*> packed_tensors{};

    void add(Node& node) {
        ++(node.has(Node::kAccumulate) ? totals.leaves : totals.nodes);
        totals.node_bytes += static_cast<std::int64_t>(clew::node_bytes(node));
        if (node.released && (releases.empty() || releases.back() != node.released)) releases.push_back(node.released);
        each_slot(node, [&](SavedSlot& slot) {
            if (slot.state == SlotState::Held) {
                ++totals.held;
            } else if (slot.state == SlotState::Packed) {
                ++totals.packed;
            } else {
                ++totals.freed;
                free(slot);
            }
        });
        hold(node);
    }
    void free(const SavedSlot& slot) {
        if (slot.fate == Fate::Foreign) return;
        if (slot.freed_identity) {
            let_go.push_back({slot.freed_identity, slot.freed_bytes, slot.fate});
        } else {
            totals.freed_bytes += slot.freed_bytes;
            totals.released_bytes += slot.freed_bytes;
        }
    }
    void hold(Node& node) {
        each_slot(node, [&](SavedSlot& slot) {
            if (const Storage* storage = slot.held_storage())
                storages.push_back(storage);
            else if (slot.state == SlotState::Packed)
                packed_tensors.insert(as_tensor(static_cast<PyObject*>(slot.rest->packed.get())));
        });
    }
};

// Each once. Ten million pointers are sorted in less time than a hash table of them takes.
template <class Pointer>
void make_unique(std::vector<Pointer>& pointers) {
    std::sort(pointers.begin(), pointers.end());
    pointers.erase(std::unique(pointers.begin(), pointers.end()), pointers.end());
}

// Storages that the graphs of living tensors hold, but for those of `owners` and of tensors that only graphs hold; in
// order.
std::vector<const Storage*> held_by_others(const Counts& counts, const nb::tuple& owners) {
    std::unordered_set<const TensorObject*> left_out = counts.packed_tensors;
    for (const nb::handle owner : owners) left_out.insert(as_tensor(owner.ptr()));
    NodeSet others;
    for (TensorObject* tensor = living_tensors; tensor; tensor = tensor->next)
        if (tensor->layout && !left_out.contains(tensor))
            each_root(*tensor, [&](Node* node) { walk(node, Reach::Held, others); });
    std::vector<const Storage*> found;
    for (std::size_t i = 0; i < others.size(); ++i)
        each_slot(*others[i], [&](SavedSlot& slot) {
            if (const Storage* storage = slot.held_storage()) found.push_back(storage);
        });
    make_unique(found);
    return found;
}

void sum_held(Counts& counts, const nb::tuple* owners) {
    if (counts.storages.empty()) return;
    GraphTotals& totals = counts.totals;
    make_unique(counts.storages);
    std::unordered_set<const Storage*> living;
    for (TensorObject* tensor = living_tensors; tensor; tensor = tensor->next)
        if (tensor->layout) living.insert(tensor->storage.get());
    std::vector<const Storage*> others;
    if (owners) others = held_by_others(counts, *owners);
    for (const Storage* storage : counts.storages) {
        const std::int64_t bytes = storage->bytes;
        if (storage->foreign) {
            totals.foreign_bytes += bytes;
            continue;
        }
        totals.held_bytes += bytes;
        if (living.contains(storage)) {
            totals.shared.emplace_back(storage, bytes);
            continue;
        }
        totals.graph_only_bytes += bytes;
        if (std::binary_search(others.begin(), others.end(), storage)) totals.staying_bytes += bytes;
    }
}

void sum_freed(Counts& counts) {
    GraphTotals& totals = counts.totals;
    auto& let_go = counts.let_go;
    if (let_go.empty()) return;
    std::vector<std::uint64_t> held;
    for (const Storage* storage : counts.storages)
        if (!storage->foreign && storage->identity) held.push_back(storage->identity);
    std::sort(held.begin(), held.end());
    std::sort(let_go.begin(), let_go.end(), [](const FreedStorage& a, const FreedStorage& b) {
        return a.identity != b.identity ? a.identity < b.identity : a.fate < b.fate;
    });
    std::uint64_t last = 0;
    for (const FreedStorage& one : let_go) {
        if (one.identity == last || std::binary_search(held.begin(), held.end(), one.identity)) continue;
        last = one.identity;
        totals.freed_bytes += one.bytes;
        if (one.fate == Fate::Released) {
            totals.released_bytes += one.bytes;
            continue;
        }
        totals.dropped.emplace_back(one.identity, one.bytes);
        if (one.fate == Fate::Elsewhere) totals.elsewhere_bytes += one.bytes;
    }
}

}  // namespace

GraphTotals graph_totals(NodeSet& seen, const nb::tuple* beside, const nb::tuple* owners) {
    Counts counts;
    const std::size_t in_backward = seen.size();
    counts.let_go.reserve(16);
    for (std::size_t i = 0; i < in_backward; ++i) counts.add(*seen[i]);
    // What backward does not go through is held all the same.
    for (std::size_t i = 0; i < in_backward; ++i)
        each_below(*seen[i], Reach::Held, [&](Node* node) { walk(node, Reach::Held, seen); });
    if (beside) walk_all(*beside, Reach::Held, seen);
    for (std::size_t i = in_backward; i < seen.size(); ++i) counts.hold(*seen[i]);
    sum_held(counts, owners);
    sum_freed(counts);
    make_unique(counts.releases);
    for (Release* release : counts.releases) counts.totals.releases.emplace_back(release);
    return std::move(counts.totals);
}

nb::dict totals_dict(const GraphTotals& totals) {
    nb::dict result, shared, dropped;
    nb::list releases;
    result["nodes"] = totals.nodes;
    result["leaves"] = totals.leaves;
    result["node_bytes"] = totals.node_bytes;
    result["held"] = totals.held;
    result["packed"] = totals.packed;
    result["freed"] = totals.freed;
    result["held_bytes"] = totals.held_bytes;
    result["foreign_bytes"] = totals.foreign_bytes;
    result["freed_bytes"] = totals.freed_bytes;
    result["released_bytes"] = totals.released_bytes;
    result["elsewhere_bytes"] = totals.elsewhere_bytes;
    result["graph_only_bytes"] = totals.graph_only_bytes;
    result["staying_bytes"] = totals.staying_bytes;
    for (const auto& [storage, bytes] : totals.shared)
        shared[nb::int_(reinterpret_cast<std::uintptr_t>(storage))] = bytes;
    for (const auto& [identity, bytes] : totals.dropped) dropped[nb::int_(identity)] = bytes;
    for (const auto& release : totals.releases) releases.append(nb::steal(release_object(release.get())));
    result["shared"] = shared;
    result["dropped"] = dropped;
    result["releases"] = releases;
    return result;
}

void init_graph_totals(nb::module_& m) {
    m.def(
        "graph_totals",
        [](nb::handle roots, nb::handle beside, nb::handle owners) {
            NodeSet seen;
            walk_all(sequence(roots), Reach::Backward, seen);
            const nb::tuple more = sequence(beside);
            if (owners.is_none()) return totals_dict(graph_totals(seen, &more, nullptr));
            const nb::tuple of = sequence(owners);
            return totals_dict(graph_totals(seen, &more, &of));
        },
        nb::arg("roots"), nb::arg("beside"), nb::arg("owners") = nb::none(),
        "Sums over the graphs; `beside` are further roots whose bytes count, but not their nodes.");
    m.def(
        "graph_groups",
        [](nb::handle roots) {
            NodeSet seen;
            walk_all(sequence(roots), Reach::Backward, seen);
            return groups_list(graph_groups(seen));
        },
        nb::arg("roots"),
        "[(name, op, site, shape, dtype, count, slots, saved bytes)], in the order in which the first was met.");
    m.def(
        "storage_identity",
        [](nb::handle tensor) {
            const Storage& storage = *tensor_argument(tensor).storage;
            return storage.foreign ? 0 : storage.identity;
        },
        nb::arg("tensor"), "The identity of its storage, 0 if nobody has asked for one.");
}

}  // namespace clew::bind
