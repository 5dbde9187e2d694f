#include "bind/graph_totals.h"

#include <algorithm>
#include <unordered_set>

#include "bind/node_attributes.h"

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
std::vector<const Storage*> held_by_others(const Counts& counts, const Sequence& owners) {
    std::unordered_set<const TensorObject*> left_out = counts.packed_tensors;
    for (Py_ssize_t i = 0; i < owners.size(); ++i) left_out.insert(as_tensor(owners[i]));
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

void sum_held(Counts& counts, const Sequence* owners) {
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

GraphTotals graph_totals(NodeSet& seen, const Sequence* beside, const Sequence* owners) {
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

PyObject* totals_dict(const GraphTotals& totals) {
    PyObject* result = checked(PyDict_New());
    Handle owner = Handle::steal(result);
    set_item(result, "nodes", totals.nodes);
    set_item(result, "leaves", totals.leaves);
    set_item(result, "node_bytes", totals.node_bytes);
    set_item(result, "held", totals.held);
    set_item(result, "packed", totals.packed);
    set_item(result, "freed", totals.freed);
    set_item(result, "held_bytes", totals.held_bytes);
    set_item(result, "foreign_bytes", totals.foreign_bytes);
    set_item(result, "freed_bytes", totals.freed_bytes);
    set_item(result, "released_bytes", totals.released_bytes);
    set_item(result, "elsewhere_bytes", totals.elsewhere_bytes);
    set_item(result, "graph_only_bytes", totals.graph_only_bytes);
    set_item(result, "staying_bytes", totals.staying_bytes);
    PyObject* shared = checked(PyDict_New());
    set_item(result, "shared", shared);
    for (const auto& [storage, bytes] : totals.shared) {
        const Handle key = Handle::steal(checked(PyLong_FromVoidPtr(const_cast<Storage*>(storage)))),
                     value = Handle::steal(checked(PyLong_FromLongLong(bytes)));
        checked(PyDict_SetItem(shared, static_cast<PyObject*>(key.get()), static_cast<PyObject*>(value.get())));
    }
    PyObject* dropped = checked(PyDict_New());
    set_item(result, "dropped", dropped);
    for (const auto& [identity, bytes] : totals.dropped) {
        const Handle key = Handle::steal(checked(PyLong_FromUnsignedLongLong(identity))),
                     value = Handle::steal(checked(PyLong_FromLongLong(bytes)));
        checked(PyDict_SetItem(dropped, static_cast<PyObject*>(key.get()), static_cast<PyObject*>(value.get())));
    }
    PyObject* releases = checked(PyList_New(0));
    set_item(result, "releases", releases);
    for (const auto& release : totals.releases) append(releases, release_object(release.get()));
    return static_cast<PyObject*>(owner.detach());
}
namespace {

// (roots, beside, owners=None) -> dict. `beside` are further roots whose bytes count, but not their nodes.
PyObject* py_totals(PyObject*, PyObject* args) {
    PyObject *roots_object, *beside_object, *owners_object = Py_None;
    if (!PyArg_ParseTuple(args, "OO|O", &roots_object, &beside_object, &owners_object)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Sequence roots(roots_object), beside(beside_object);
        NodeSet seen;
        walk_all(roots, Reach::Backward, seen);
        if (owners_object == Py_None) return totals_dict(graph_totals(seen, &beside, nullptr));
        const Sequence owners(owners_object);
        return totals_dict(graph_totals(seen, &beside, &owners));
    });
}
// tensor -> the identity of its storage, 0 if nobody has asked for one
PyObject* storage_identity(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        TensorObject* tensor = as_tensor(object);
        if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(object)->tp_name);
        const Storage& storage = *tensor->storage;
        return PyLong_FromUnsignedLongLong(storage.foreign ? 0 : storage.identity);
    });
}

PyMethodDef functions[] = {
    {"graph_totals", py_totals, METH_VARARGS, nullptr},
    {"graph_groups", py_groups, METH_O, nullptr},
    {"storage_identity", storage_identity, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_graph_totals(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
