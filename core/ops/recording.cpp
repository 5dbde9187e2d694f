#include "core/ops/recording.h"

#include <vector>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/view.h"
#include "core/base/error.h"

namespace clew {

Saves what_to_save(const OpDef& op, Tensors inputs, std::uint64_t needs, const void* attributes) {
    if (op.joint_saves) return op.joint_saves(inputs, needs, attributes);
    Saves saves;
    for (std::size_t i = 0; i < op.saved_by_rule.size(); ++i) {
        if (!(needs >> i & 1)) continue;
        saves.inputs |= op.saved_by_rule[i].inputs;
        saves.outputs |= op.saved_by_rule[i].outputs;
    }
    return saves;
}

namespace {

// Of the inputs that require grad, those whose gradient has somewhere to go: Note [Views that lead nowhere]. The engine
// counts on a node being younger than those that it leads to: a view whose base was written gets its new node here
// first.
[[gnu::noinline]] std::uint64_t without_dead_views(Tensors inputs, std::uint64_t needs) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && inputs[i]->base && !gradient_edge(inputs[i]) && i < 63) needs &= ~(std::uint64_t{1} << i);
    return needs;
}
inline std::uint64_t inputs_that_lead_on(Tensors inputs, std::uint64_t needs) {
    for (const Tensor& input : inputs)
        if (input && input->base) return without_dead_views(inputs, needs);
    return needs;
}

// Edges come from `inputs`; `kept` are the values to save, which differ where input 0 is about to be written over.
[[gnu::hot]] NodeRef make_node(const OpDef& op, Tensors inputs, Tensors kept, const void* attributes,
                               std::size_t output_count, Saves saves) {
    const auto slots = static_cast<std::uint16_t>(__builtin_popcount(saves.inputs) + __builtin_popcount(saves.outputs));
    NodeRef node =
        new_node(op, {static_cast<std::uint32_t>(inputs.size()), slots, static_cast<std::uint16_t>(output_count)});
    if (op.kept_bytes) std::memcpy(node->attributes(), attributes, op.kept_bytes);
    const EdgeWriter edges{*node};
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i]) edges.set(i, edge_to_record(inputs[i]));
    SavedSlot* slot = node->slots();
    for (std::uint32_t rest = saves.inputs; rest; rest &= rest - 1) {
        const int input = __builtin_ctz(rest);
        save_input(*node, *slot++, kept[static_cast<std::size_t>(input)], input);
    }
    return node;
}

void save_outputs(Node& node, Saves saves, std::span<Tensor> outputs) {
    if (saves.outputs == 0) return;
    SavedSlot* slot = node.slots() + __builtin_popcount(saves.inputs);
    for (std::uint32_t rest = saves.outputs; rest; rest &= rest - 1) {
        const int output = __builtin_ctz(rest);
        save_output(node, *slot++, outputs[static_cast<std::size_t>(output)], output);
    }
}

// What max(dim), sort and the like give besides values.
[[gnu::noinline, gnu::cold]] void set_without_derivative(Node& node, int i, const Tensor& output, const char* op) {
    set_output_shape(node, i, output.layout_ref(), output.dtype());
    if (!mode(kInBackward | kNoProvenance)) output->lost = HistoryBreak::make(op);
}

void record(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> outputs, std::uint64_t needs) {
    const Saves saves = what_to_save(op, inputs, inputs_that_lead_on(inputs, needs), attributes);
    const NodeRef node = make_node(op, inputs, inputs, attributes, outputs.size(), saves);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const Tensor& output = outputs[i];
        if (!output) continue;
        if (is_inexact(output.dtype()) && (op.differentiable_outputs >> std::min<std::size_t>(i, 63) & 1))
            set_history(output, node, static_cast<int>(i));
        else
            set_without_derivative(*node, static_cast<int>(i), output, op.name);
    }
    save_outputs(*node, saves, outputs);
}

// Why the results of `inputs` have no history.
void pass_on_lost(const Tensor& result, Tensors inputs) {
    for (const Tensor& input : inputs) {
        if (!input || !input->lost) continue;
        if (!result->lost || result->lost->may_be_data) result->lost = input->lost;
        if (!result->lost->may_be_data) return;
    }
}

