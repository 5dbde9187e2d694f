#include "core/ops/apply.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

inline std::uint64_t inputs_that_need(Tensors inputs) {
    std::uint64_t needs = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && inputs[i].requires_grad()) needs |= std::uint64_t{1} << std::min<std::size_t>(i, 63);
    return needs;
}

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
NodeRef make_node(const OpDef& op, Tensors inputs, Tensors kept, const void* attributes, std::size_t output_count,
                  Saves saves) {
    const auto slots = static_cast<std::uint16_t>(__builtin_popcount(saves.inputs) + __builtin_popcount(saves.outputs));
    NodeRef node =
        new_node(op, {static_cast<std::uint32_t>(inputs.size()), slots, static_cast<std::uint16_t>(output_count)});
    if (op.attribute_bytes) std::memcpy(node->attributes(), attributes, op.attribute_bytes);
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
        if (is_floating(output.dtype()) && (op.differentiable_outputs >> std::min<std::size_t>(i, 63) & 1))
            set_history(output, node, static_cast<int>(i));
        else
            set_without_derivative(*node, static_cast<int>(i), output, op.name);
    }
    save_outputs(*node, saves, outputs);
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

bool any_lost(Tensors inputs) {
    for (const Tensor& input : inputs)
        if (input && input->lost) return true;
    return false;
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

void finish_views(const OpDef& op, const Tensor& source, std::span<Tensor> outputs) {
    const bool many = outputs.size() > 1 || op.is(kManyViews);
    const ViewKind kind = !grad_enabled() ? ViewKind::NoGrad : many ? ViewKind::MultiOutput : ViewKind::Default;
    for (const Tensor& output : outputs)
        if (output && !output->base && output->storage == source->storage) mark_view(output, source, kind);
}

// What some input's gradient, or the loss of it, asks for.
void keep_history(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> outputs,
                  std::uint64_t needs) {
    if (needs == 0) return note_lost("", outputs, inputs, false);
    if (!grad_enabled()) return note_lost(mode(kInferenceMode) ? "inference_mode" : "no_grad", outputs, inputs, true);
    if (!op.differentiable) return note_lost(op.name, outputs, inputs, true);
    bool floating = false;
    for (const Tensor& output : outputs) floating = floating || (output && is_floating(output.dtype()));
    if (!floating) return note_lost(op.name, outputs, inputs, true);
    record(op, inputs, attributes, outputs, needs);
}

inline void finish(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> outputs) {
    if (op.is(kView)) finish_views(op, inputs[0], outputs);
    const std::uint64_t needs = inputs_that_need(inputs);
    if (needs != 0 || any_lost(inputs)) keep_history(op, inputs, attributes, outputs, needs);
}

// The modes that few use: timing and inference.
void apply_slow(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> outputs) {
    ForwardCall call{op, inputs, attributes, outputs};
    const std::int64_t start = mode(kTiming) ? now_ns() : 0;
    {
        const ModeGuard guard(kTiming, false);
        op.forward(call);
    }
    const std::int64_t middle = mode(kTiming) ? now_ns() : 0;
    finish(op, inputs, attributes, outputs);
    if (mode(kInferenceMode))
        for (const Tensor& output : outputs)
            if (output) output->set(TensorObject::kInference, true);
    if (mode(kTiming)) {
        timings.forward_kernels += middle - start;
        timings.recording += now_ns() - middle;
        ++timings.operations;
    }
}

}  // namespace

void apply(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> outputs) {
    ForwardCall call{op, inputs, attributes, outputs};
    if (op.is(kComposite)) return op.forward(call);
    if (mode(kSlowApply)) return apply_slow(op, inputs, attributes, outputs);
    op.forward(call);
    finish(op, inputs, attributes, outputs);
}

