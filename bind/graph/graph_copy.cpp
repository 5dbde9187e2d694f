#include "bind/graph/graph_copy.h"

#include <algorithm>

#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/dtype.h"
#include "bind/types/objects.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr std::size_t kFewPlaces = 64;  // most graphs of a step that is worth counting in microseconds are small

// Breadth first, as clew.graph.walk.nearest.
NodeSet nearest(const std::vector<Node*>& roots, std::size_t count) {
    NodeSet found;
    const auto add = [&](Node* node) {
        if (found.size() < count) found.insert(node);
    };
    for (Node* root : roots) add(root);
    for (std::size_t i = 0; i < found.size() && found.size() < count; ++i) each_below(*found[i], Reach::Backward, add);
    return found;
}

// In topological order, as clew.graph.walk. From the last root to the first: the list is reversed in the end.
std::vector<Node*> in_order(const std::vector<Node*>& roots, NodeSet& seen, const NodeSet* within = nullptr) {
    std::vector<Node*> finished;
    finished.reserve(32);
    for (std::size_t i = roots.size(); i-- > 0;) walk(roots[i], Reach::Backward, seen, &finished, within);
    std::reverse(finished.begin(), finished.end());
    return finished;
}

bool holds_python(const Node& node) {
    if (node.has(Node::kFunction)) return true;
    return node.extras && (node.extras->attributes || node.extras->metadata);
}
bool holds_python_things(Node& node) {
    Node& saver = saver_of(node);
    if (holds_python(node) || (&saver != &node && holds_python(saver))) return true;
    for (int i = 0; i < saver.slot_count; ++i) {
        const SavedSlot& slot = saver.slots()[i];
        if (slot.has_rest && (slot.rest->packed || slot.rest->unpack)) return true;
    }
    return false;
}

}  // namespace

void LeafNumbers::add(PyObject* leaf, std::int64_t number) {
    TensorObject* tensor = as_tensor(leaf);
    if (tensor == nullptr) fail(ErrorKind::Type, "expected a Tensor, got %s", Py_TYPE(leaf)->tp_name);
    numbers_[tensor] = {Handle::steal(checked(PyWeakref_NewRef(leaf, nullptr))), number};
}

std::int64_t LeafNumbers::of(TensorObject* leaf) const {
    const auto found = numbers_.find(leaf);
    if (found == numbers_.end()) return kUnknown;
    auto* const reference = static_cast<PyObject*>(found->second.reference.get());
    const Handle stands = Handle::steal(checked(PyObject_CallNoArgs(reference)));
    return stands.get() == as_object(leaf) ? found->second.number : kUnknown;
}

void GraphCopy::clear() {
    rows_.clear();
    outputs_.clear();
    slots_.clear();
    edges_.clear();
    leaves_.clear();
    roots_.clear();
    groups_.clear();
    times_.clear();
    totals_ = {};
    has_unknown_leaves_ = false;
}

bool GraphCopy::take(const std::vector<Node*>& roots, std::size_t limit, const LeafNumbers& numbers) {
    clear();
    NodeSet seen(kFewPlaces);
    std::vector<Node*> nodes = in_order(roots, seen);
    if (nodes.size() > limit) {
        groups_ = graph_groups(seen);
        const NodeSet chosen = nearest(roots, limit);
        NodeSet met;
        nodes = in_order(roots, met, &chosen);
    }
    totals_ = graph_totals(seen, nullptr, nullptr);  // and now `seen` has what the graph holds besides, too
    for (std::size_t i = 0; i < seen.size(); ++i) {
        if (!holds_python_things(*seen[i])) continue;
        clear();
        return false;
    }
    NodeSet order(kFewPlaces);
    for (Node* node : nodes) order.insert(node);
    for (Node* node : nodes) add(*node, order, numbers);
    for (Node* root : roots) roots_.push_back(root->kind);
    return true;
}

