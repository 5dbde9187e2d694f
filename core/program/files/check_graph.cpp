// Nodes that come from a file alone, without the steps that made them.
#include <algorithm>

#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/frame.h"
#include "core/ops/recording.h"
#include "core/program/files/check.h"

namespace clew {
namespace {

class LoneNode {
public:
    explicit LoneNode(Node& node) : node_(node), op_(static_cast<const OpDef&>(*node.kind)) {}

    void go() {
        need(op_.backward != nullptr, "expected an operation that has a derivative");
        const auto wanted = static_cast<std::size_t>(std::ranges::count_if(op_.schema.arguments, is_tensor));
        need(op_.variadic ? node_.edge_count + 1 >= wanted : node_.edge_count == wanted, "has other inputs");
        need(node_.output_count == 1 || op_.count_outputs || node_.output_count == op_.output_count,
             "has other results");
        need(node_.output_count > 0, "has no result");
        for (int i = 0; i < node_.slot_count; ++i) check_slot(node_.slots()[i]);
        check_presence();
    }

private:
    void need(bool holds, const char* what) const {
        if (!holds) fail(ErrorKind::Value, "%s: %s", node_.kind->node_name, what);
    }
    static bool looks_so(const SavedSlot& slot, const Layout* layout, DType dtype) {
        return layout && same_shape(*slot.layout, *layout) && slot.dtype == dtype;
    }
    void check_slot(const SavedSlot& slot) const {
        if (slot.state == SlotState::Empty) return need(slot.layout == nullptr, "says a place where it writes");
        const bool of_input = slot.source == SlotSource::Input;
        need(slot.index < (of_input ? node_.edge_count : node_.output_count), "saves something else");
        const Edge edge = of_input ? node_.edge(slot.index) : Edge{&node_, slot.index};
        need(!edge || looks_so(slot, edge.node->outputs()[edge.index].layout, edge.node->output_dtypes()[edge.index]),
             "saves a value of another shape");
    }

    // What is known of an input: where its gradient goes, or what is saved of it.
    Tensor shape_of(int input) const {
        if (const Edge edge = node_.edge(input)) {
            Layout* const layout = edge.node->outputs()[edge.index].layout;
            need(layout != nullptr, "leads to a result that is not there");
            return empty(LayoutRef(layout), edge.node->output_dtypes()[edge.index]);
        }
        for (int i = 0; i < node_.slot_count; ++i)
            if (is(node_.slots()[i], SlotSource::Input, input))
                return empty(LayoutRef(node_.slots()[i].layout), node_.slots()[i].dtype);
        return {};
    }
    static bool is(const SavedSlot& slot, SlotSource source, int index) {
        return slot.state == SlotState::Held && slot.source == source && slot.index == index;
    }
    void check_presence() const {
        const SkipKernels skip(true);
        std::uint64_t needs = 0;
        std::vector<Tensor> inputs;
        for (int i = 0; i < static_cast<int>(node_.edge_count); ++i) {
            inputs.push_back(shape_of(i));
            if (node_.edge(i)) needs |= std::uint64_t{1} << std::min(i, 63);
        }
        const Saves saves = what_to_save(op_, inputs, needs, node_.kind->kept_bytes ? node_.attributes() : nullptr);
        for (int i = 0; i < 32; ++i) {
            need(!(saves.inputs >> i & 1) || may_miss(i) || holds(SlotSource::Input, i), "misses a saved input");
            need(!(saves.outputs >> i & 1) || holds(SlotSource::Output, i), "misses a saved result");
        }
    }
    // One that may be None in a call.
    bool may_miss(int input) const {
        int place = 0;
        for (const Argument& argument : op_.schema.arguments) {
            if (!is_tensor(argument)) continue;
            if (argument.type == ArgType::TensorList) return argument.optional;
            if (place++ == input) return argument.optional && !node_.edge(input);
        }
        return false;
    }
    bool holds(SlotSource source, int index) const {
        return std::ranges::any_of(std::span(node_.slots(), node_.slot_count),
                                   [&](const SavedSlot& slot) { return is(slot, source, index); });
    }

    Node& node_;
    const OpDef& op_;
};

}  // namespace

void check_lone_node(Node& node) { node.kind == &copy_slices_kind ? check_slices(node) : LoneNode(node).go(); }

}  // namespace clew