namespace {

// The result of `donated` and the others has its shape and dtype.
bool result_matches(const Tensor& donated, Tensors others) {
    for (const Tensor& other : others)
        if (other && (!(other->layout == donated->layout || can_expand(other.sizes(), donated.sizes())) ||
                      !(other.dtype() == donated.dtype() || other->has(TensorObject::kWrappedNumber))))
            return false;
    return true;
}

// Nobody but the caller and `inputs` knows the input or its memory, and no node has saved it or will.
bool can_reuse_buffer(const OpDef& op, Tensors inputs, const void* attributes, std::size_t i) {
    const Tensor& input = inputs[i];
    const Storage& storage = *input->storage;
    if (input->references != 2 || input->flags != 0 || input->base || input->extras || input->dict ||
        input->weak_references || storage.references != 1 || storage.saved != 0 || storage.foreign)
        return false;
    // The result is to look like any other: fresh, and all of its memory.
    if (storage.version != 0 || input->offset != 0 || storage.bytes != bytes_of(input)) return false;
    const std::uint64_t needs = grad_enabled() ? inputs_that_need(inputs) : 0;
    return needs == 0 || !(what_to_save(op, inputs, needs, attributes).inputs >> i & 1);
}

}  // namespace

LayoutRef layout_among(Sizes sizes, Tensors inputs) {
    std::vector<Tensor> operands;
    std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(operands), [](const Tensor& t) { return bool(t); });
    return result_layout(sizes, operands);
}

bool may_write_over(const Tensor& donated, Tensors others) {
    return !grad_enabled() && is_unshared(donated) && result_matches(donated, others);
}

Tensor output_over(const OpDef& op, Tensors inputs, const void* attributes, const TensorObject* donated) {
    if (!op.elementwise || !op.is(kInPlace) || !op.differentiable) return {};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor& input = inputs[i];
        if (input.get() != donated || !is_floating(input.dtype()) || !is_packed(input.layout())) continue;
        if (!result_matches(input, inputs) || !can_reuse_buffer(op, inputs, attributes, i)) continue;
        if (!lie_alike(*layout_among(input.sizes(), inputs), input.layout())) continue;
        Tensor output = alias(input, input->layout, input->offset);
        output->storage->owner = output.get();
        return output;
    }
    return {};
}

void pass_on_lost(const Tensor& result, Tensors inputs) {
    for (const Tensor& input : inputs) {
        if (!input || !input->lost) continue;
        if (!result->lost || result->lost->may_be_data) result->lost = input->lost;
        if (!result->lost->may_be_data) return;
    }
}

void escape(const Tensor&, const char*) {}

namespace {

const OpDef& recorded_in_place(const OpDef& op, Tensors inputs) {
    if (op.number_form && inputs[1]->has(TensorObject::kWrappedNumber)) return *op.number_form;
    return op.in_place_form ? *op.in_place_form : op;
}

bool shares_elements_unlike(const Tensor& input, const Tensor& self) {
    return input && input->storage == self->storage &&
           !(input->layout == self->layout && input->offset == self->offset);
}

// `copies` become the inputs, with a copy in the i-th place.
void replace(std::vector<Tensor>& copies, Tensors inputs, std::size_t i) {
    if (copies.empty()) copies.assign(inputs.begin(), inputs.end());
    const ModeGuard guard(kNoGrad | kInBackward, true);
    copies[i] = clone(inputs[i]);
}

}  // namespace

void apply_in_place(const OpDef& op, Tensors inputs, const void* attributes) {
    const Tensor& self = inputs[0];
    const char* name = op.in_place_name.c_str();
    const std::uint64_t needs = inputs_that_need(inputs);
    const bool records = grad_enabled() && needs != 0 && op.backward && is_floating(self.dtype());
    // What is replaced by whole numbers (copy_) has no history to be told of.
    check_in_place(self, name, records || (needs != 0 && !op.is(kWritesInput)), !op.is(kAxesInPlace));
    NodeRef node;
    Saves saves;
    // An input that shares memory with the destination, but not element for element, is read from a copy.
    std::vector<Tensor> sources;
    for (std::size_t i = 1; i < inputs.size(); ++i)
        if (shares_elements_unlike(inputs[i], self)) replace(sources, inputs, i);
    if (records) {
        saves = what_to_save(op, inputs, inputs_that_lead_on(inputs, needs), attributes);
        std::vector<Tensor> kept;
        if (saves.inputs & 1) replace(kept, inputs, 0);  // the rule reads what self was before it is written over
        node = make_node(recorded_in_place(op, inputs), inputs, kept.empty() ? inputs : kept, attributes, 1, saves);
    }
    Tensor output = self;
    ForwardCall call{op, sources.empty() ? inputs : sources, attributes, std::span<Tensor>(&output, 1)};
    op.forward(call);
    bump_version(self, name);
    if (!records) {
        if (needs != 0 || any_lost(inputs.subspan(1))) note_lost_in_place(op, inputs, needs);
        return;
    }
    rebase_history(self, node);
    save_outputs(*node, saves, std::span<Tensor>(&output, 1));
}