void GraphCopy::add(Node& node, const NodeSet& order, const LeafNumbers& numbers) {
    for (int i = 0; i < node.output_count; ++i)
        outputs_.push_back({LayoutRef(node.outputs()[i].layout), node.output_dtypes()[i]});
    Node& saver = saver_of(node);
    each_slot(node, [&](SavedSlot& slot) {
        slots_.push_back({slot_name(saver, slot), LayoutRef(slot.layout), slot.dtype, facts_of(slot)});
    });
    for (std::uint32_t i = 0; i < node.edge_count; ++i) {
        const Edge edge = node.edge(static_cast<int>(i));
        const std::uint32_t row = edge ? order.index_of(edge.node) : 0;
        edges_.push_back({!edge                     ? kNone
                          : row == NodeSet::kAbsent ? kHidden
                                                    : static_cast<std::int32_t>(row),
                          edge.index});
    }
    Row row{.kind = node.kind,
            .code = Handle::borrow(node.code),
            .instruction = node.instruction,
            .released = Ref<Release>(node.released),
            .bytes = node_bytes(node),
            .sequence = node.sequence,
            .outputs_end = outputs_.size(),
            .slots_end = slots_.size(),
            .edges_end = edges_.size()};
    if (node.has(Node::kAccumulate)) {
        row.leaf = static_cast<std::int64_t>(leaves_.size());
        Leaf leaf{.number = LeafNumbers::kGone};
        if (TensorObject* tensor = node.outputs()[0].tensor) {
            const Storage& storage = *tensor->storage;
            leaf = {numbers.of(tensor),
                    &storage,
                    storage.foreign ? 0 : storage.identity,
                    {LayoutRef(tensor->layout), tensor->dtype}};
            has_unknown_leaves_ |= leaf.number == LeafNumbers::kUnknown;
        } else {
            leaf.shape = {LayoutRef(node.outputs()[0].layout), node.output_dtypes()[0]};
        }
        leaves_.push_back(std::move(leaf));
    }
    rows_.push_back(std::move(row));
}

void GraphCopy::add_times(const std::vector<OperationTime>& times) {
    for (const Row& row : rows_) times_.emplace(row.sequence, Times{});
    for (const OperationTime& one : times) {
        const auto found = times_.find(one.sequence);
        if (found != times_.end()) (one.in_backward ? found->second.backward : found->second.forward) += one.ns;
    }
}

// (name, op, site, outputs, saved, edges, release, bytes, leaf, sequence, ns of the forward, ns of the backward)
nb::tuple GraphCopy::row_tuple(std::size_t i) const {
    const Row& row = rows_[i];
    const Row none{};
    const Row& before = i ? rows_[i - 1] : none;
    const auto timed = times_.find(row.sequence);
    const Times times = timed == times_.end() ? Times{} : timed->second;
    nb::list outputs, saved, edges;
    for (std::size_t j = before.outputs_end; j < row.outputs_end; ++j) {
        const Layout* layout = outputs_[j].layout.get();
        outputs.append(nb::make_tuple(layout ? nb::steal(plain_tuple(layout->shape())) : nb::none(),
                                      layout ? nb::steal(dtype_object(outputs_[j].dtype)) : nb::none()));
    }
    for (std::size_t j = before.slots_end; j < row.slots_end; ++j)
        saved.append(nb::steal(slot_record(slots_[j].name, *slots_[j].layout, slots_[j].dtype, slots_[j].facts)));
    for (std::size_t j = before.edges_end; j < row.edges_end; ++j)
        edges.append(nb::make_tuple(edges_[j].row, edges_[j].output));
    return nb::make_tuple(row.kind->node_name, row.kind->name,
                          nb::steal(site_object({row.code.get(), row.instruction})), outputs, saved, edges,
                          row.released ? nb::steal(release_object(row.released.get())) : nb::none(), row.bytes,
                          row.leaf == kNone ? nb::none() : leaf_tuple(leaves_[static_cast<std::size_t>(row.leaf)]),
                          row.sequence, times.forward, times.backward);
}

// (number, storage, identity, shape, dtype)
nb::object GraphCopy::leaf_tuple(const Leaf& leaf) const {
    const Layout* layout = leaf.shape.layout.get();
    return nb::make_tuple(leaf.number, reinterpret_cast<std::uintptr_t>(leaf.storage), leaf.identity,
                          layout ? nb::steal(plain_tuple(layout->shape())) : nb::tuple(),
                          layout ? nb::steal(dtype_object(leaf.shape.dtype)) : nb::str(""));
}

nb::dict GraphCopy::tell() const {
    nb::dict told;
    nb::list nodes, roots;
    for (std::size_t i = 0; i < rows_.size(); ++i) nodes.append(row_tuple(i));
    for (const NodeKind* kind : roots_) roots.append(kind->node_name);
    told["nodes"] = nodes;
    told["roots"] = roots;
    told["totals"] = totals_dict(totals_);
    told["groups"] = groups_list(groups_);
    return told;
}

}  // namespace clew::bind
