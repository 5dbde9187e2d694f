#include "bind/graph_walk.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bind/dtype.h"
#include "bind/errors.h"
#include "bind/node_attributes.h"
#include "bind/node_set.h"
#include "bind/objects.h"
#include "bind/site.h"
#include "core/base/error.h"

namespace clew::bind {
namespace {

// The nodes that one element of a sequence of tensors and nodes stands for.
template <class Visit>
void each_root_of(PyObject* object, const Visit& visit) {
    if (Node* node = as_node(object))
        visit(node);
    else if (TensorObject* tensor = as_tensor(object))
        each_root(*tensor, visit);
    else
        fail(ErrorKind::Type, "graph walk: expected tensors and nodes, got %s", Py_TYPE(object)->tp_name);
}

// A sequence whose elements stay where they are while it is read.
class Sequence {
public:
    explicit Sequence(PyObject* object) : tuple_(Handle::steal(checked(PySequence_Tuple(object)))) {}
    Py_ssize_t size() const { return PyTuple_GET_SIZE(get()); }
    PyObject* operator[](Py_ssize_t i) const { return PyTuple_GET_ITEM(get(), i); }

private:
    PyObject* get() const { return static_cast<PyObject*>(tuple_.get()); }
    Handle tuple_;
};

NodeSet walk_all(const Sequence& roots, Reach reach) {
    NodeSet seen;
    for (Py_ssize_t i = 0; i < roots.size(); ++i) each_root_of(roots[i], [&](Node* node) { walk(node, reach, seen); });
    return seen;
}

std::int64_t view_bytes(const SavedSlot& slot) {
    return slot.layout->numel * static_cast<std::int64_t>(item_size(slot.dtype));
}

void set_item(PyObject* dict, const char* key, PyObject* value) {
    const Handle held = Handle::steal(checked(value));
    checked(PyDict_SetItemString(dict, key, value));
}
void set_item(PyObject* dict, const char* key, std::int64_t value) { set_item(dict, key, PyLong_FromLongLong(value)); }
void append(PyObject* list, PyObject* item) {
    const Handle held = Handle::steal(checked(item));
    checked(PyList_Append(list, item));
}
PyObject* node_object(Node* node) { return Py_NewRef(as_object(node)); }

// (roots, held=False) -> nodes in topological order
PyObject* graph_nodes(PyObject*, PyObject* args) {
    PyObject* roots_object;
    int held = 0;
    if (!PyArg_ParseTuple(args, "O|p", &roots_object, &held)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Sequence roots(roots_object);
        NodeSet seen;
        std::vector<Node*> finished;
        // From the last root to the first: the list is turned round in the end.
        for (Py_ssize_t i = roots.size(); i-- > 0;) {
            std::vector<Node*> nodes;
            each_root_of(roots[i], [&](Node* node) { nodes.push_back(node); });
            for (std::size_t j = nodes.size(); j-- > 0;)
                walk(nodes[j], held ? Reach::Held : Reach::Backward, seen, &finished);
        }
        PyObject* list = checked(PyList_New(static_cast<Py_ssize_t>(finished.size())));
        for (std::size_t i = 0; i < finished.size(); ++i)
            PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), node_object(finished[finished.size() - 1 - i]));
        return list;
    });
}

// ---------------------------------------------------------------------------------------------------------- totals
struct Counts {
    std::int64_t nodes = 0, leaves = 0, node_bytes = 0;
    std::int64_t held = 0, packed = 0, freed = 0, freed_bytes = 0;
    std::vector<const Storage*> storages{};  // what slots hold
    std::unordered_set<const Release*> releases{};
    std::unordered_set<const TensorObject*> packed_tensors{};

