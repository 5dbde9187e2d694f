// A live graph as plain Python data, and back: what clew.graph.freeze writes and thaw reads.
#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include <nanobind/stl/string.h>

#include "bind/errors.h"
#include "bind/keep/program_file.h"
#include "bind/types/objects.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/run.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/budget/value.h"
#include "core/program/files/check.h"
#include "core/program/files/names.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr std::size_t kMostEdges = 0xffff, kMostSlots = 64;

Tensor tensor_of(nb::handle object) {
    TensorObject* const tensor = as_tensor(object.ptr());
    if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(object.ptr())->tp_name);
    return Tensor(tensor);
}

// A tensor that looks at what a slot holds, or at a copy of that.
Tensor value_of(const SavedSlot& slot, StorageRef storage) {
    const Tensor value = Tensor::steal(new_tensor_object());
    value->storage = std::move(storage);
    value->layout = LayoutRef(slot.layout);
    value->offset = slot.offset;
    value->dtype = slot.dtype;
    value->set(TensorObject::kWrappedNumber, slot.wrapped_number);
    if (slot.has_rest && slot.rest->counter) {
        extras_of(*value.get()).counter = slot.rest->counter;
        value->set(TensorObject::kAliasCounter, true);
    }
    return value;
}

class GraphWriter {
public:
    explicit GraphWriter(Node* root) {
        std::vector<Node*> stack{root};
        std::unordered_set<Node*> seen;
        while (!stack.empty()) {
            Node* const node = stack.back();
            stack.pop_back();
            if (node->has(Node::kAccumulate) || !seen.insert(node).second) continue;
            nodes_.push_back(node);
            if (node->extras && node->extras->inner) stack.push_back(node->extras->inner.get());
            for (std::uint32_t i = 0; i < node->edge_count; ++i) {
                Node* const child = node->edge_nodes()[i];
                if (child == nullptr) continue;
                if (is_of_another_run(*node, *child)) fail_age("freeze", *node, *child);
                stack.push_back(child);
            }
        }
        std::ranges::sort(nodes_, {}, [](const Node* node) { return std::uint64_t{node->sequence}; });
        for (std::size_t i = 0; i < nodes_.size(); ++i) numbers_[nodes_[i]] = static_cast<int>(i);
    }
    nb::list go() {
        nb::list result;
        for (Node* const node : nodes_) result.append(one(*node));
        return result;
    }

private:
    nb::dict one(Node& node) {
        check_plain("freeze", node);
        if (node.has(Node::kCut)) refuse_node("freeze", node, "was cut (clew.graph.cut), which a file can't say yet");
        nb::dict data;
        nb::list edges, outputs, slots;
        for (int i = 0; i < static_cast<int>(node.edge_count); ++i) edges.append(edge(node.edge(i)));
        for (int i = 0; i < node.output_count; ++i) {
            const Layout* const layout = node.outputs()[i].layout;
            outputs.append(layout ? geometry_to_python(*layout, 0, node.output_dtypes()[i]) : nb::none());
        }
        for (int i = 0; i < node.slot_count; ++i) slots.append(slot(node, node.slots()[i]));
        data["kind"] = kind_name("freeze", node);
        data["attributes"] = node.kind->kept_bytes ? attributes_to_python(static_cast<const OpDef&>(*node.kind),
                                                                          static_cast<const char*>(node.attributes()))
                                                   : nb::list();
        data["edges"] = edges;
        data["outputs"] = outputs;
        data["slots"] = slots;
        Node* const inner = node.extras ? node.extras->inner.get() : nullptr;
        data["inner"] = inner ? numbers_.at(inner) : -1;
        data["site"] = site_to_python(Handle::borrow(node.code), node.instruction);
        return data;
    }
    // (node, which of its outputs), (leaf), or None.
    nb::object edge(Edge to) const {
        if (!to) return nb::none();
        if (!to.node->has(Node::kAccumulate)) return nb::make_tuple(numbers_.at(to.node), to.index);
        TensorObject* const leaf = to.node->outputs()[0].tensor;
        if (leaf == nullptr || !leaf->has(TensorObject::kRequiresGrad)) return nb::none();  // it gets no gradient
        check_plain("freeze", *to.node);
        return nb::make_tuple(nb::steal(wrap(Tensor(leaf))));
    }
    // (source, index, tensor), or where CopySlices writes.
    nb::object slot(const Node& node, const SavedSlot& slot) {
        if (slot.state == SlotState::Packed)
            refuse_node("freeze", node, "saved a value through saved_tensors_hooks, which are Python");
        if (slot.state == SlotState::Freed)
            fail(ErrorKind::Runtime,
                 "freeze: expected a graph that is whole, but %s has dropped what it saved; freeze it before backward, "
                 "or specify retain_graph=True",
                 node.kind->node_name);
        if (slot.state == SlotState::Empty)
            return slot.layout ? where(geometry_to_python(*slot.layout, slot.offset, slot.dtype)) : nb::none();
        if (slot.source == SlotSource::Other) refuse_node("freeze", node, "saved a value with a history of its own");
        if (current_version(slot) != slot.version)
            fail(ErrorKind::Runtime,
                 "freeze: expected saved values to be as they were, but what %s has saved was written since; write out "
                 "of place",
                 node.kind->node_name);
        return nb::make_tuple(static_cast<int>(slot.source), static_cast<int>(slot.index),
                              nb::steal(wrap(value_of(slot, storage_of(slot)))));
    }
    // What a budget may drop is copied, so that it can go again.
    StorageRef storage_of(const SavedSlot& slot) {
        auto* const storage = const_cast<Storage*>(slot.held_storage());
        if (!storage->watched) return StorageRef(storage);
        StorageRef& copy = copies_[storage];
        if (copy) return copy;
        storage_watch.read(*storage);
        return copy = budget::copy_of(*storage);
    }
    static nb::object where(nb::object geometry) {
        nb::dict place;
        place["where"] = std::move(geometry);
        return place;
    }

