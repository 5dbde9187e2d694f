// What a graph was like at one moment, as plain numbers: cheap to take at every backward, told to Python once.
#pragma once
#include <Python.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "bind/graph/graph_totals.h"
#include "bind/graph/node_set.h"
#include "bind/types/node_attributes.h"

namespace clew::bind {

// Numbers by which the names of leaves are kept. A leaf that is gone may have left its address to another one, so a
// number stands only as long as a weak reference to its leaf does.
class LeafNumbers {
public:
    static constexpr std::int64_t kUnknown = -1;  // a leaf without a number
    static constexpr std::int64_t kGone = 0;      // no leaf any more

    void add(PyObject* leaf, std::int64_t number);
    std::int64_t of(TensorObject* leaf) const;

private:
    struct Numbered {
        Handle reference;
        std::int64_t number;
    };
    std::unordered_map<TensorObject*, Numbered> numbers_{};
};

class GraphCopy {
public:
    // Copies the graph below `roots`: totals of all of it, rows for the `limit` nodes nearest to the roots. False if
    // Python objects that it holds (packed values, attributes) may hold more; then there is no copy.
    bool take(const std::vector<Node*>& roots, std::size_t limit, const LeafNumbers& numbers);
    void clear();
    bool is_taken() const { return !roots_.empty(); }
    bool has_unknown_leaves() const { return has_unknown_leaves_; }
    // {"nodes": rows in topological order, "roots": names of classes, "totals", "groups"}; see
    // src/clew/graph/explanations/copied.py.
    nanobind::dict tell() const;
    // Adds times of operations, which `tell` then tells with the rows.
    void add_times(const std::vector<OperationTime>& times);

private:
    static constexpr std::int32_t kNone = -1, kHidden = -2;
    struct Row {
        const NodeKind* kind = nullptr;
        Handle code{};
        std::int32_t instruction = -1;
        Ref<Release> released{};
        std::size_t bytes = 0;
        std::uint64_t sequence = 0;
        std::size_t outputs_end = 0, slots_end = 0, edges_end = 0;  // in the vectors below
        std::int64_t leaf = kNone;
    };
    struct Output {
        LayoutRef layout;  // may be null
        DType dtype;
    };
    struct Slot {
        const char* name;
        LayoutRef layout;
        DType dtype;
        SlotFacts facts;
    };
    struct Below {
        std::int32_t row;
        std::uint32_t output;
    };
    struct Leaf {
        std::int64_t number;
        const Storage* storage = nullptr;
        std::uint64_t identity = 0;
        Output shape{};
    };

    void add(Node& node, const NodeSet& order, const LeafNumbers& numbers);
    nanobind::tuple row_tuple(std::size_t i) const;
    nanobind::object leaf_tuple(const Leaf& leaf) const;

    std::vector<Row> rows_{};
    std::vector<Output> outputs_{};
    std::vector<Slot> slots_{};
    std::vector<Below> edges_{};
    std::vector<Leaf> leaves_{};
    std::vector<const NodeKind*> roots_{};
    GraphTotals totals_{};
    std::vector<NodeGroup> groups_{};
    struct Times {
        std::int64_t forward = 0, backward = 0;
    };
    std::unordered_map<std::uint64_t, Times> times_{};  // ns, by the number of the node
    bool has_unknown_leaves_ = false;
};

}  // namespace clew::bind
