#include "bind/graph/graph_walk.h"

#include <string>
#include <vector>

#include "bind/errors.h"
#include "bind/graph/node_sequence.h"
#include "bind/graph/node_set.h"
#include "bind/graph/site.h"
#include "bind/types/dtype.h"
#include "bind/types/node_attributes.h"
#include "bind/types/objects.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

nb::object node_object(Node* node) { return nb::borrow(as_object(node)); }

nb::list graph_nodes(nb::handle given, bool held) {
    const nb::tuple roots = sequence(given);
    NodeSet seen;
    std::vector<Node*> finished;
    // From the last root to the first: the list is reversed in the end.
    for (std::size_t i = roots.size(); i-- > 0;) {
        std::vector<Node*> nodes;
        each_root_of(roots[i], [&](Node* node) { nodes.push_back(node); });
        for (std::size_t j = nodes.size(); j-- > 0;)
            walk(nodes[j], held ? Reach::Held : Reach::Backward, seen, &finished);
    }
    nb::list list;
    for (std::size_t i = finished.size(); i-- > 0;) list.append(node_object(finished[i]));
    return list;
}

// ---------------------------------------------------------------------------------------------------------- holders
// (roots, target: a node, or the number of a storage) -> (hits, slots). `hits` has (i, node) for each root i that leads
// to the target: through `node`, which saved the storage or is the target. `slots` has (i, node, slot's name) for each
// slot that holds the storage; i is the first root that leads to it.
nb::tuple graph_holders(nb::handle given, nb::handle target) {
    Node* wanted = as_node(target.ptr());
    const void* storage = wanted ? nullptr : PyLong_AsVoidPtr(target.ptr());
    if (PyErr_Occurred()) throw PythonError();
    const nb::tuple roots = sequence(given);
    const auto saved_it = [&](const SavedSlot& slot) { return storage && slot.held_storage() == storage; };

    nb::list hits, slots;
    NodeSet seen;
    std::vector<Node*> leads_to;  // for each node of `seen`: the target that it leads to
    for (std::size_t i = 0; i < roots.size(); ++i) {
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
                    slots.append(nb::make_tuple(i, node_object(node), slot_name(saver_of(*node), slot)));
                });
                each_below(*node, Reach::Held, [&](Node* child) {
                    if (found == nullptr) found = leads_to[seen.index_of(child)];
                });
                leads_to[seen.index_of(node)] = found;
            }
            if (hit == nullptr) hit = leads_to[seen.index_of(root)];
        });
        if (hit) hits.append(nb::make_tuple(i, node_object(hit)));
    }
    return nb::make_tuple(hits, slots);
}

// ------------------------------------------------------------------------------------------------ what Python's is
// roots -> [(i, node, what, object)], i being the first root that leads to the node: the hooks, packed values and
// attributes that nodes hold. `what` is "tensor hook", "pre-hook", "hook", "post-accumulate hook", "metadata",
// "attributes", "packed <slot>", "unpack hook" or "ctx".
nb::list graph_python_things(nb::handle given) {
    const nb::tuple roots = sequence(given);
    NodeSet seen;
    std::vector<std::size_t> ends;  // how many nodes each root and those before it lead to
    for (const nb::handle root : roots) {
        each_root_of(root, [&](Node* node) { walk(node, Reach::Held, seen); });
        ends.push_back(seen.size());
    }
    nb::list list;
    std::size_t root = 0;
    for (std::size_t i = 0; i < seen.size(); ++i) {
        while (ends[root] <= i) ++root;
        Node* shown = seen[i];
        const auto add = [&](const std::string& what, void* object) {
            if (object)
                list.append(
                    nb::make_tuple(root, node_object(shown), what.c_str(), nb::borrow(static_cast<PyObject*>(object))));
        };
        const auto add_own = [&](Node& node) {
            if (node.has(Node::kFunction))
                add("ctx", nb::steal(checked(PyObject_GenericGetDict(as_object(&node), nullptr))).ptr());
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
    return list;
}

// Unlike vars(), `.grad` and `.is_leaf` it makes no dict, warns of nothing and brings no view's history up to date.
nb::tuple tensor_holds(nb::handle object) {
    const TensorObject& tensor = tensor_argument(object);
    return nb::make_tuple(tensor.dict ? nb::borrow(static_cast<PyObject*>(tensor.dict)) : nb::none(),
                          nb::steal(wrap(tensor.extras ? tensor.extras->grad : Tensor())),
                          nb::steal(wrap(Tensor(tensor.base.get()))));
}

}  // namespace

void init_graph_walk(nb::module_& m) {
    m.def("graph_nodes", graph_nodes, nb::arg("roots"), nb::arg("held") = false, "Nodes in topological order.");
    m.def("graph_holders", graph_holders, nb::arg("roots"), nb::arg("target"),
          "Which roots lead to a node, or to a storage by its number, and which slots hold it.");
    m.def("graph_python_things", graph_python_things, nb::arg("roots"),
          "[(i, node, what, object)]: the hooks, packed values and attributes that nodes hold.");
    m.def("tensor_holds", tensor_holds, nb::arg("tensor"), "(attributes, gradient, base), each None if there is none.");
    m.def(
        "storage_is_foreign", [](nb::handle tensor) { return tensor_argument(tensor).storage->foreign; },
        nb::arg("tensor"), "Whether the memory is NumPy's or another library's.");
}

}  // namespace clew::bind
