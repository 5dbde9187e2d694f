#include <algorithm>

#include "core/autograd/hooks.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/frame.h"
#include "core/ops/recording.h"
#include "core/program/files/check.h"

namespace clew {
namespace {

void need(bool holds, const Node& node, const char* what) {
    if (!holds) fail(ErrorKind::Value, "%s: %s", node.kind->node_name, what);
}

bool lies_as(const KeptRegister& a, const KeptRegister& b) {
    return a.dtype == b.dtype && same_sizes(a.layout->shape(), b.layout->shape());
}

class NodeCheck {
public:
    NodeCheck(const Program& program, const KeptNode& kept, Node& node, const Step& step)
        : program_(program), kept_(kept), node_(node), step_(step), in_place_(step.action->form == Form::InPlace) {}

    void go() {
        const OpDef& op = *step_.action->op;
        const bool renamed = node_.kind == op.in_place_form || node_.kind == op.number_form;
        need(node_.kind == &op || (renamed && in_place_), node_, "expected the node of the step that made it");
        need(op.backward && (op.differentiable || in_place_), node_, "expected an operation that has a derivative");
        need(step_.action->kind == StepKind::Run && (in_place_ || step_.action->form == Form::Functional), node_,
             "expected a step that computes something");
        need(node_.edge_count == step_.inputs.size(), node_, "has other inputs than its step");
        need(node_.output_count == (in_place_ ? 1 : step_.outputs.size()), node_, "has other results than its step");
        for (int i = 0; i < node_.output_count; ++i) check_output(i);
        for (int i = 0; i < static_cast<int>(node_.edge_count); ++i) check_edge(i);
        for (const KeptSlot& slot : kept_.slots) check_slot(slot);
        check_presence();
    }

private:
    int input(std::size_t i) const { return i < step_.inputs.size() ? step_.inputs[i] : -1; }
    int output(std::size_t i) const {
        if (in_place_) return i == 0 ? step_.inputs[0] : -1;
        return i < step_.outputs.size() ? step_.outputs[i] : -1;
    }

    void check_output(int i) const {
        const Layout* const layout = node_.outputs()[i].layout;
        const int reg = output(static_cast<std::size_t>(i));
        if (layout == nullptr) return need(reg < 0, node_, "misses a result");
        need(reg >= 0 && same_shape(*layout, *program_.of(reg).layout) &&
                 same_sizes(layout->strides(), program_.of(reg).layout->strides()) &&
                 node_.output_dtypes()[i] == program_.of(reg).dtype,
             node_, "has a result of another shape");
    }
    void check_edge(int i) const {
        const Edge edge = node_.edge(i);
        if (!edge) return;
        const int reg = input(static_cast<std::size_t>(i));
        const Layout* const layout = edge.node->outputs()[edge.index].layout;
        need(reg >= 0 && layout && same_shape(*layout, *program_.of(reg).layout) &&
                 edge.node->output_dtypes()[edge.index] == program_.of(reg).dtype,
             node_, "has an edge to a node whose result has another shape");
    }
    void check_slot(const KeptSlot& slot) const {
        if (slot.reg < 0) return;
        const SavedSlot& place = node_.slots()[&slot - kept_.slots.data()];
        const bool of_input = place.source == SlotSource::Input;
        const int reg = of_input ? input(place.index) : output(place.index);
        need(reg >= 0 && lies_as(program_.of(slot.reg), program_.of(reg)), node_, "saves something else");
        const bool copied = in_place_ && of_input;
        need(copied || same_sizes(program_.of(slot.reg).layout->strides(), program_.of(reg).layout->strides()), node_,
             "saves a tensor with another layout");
        need(slot.through < 0 || program_.of(program_.inputs[static_cast<std::size_t>(slot.through)].reg).memory ==
                                     program_.of(slot.reg).memory,
             node_, "counts the versions of another memory");
    }

    // What the rules of those inputs read that have an edge.
    void check_presence() const {
        const SkipKernels skip(true);
        std::uint64_t needs = 0;
        for (std::size_t i = 0; i < step_.inputs.size(); ++i)
            if (node_.edge(static_cast<int>(i))) needs |= std::uint64_t{1} << std::min<std::size_t>(i, 63);
        std::vector<Tensor> inputs;
        for (const int reg : step_.inputs)
            inputs.push_back(reg < 0 ? Tensor() : empty(program_.of(reg).layout, program_.of(reg).dtype));
        const Saves saves = what_to_save(*step_.action->op, inputs, needs, step_.action->attributes.data());
        for (int i = 0; i < 32; ++i) {
            if (saves.inputs >> i & 1)
                need(input(static_cast<std::size_t>(i)) < 0 || holds(SlotSource::Input, i), node_,
                     "misses a saved input");
            if (saves.outputs >> i & 1)
                need(output(static_cast<std::size_t>(i)) < 0 || holds(SlotSource::Output, i), node_,
                     "misses a saved result");
        }
    }
    bool holds(SlotSource source, int index) const {
        for (std::size_t i = 0; i < kept_.slots.size(); ++i)
            if (kept_.slots[i].reg >= 0 && node_.slots()[i].source == source && node_.slots()[i].index == index)
                return true;
        return false;
    }

    const Program& program_;
    const KeptNode& kept_;
    Node& node_;
    const Step& step_;
    const bool in_place_;
};

}  // namespace

void check_slices(Node& node) {
    need(node.extras && node.extras->inner, node, "wraps no node");
    Node& inner = *node.extras->inner;
    need(inner.output_count == 1 && inner.edge_count == node.edge_count && node.output_count == 1 &&
             node.slot_count == 1,
         node, "wraps a node of another form");
    const Layout* const base = node.outputs()[0].layout;
    const SavedSlot& where = node.slots()[0];
    need(base && where.state == SlotState::Empty && where.layout && inner.outputs()[0].layout &&
             same_shape(*where.layout, *inner.outputs()[0].layout) && where.dtype == inner.output_dtypes()[0],
         node, "says no place where it writes");
    const Edge before = node.edge(0);
    need(!before || (before.node->outputs()[before.index].layout &&
                     same_shape(*before.node->outputs()[before.index].layout, *base)),
         node, "has an edge to a node whose result has another shape");
    for (int i = 1; i < static_cast<int>(node.edge_count); ++i)
        need(node.edge(i).node == inner.edge(i).node && node.edge(i).index == inner.edge(i).index, node,
             "has other edges than the node that it wraps");
}

void check_node(const Program& program, const KeptNode& kept) {
    if (kept.node->kind == &copy_slices_kind) return check_slices(*kept.node);
    NodeCheck(program, kept, *kept.node, program.steps[static_cast<std::size_t>(kept.step)]).go();
}

}  // namespace clew