    void add(Node& node) {
        ++(node.has(Node::kAccumulate) ? leaves : nodes);
        node_bytes += static_cast<std::int64_t>(clew::node_bytes(node));
        if (node.released) releases.insert(node.released);
        each_slot(node, [&](SavedSlot& slot) {
            if (slot.state == SlotState::Held) {
                ++held;
            } else if (slot.state == SlotState::Packed) {
                ++packed;
            } else {
                ++freed;
                freed_bytes += view_bytes(slot);
            }
        });
        hold(node);
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
void make_unique(std::vector<const Storage*>& storages) {
    std::sort(storages.begin(), storages.end());
    storages.erase(std::unique(storages.begin(), storages.end()), storages.end());
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

// (roots, beside, owners=None) -> dict. `beside` are further roots whose bytes count, but not their nodes. Without
// owners nothing is said of what would go with them.
PyObject* graph_totals(PyObject*, PyObject* args) {
    PyObject *roots_object, *beside, *owners_object = Py_None;
    if (!PyArg_ParseTuple(args, "OO|O", &roots_object, &beside, &owners_object)) return nullptr;
    return guarded([&]() -> PyObject* {
        const Sequence roots(roots_object);
        NodeSet seen = walk_all(roots, Reach::Backward);
        Counts counts;
        const std::size_t in_backward = seen.size();
        for (std::size_t i = 0; i < in_backward; ++i) counts.add(*seen[i]);
        // What backward does not go through is held all the same.
        for (std::size_t i = 0; i < in_backward; ++i)
            each_below(*seen[i], Reach::Held, [&](Node* node) { walk(node, Reach::Held, seen); });
        const Sequence more(beside);
        for (Py_ssize_t i = 0; i < more.size(); ++i)
            each_root_of(more[i], [&](Node* node) { walk(node, Reach::Held, seen); });
        for (std::size_t i = in_backward; i < seen.size(); ++i) counts.hold(*seen[i]);

        make_unique(counts.storages);
        std::unordered_set<const Storage*> living;
        for (TensorObject* tensor = living_tensors; tensor; tensor = tensor->next)
            if (tensor->layout) living.insert(tensor->storage.get());
        std::vector<const Storage*> others;
        if (owners_object != Py_None) others = held_by_others(counts, Sequence(owners_object));

        std::int64_t foreign = 0, held_bytes = 0, graph_only = 0, staying = 0;
        PyObject* shared = checked(PyDict_New());
        const Handle shared_handle = Handle::steal(shared);
        for (const Storage* storage : counts.storages) {
            const std::int64_t bytes = storage->bytes;
            if (storage->foreign) {
                foreign += bytes;
                continue;
            }
            held_bytes += bytes;
            if (living.contains(storage)) {
                const Handle key = Handle::steal(checked(PyLong_FromVoidPtr(const_cast<Storage*>(storage)))),
                             value = Handle::steal(checked(PyLong_FromLongLong(bytes)));
                checked(PyDict_SetItem(shared, static_cast<PyObject*>(key.get()), static_cast<PyObject*>(value.get())));
                continue;
            }
            graph_only += bytes;
            if (std::binary_search(others.begin(), others.end(), storage)) staying += bytes;
        }

        PyObject* result = checked(PyDict_New());
        const Handle result_handle = Handle::steal(result);
        set_item(result, "nodes", counts.nodes);
        set_item(result, "leaves", counts.leaves);
        set_item(result, "node_bytes", counts.node_bytes);
        set_item(result, "held", counts.held);
        set_item(result, "packed", counts.packed);
        set_item(result, "freed", counts.freed);
        set_item(result, "held_bytes", held_bytes);
        set_item(result, "foreign_bytes", foreign);
        set_item(result, "freed_bytes", counts.freed_bytes);
        set_item(result, "graph_only_bytes", graph_only);
        set_item(result, "staying_bytes", staying);
        set_item(result, "shared", Py_NewRef(shared));
        PyObject* releases = checked(PyList_New(0));
        set_item(result, "releases", releases);
        for (const Release* release : counts.releases) append(releases, release_object(release));
        return Py_NewRef(result);
    });
}

// ---------------------------------------------------------------------------------------------------------- groups
// Nodes that look alike: same operation, same line, same shape.
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
    static const Layout* layout_of(Node* node) { return node->output_count ? node->outputs()[0].layout : nullptr; }
};
struct Group {
    std::int64_t count = 0, slots = 0, saved_bytes = 0;
};

// roots -> [(name, op, site, shape, dtype, count, slots, saved bytes)], in the order in which the first was met
PyObject* graph_groups(PyObject*, PyObject* roots_object) {
    return guarded([&]() -> PyObject* {
        const NodeSet seen = walk_all(Sequence(roots_object), Reach::Backward);
        std::unordered_map<Node*, Group, Look, Look> groups;
        std::vector<Node*> order;
        for (std::size_t i = 0; i < seen.size(); ++i) {
            const auto [place, is_new] = groups.try_emplace(seen[i]);
            if (is_new) order.push_back(seen[i]);
            Group& group = place->second;
            ++group.count;
            each_slot(*seen[i], [&](SavedSlot& slot) {
                ++group.slots;
                group.saved_bytes += view_bytes(slot);
            });
        }
        PyObject* list = checked(PyList_New(0));
        const Handle held = Handle::steal(list);
        for (Node* node : order) {
            const Group& group = groups.at(node);
            const Layout* layout = Look::layout_of(node);
            append(list, Py_BuildValue("NsNNNLLL", node_display_name(node), node->kind->name,
                                       site_object({node->code, node->instruction}),
                                       layout ? plain_tuple(layout->shape()) : Py_NewRef(Py_None),
                                       layout ? dtype_object(node->output_dtypes()[0]) : Py_NewRef(Py_None),
                                       static_cast<long long>(group.count), static_cast<long long>(group.slots),
                                       static_cast<long long>(group.saved_bytes)));
        }
        return Py_NewRef(list);
    });
}

// ---------------------------------------------------------------------------------------------------------- holders
// (roots, target: a node, or the number of a storage) -> (hits, slots). `hits` has (i, node) for each root i that leads
// to the target: through `node`, which saved the storage or is the target. `slots` has (i, node, slot's name) for each
// slot that holds the storage; i is the first root that leads to it.
PyObject* graph_holders(PyObject*, PyObject* args) {
    PyObject *roots_object, *target;
    if (!PyArg_ParseTuple(args, "OO", &roots_object, &target)) return nullptr;
    return guarded([&]() -> PyObject* {
        Node* wanted = as_node(target);
        const void* storage = wanted ? nullptr : PyLong_AsVoidPtr(target);
        if (PyErr_Occurred()) throw PythonError();
        const Sequence roots(roots_object);
        const auto saved_it = [&](const SavedSlot& slot) { return storage && slot.held_storage() == storage; };

        PyObject *hits = checked(PyList_New(0)), *slots = checked(PyList_New(0));
        const Handle held_hits = Handle::steal(hits), held_slots = Handle::steal(slots);
        NodeSet seen;
        std::vector<Node*> leads_to;  // for each node of `seen`: the target that it leads to
        for (Py_ssize_t i = 0; i < roots.size(); ++i) {
            Node* hit = nullptr;
            each_root_of(roots[i], [&](Node* root) {
                std::vector<Node*> finished;
                walk(root, Reach::Held, seen, &finished);
                leads_to.resize(seen.size());
                for (Node* node : finished) {  // children first
                    Node* found = node == wanted ? node : nullptr;
                    each_slot(*node, [&](SavedSlot& slot) {
                        if (!saved_it(slot)) return;
                        found = node;
                        append(slots, Py_BuildValue("nNs", i, node_object(node), slot_name(saver_of(*node), slot)));
                    });
                    each_below(*node, Reach::Held, [&](Node* child) {
                        if (found == nullptr) found = leads_to[seen.index_of(child)];
                    });
                    leads_to[seen.index_of(node)] = found;
                }
                if (hit == nullptr) hit = leads_to[seen.index_of(root)];
            });
            if (hit) append(hits, Py_BuildValue("nN", i, node_object(hit)));
        }
        return Py_BuildValue("OO", hits, slots);
    });
}

// ------------------------------------------------------------------------------------------------ what Python's is
// roots -> [(i, node, what, object)], i being the first root that leads to the node: the hooks, packed values and
// attributes that nodes hold. `what` is "tensor hook", "pre-hook", "hook", "post-accumulate hook", "metadata",
// "attributes", "packed <slot>", "unpack hook" or "ctx".
PyObject* graph_python_things(PyObject*, PyObject* roots_object) {
    return guarded([&]() -> PyObject* {
        const Sequence roots(roots_object);
        NodeSet seen;
        std::vector<std::size_t> ends;  // how many nodes each root and those before it lead to
        for (Py_ssize_t i = 0; i < roots.size(); ++i) {
            each_root_of(roots[i], [&](Node* node) { walk(node, Reach::Held, seen); });
            ends.push_back(seen.size());
        }
        PyObject* list = checked(PyList_New(0));
        const Handle held = Handle::steal(list);
        std::size_t root = 0;
        for (std::size_t i = 0; i < seen.size(); ++i) {
            while (ends[root] <= i) ++root;
            Node* shown = seen[i];
            const auto add = [&](const std::string& what, void* object) {
                if (object)
                    append(list, Py_BuildValue("nOsO", static_cast<Py_ssize_t>(root), as_object(shown), what.c_str(),
                                               object));
            };
            const auto add_own = [&](Node& node) {
                if (Py_TYPE(as_object(&node)) != &node_type) {
                    const Handle dict = Handle::steal(checked(PyObject_GenericGetDict(as_object(&node), nullptr)));
                    add("ctx", dict.get());
                }
                for (int j = 0; j < node.slot_count; ++j) {
                    const SavedSlot& slot = node.slots()[j];
                    if (!slot.has_rest) continue;
                    add(std::string("packed ") + slot_name(node, slot), slot.rest->packed.get());
                    add("unpack hook", slot.rest->unpack.get());
                }
                NodeExtras* extras = node.extras;
                if (extras == nullptr) return;
                for (const Hook& hook : extras->tensor_hooks) add("tensor hook", hook.callable.get());
                for (const Hook& hook : extras->pre_hooks) add("pre-hook", hook.callable.get());
                for (const Hook& hook : extras->post_hooks) add("hook", hook.callable.get());
                for (const Hook& hook : extras->accumulate_hooks) add("post-accumulate hook", hook.callable.get());
                add("metadata", extras->metadata.get());
                add("attributes", extras->attributes.get());
            };
            add_own(*shown);
            Node& saver = saver_of(*shown);
            if (&saver != shown) add_own(saver);
        }
        return Py_NewRef(list);
    });
}

// tensor -> (attributes, gradient, base), each None if there is none. Unlike vars(), `.grad` and `.is_leaf` it makes no
// dict, warns of nothing and brings no view's history up to date.
PyObject* tensor_holds(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        TensorObject* tensor = as_tensor(object);
        if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(object)->tp_name);
        PyObject* dict = tensor->dict ? static_cast<PyObject*>(tensor->dict) : Py_None;
        return Py_BuildValue("ONN", dict, wrap(tensor->extras ? tensor->extras->grad : Tensor()),
                             wrap(Tensor(tensor->base.get())));
    });
}

// Whether the memory is NumPy's or another library's.
PyObject* storage_is_foreign(PyObject*, PyObject* object) {
    return guarded([&]() -> PyObject* {
        TensorObject* tensor = as_tensor(object);
        if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(object)->tp_name);
        return PyBool_FromLong(tensor->storage->foreign);
    });
}

PyMethodDef functions[] = {
    {"graph_nodes", graph_nodes, METH_VARARGS, nullptr},
    {"graph_totals", graph_totals, METH_VARARGS, nullptr},
    {"graph_groups", graph_groups, METH_O, nullptr},
    {"graph_holders", graph_holders, METH_VARARGS, nullptr},
    {"graph_python_things", graph_python_things, METH_O, nullptr},
    {"tensor_holds", tensor_holds, METH_O, nullptr},
    {"storage_is_foreign", storage_is_foreign, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

void init_graph_walk(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace clew::bind