    std::vector<Node*> nodes_;
    std::unordered_map<const Node*, int> numbers_;
    std::unordered_map<const Storage*, StorageRef> copies_;
};

class GraphReader {
public:
    void add(nb::handle data) {
        const auto name = nb::cast<std::string>(data["kind"]);
        const NodeKind& kind = kind_of_name(name);
        const auto edges = nb::cast<nb::list>(data["edges"]), outputs = nb::cast<nb::list>(data["outputs"]),
                   slots = nb::cast<nb::list>(data["slots"]);
        if (nb::len(edges) > kMostEdges || nb::len(outputs) > kMostEdges || nb::len(slots) > kMostSlots)
            fail(ErrorKind::Value, "expected a smaller node");
        const NodeRef node =
            new_node(kind, {static_cast<std::uint32_t>(nb::len(edges)), static_cast<std::uint16_t>(nb::len(slots)),
                            static_cast<std::uint16_t>(nb::len(outputs))});
        if (kind.kept_bytes) {
            const std::vector<char> bytes = attributes_from_python(static_cast<const OpDef&>(kind), data["attributes"]);
            std::memcpy(node->attributes(), bytes.data(), kind.kept_bytes);
        }
        Handle code = site_from_python(data["site"]);
        if (node->code) runtime.release(node->code);
        node->code = code.detach();
        node->instruction = -1;
        for (std::size_t i = 0; i < nb::len(edges); ++i) set_edge(*node, static_cast<int>(i), edge(edges[i]));
        for (std::size_t i = 0; i < nb::len(outputs); ++i) {
            if (outputs[i].is_none()) continue;
            const Geometry place = geometry_from_python(outputs[i]);
            set_output_shape(*node, static_cast<int>(i), place.layout, place.dtype);
        }
        for (std::size_t i = 0; i < nb::len(slots); ++i) fill(*node, node->slots()[i], slots[i]);
        wrap_inner(node, data["inner"]);
        made_.push_back(node);
    }
    // Checked once all is known, as what CopySlices wraps comes before it.
    void check() const {
        for (const NodeRef& node : made_) check_lone_node(*node);
    }
    void attach(const Tensor& result, int node, int output) const {
        const NodeRef& made = made_[static_cast<std::size_t>(node)];
        const Layout* const layout = made->outputs()[output].layout;
        if (result->grad_fn || result->has(TensorObject::kRequiresGrad) || layout == nullptr ||
            made->has(Node::kWrapped) || !same_shape(*layout, result.layout()) ||
            made->output_dtypes()[output] != result.dtype() || !is_inexact(result.dtype()))
            fail(ErrorKind::Value, "expected a result of the graph");
        set_history(result, made, output);
    }
    std::size_t size() const { return made_.size(); }
    int outputs_of(int node) const { return made_[static_cast<std::size_t>(node)]->output_count; }

private:
    Edge edge(nb::handle data) const {
        if (data.is_none()) return {};
        if (nb::len(data) == 2) {
            Node* const node = made_[static_cast<std::size_t>(index_from_python(data[0], made_.size()))].get();
            return {node, static_cast<std::uint32_t>(index_from_python(data[1], node->output_count))};
        }
        const Tensor leaf = tensor_of(data[0]);
        if (leaf->grad_fn || !leaf->has(TensorObject::kRequiresGrad))
            fail(ErrorKind::Value, "expected an edge to a leaf that requires grad");
        return {accumulator_of(leaf), 0};
    }
    static void fill(Node& node, SavedSlot& slot, nb::handle data) {
        if (data.is_none()) return;
        if (PyDict_CheckExact(data.ptr())) {
            Geometry where = geometry_from_python(data["where"]);
            slot.layout = where.layout.detach();
            slot.offset = where.offset;
            slot.dtype = where.dtype;
            return;
        }
        const bool of_input = index_from_python(data[0], 2) == static_cast<int>(SlotSource::Input);
        const int index = index_from_python(data[1], 256);
        const ModeGuard plainly(kSavedHooks, false);
        (of_input ? save_input : save_output)(node, slot, tensor_of(data[2]), index);
    }
    void wrap_inner(const NodeRef& node, nb::handle number) const {
        const int inner = index_from_python(number, made_.size(), true);
        if (inner < 0) return;
        const NodeRef& wrapped = made_[static_cast<std::size_t>(inner)];
        if (node->kind != &copy_slices_kind || wrapped->kind == &copy_slices_kind || wrapped->has(Node::kWrapped))
            fail(ErrorKind::Value, "expected CopySlices around one node");
        wrapped->set(Node::kWrapped);
        extras_of(*node).inner = wrapped;
    }

    std::vector<NodeRef> made_;
};

nb::tuple graph_to_python(nb::handle object) {
    const Tensor tensor = tensor_of(object);
    const NodeRef root = grad_fn_of(tensor);
    if (!root) fail(ErrorKind::Runtime, "freeze: expected a tensor with a history (grad_fn), got one without");
    nb::list nodes = GraphWriter(root.get()).go();
    return nb::make_tuple(nodes, tensor->output_index);
}

void graph_from_python(nb::handle result, nb::list nodes, int output) {
    GraphReader reader;
    for (const nb::handle one : nodes) reader.add(one);
    reader.check();
    const int root = static_cast<int>(reader.size()) - 1;
    if (root < 0 || output < 0 || output >= reader.outputs_of(root)) fail(ErrorKind::Value, "expected a node");
    reader.attach(tensor_of(result), root, output);
}

}  // namespace

void init_graph_file(nb::module_& module) {
    module.def("graph_to_python", &graph_to_python, nb::arg("tensor"));
    module.def("graph_from_python", &graph_from_python, nb::arg("result"), nb::arg("nodes"), nb::arg("output"));
}

}  // namespace clew::bind