namespace {

void check_out_dtype(const OpDef& op, DType result, DType out) {
    const char* name = op.name;
    if (op.is(kOutTruth) && out != DType::Bool && out != DType::UInt8)
        fail(ErrorKind::Runtime, "%s: expected out of dtype bool (or uint8), got %s", name, dtype_name(out));
    if (op.is(kOutTruth) || op.is(kOutAny)) return;
    if (op.is(kOutAlike) && out != result)
        fail(ErrorKind::Runtime, "%s: expected out of dtype %s, which the result has, got %s", name, dtype_name(result),
             dtype_name(out));
    if (!can_cast(result, out))
        fail(ErrorKind::Runtime, "%s: result type %s can't be cast to the desired output type %s", name,
             dtype_name(result), dtype_name(out));
}

// The attributes with `dtype` as `out` has it, if nothing else is asked for; in `room`.
const void* with_dtype_of(const Tensor& out, const OpDef& op, const void* attributes, std::vector<char>& room) {
    std::size_t field = 0;
    for (const Argument& argument : op.schema.arguments) {
        if (argument.type == ArgType::Tensor || argument.type == ArgType::Operand) continue;
        if (argument.type == ArgType::DType) break;
        ++field;
    }
    Value value;
    op.fields[field].get(attributes, value);
    if (value.tag != Value::None) return attributes;
    const char* const bytes = static_cast<const char*>(attributes);
    room.assign(bytes, bytes + op.attribute_bytes);
    value.tag = Value::DType;
    value.integer = static_cast<std::int64_t>(out.dtype());
    op.fields[field].set(room.data(), value);
    return room.data();
}

}  // namespace

void apply_out(const OpDef& op, Tensors inputs, const void* attributes, std::span<Tensor> destinations) {
    const char* name = op.name;
    if (grad_enabled()) {
        for (const Tensor& input : inputs)
            if (input && input.requires_grad() && !op.is(kNonDifferentiable))
                fail(ErrorKind::Runtime,
                     "%s: functions with out=... arguments don't support automatic differentiation, but one of the "
                     "arguments requires "
                     "grad; call it without out=, or under no_grad()",
                     name);
        for (const Tensor& destination : destinations)
            if (destination.requires_grad())
                fail(ErrorKind::Runtime,
                     "%s: functions with out=... arguments don't support automatic differentiation, but out requires "
                     "grad; give a detached one",
                     name);
    }
    std::vector<Tensor> fresh(destinations.size());
    std::vector<char> room;
    if (op.is(kOutSetsDType)) attributes = with_dtype_of(destinations[0], op, attributes, room);
    apply(op, inputs, attributes, fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        const Tensor& to = destinations[i];
        check_out_dtype(op, fresh[i].dtype(), to.dtype());
        if (!same_sizes(to.sizes(), fresh[i].sizes()) && to.numel() != 0)
            fail(ErrorKind::Runtime,
                 "%s: expected out of shape %s, got %s; give one of the right shape, or an empty one", name,
                 shape_text(fresh[i].sizes()).c_str(), shape_text(to.sizes()).c_str());
        check_in_place(to, name, false);
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        const Tensor& to = destinations[i];
        if (same_sizes(to.sizes(), fresh[i].sizes())) {
            kernels::copy(to.view(), fresh[i].view());
        } else {
            const Tensor result = cast(fresh[i], to.dtype());
            to->storage = result->storage;
            to->layout = result->layout;
            to->offset = result->offset;
        }
        bump_version(to, name);
    }
}

}  // namespace clew