// A result without history says where it was lost: the site of the first operation that dropped it, passed on from
// then.
void note_lost(const char* cause, std::span<Tensor> outputs, Tensors inputs, bool lost_here) {
    if (mode(kInBackward | kNoProvenance)) return;
    if (lost_here) {
        const Ref<HistoryBreak> lost = HistoryBreak::make(cause);
        for (const Tensor& output : outputs)
            if (output) output->lost = lost;
        return;
    }
    for (const Tensor& output : outputs)
        if (output) pass_on_lost(output, inputs);
}

// A tensor without history was written over with something that had one, or that had lost it. A view tells its base.
[[gnu::noinline]] void note_lost_in_place(const OpDef& op, Tensors inputs, std::uint64_t needs) {
    Tensor self = inputs[0];
    if (self.requires_grad() || mode(kInBackward | kNoProvenance)) return;
    if (needs != 0)
        note_lost(grad_enabled() ? op.name : "no_grad", std::span<Tensor>(&self, 1), inputs, true);
    else
        pass_on_lost(self, inputs.subspan(1));
    if (self->lost && self->base && !self->base->lost) self->base->lost = self->lost;
}

const OpDef& recorded_in_place(const OpDef& op, Tensors inputs) {
    if (op.number_form && inputs[1]->has(TensorObject::kWrappedNumber)) return *op.number_form;
    return op.in_place_form ? *op.in_place_form : op;
}

}  // namespace

[[gnu::hot]] void finish_views(const OpDef& op, const Tensor& source, std::span<Tensor> outputs) {
    const bool many = outputs.size() > 1 || op.is(kManyViews);
    const ViewKind kind = !grad_enabled() ? ViewKind::NoGrad : many ? ViewKind::MultiOutput : ViewKind::Default;
    for (const Tensor& output : outputs) {
        if (!output || output->base || output->storage != source->storage) continue;
        if (op.is(kNonDifferentiable))
            share_version(output, source);  // the same bytes, of which no gradient knows
        else
            mark_view(output, source, kind);
    }
}

[[gnu::hot]] void keep_history(const OpCall& call, std::uint64_t needs) {
    const OpDef& op = call.op;
    const Tensors inputs = call.inputs;
    const std::span<Tensor> outputs = call.outputs;
    if (op.is(kGeometryOnly)) return;
    if (needs == 0) return note_lost("", outputs, inputs, false);
    // What gives no derivative loses the history in any mode.
    bool floating = false;
    for (const Tensor& output : outputs) floating = floating || (output && is_inexact(output.dtype()));
    const bool records = grad_enabled();
    if (!floating || !op.differentiable || (!records && op.zero_gradient))
        return note_lost(op.name, outputs, inputs, true);
    if (!records) return note_lost(mode(kInferenceMode) ? "inference_mode" : "no_grad", outputs, inputs, true);
    record(op, inputs, call.attributes, outputs, needs);
}

InPlaceRecord::InPlaceRecord(const OpCall& call)
    : call_(call),
      needs_(inputs_that_need(call.inputs)),
      records_(grad_enabled() && needs_ != 0 && call.op.backward && is_inexact(call.inputs[0].dtype())) {}

void InPlaceRecord::choose_saves() {
    if (records_)
        saves_ = what_to_save(call_.op, call_.inputs, inputs_that_lead_on(call_.inputs, needs_), call_.attributes);
}

void InPlaceRecord::make_node(const Tensor& before) {
    if (!records_) return;
    std::vector<Tensor> kept;
    if (reads_before()) {
        kept.assign(call_.inputs.begin(), call_.inputs.end());
        kept[0] = before;
    }
    node_ = clew::make_node(recorded_in_place(call_.op, call_.inputs), call_.inputs, kept.empty() ? call_.inputs : kept,
                            call_.attributes, 1, saves_);
}

void InPlaceRecord::finish() {
    if (!records_) {
        // A tensor that requires gradients itself, as a parameter in a step, loses none.
        if ((needs_ & ~std::uint64_t{1}) != 0 || any_lost(call_.inputs.subspan(1)))
            note_lost_in_place(call_.op, call_.inputs, needs_);
        return;
    }
    Tensor self = call_.inputs[0];
    rebase_history(self, node_);
    save_outputs(*node_, saves_, std::span<Tensor>(&self, 1));
}

}  // namespace clew
