#include "core/ops/forward/dual_level.h"

#include <algorithm>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"
#include "core/ops/jvp.h"

namespace clew {
namespace {

bool any(const std::vector<Tensor>& tangents) {
    return std::ranges::any_of(tangents, [](const Tensor& one) { return bool(one); });
}

bool is_view_of(const OpCall& call, const Tensor& output) {
    return call.op.is(kView) && output->storage == call.inputs[0]->storage;
}

// A tensor that is written under no_grad() keeps its history, and so does its tangent: what becomes of that is
// recorded. Inside a backward the engine says what is.
struct RecordTangent {
    const bool before = mode(kNoGrad);
    const ModeGuard guard;
    explicit RecordTangent(const Tensor& tangent)
        : guard(kNoGrad, before && (mode(kInBackward) || !tangent || !tangent.requires_grad())) {}
};

Tensor fitted(const Tensor& tangent, const Tensor& to) {
    return tangent ? expand(cast(tangent, to.dtype()), to.sizes()) : tangent;
}

}  // namespace

std::vector<Tensor> DualLevel::tangents_of(Tensors tensors) {
    std::vector<Tensor> found(tensors.size());
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i]) found[i] = tangent_of(tensors[i]);
    return found;
}

// Refused, as in PyTorch.
bool DualLevel::takes_whole(const OpCall& call) const { return call.form == Form::Out; }

void DualLevel::handle(OpCall& call) {
    std::vector<Tensor> tangents;
    if (!suspended && call.form != Form::Read && call.form != Form::Rebind) tangents = tangents_of(call.inputs);
    if (!any(tangents)) return call.form == Form::Out ? open(call) : dispatch(call);
    switch (call.form) {
        case Form::Functional:
            return push_functional(call, std::move(tangents));
        case Form::InPlace:
            return push_in_place(call, std::move(tangents));
        case Form::Accumulate:
            return push_sum(call, tangents);
        case Form::Out:
            fail(ErrorKind::NotImplemented,
                 "%s: Trying to use forward AD with %s_out that does not support it because it is an out= function; "
                 "call it without out=",
                 call.op.name, call.op.name);
        default:
            return dispatch(call);
    }
}

void DualLevel::push_functional(OpCall& call, std::vector<Tensor> tangents) {
    dispatch(call);
    if (is_as_strided(call.op)) return share_part(call.inputs[0], call.outputs[0]);
    if (call.op.is(kView) && tangents[0]) tangents[0] = laid_as(std::move(tangents[0]), call.inputs[0].layout());
    std::vector<Tensor> found = jvp(call.op, call.inputs, call.attributes, call.outputs, tangents);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const Tensor& output = call.outputs[i];
        if (!found[i] || !output) continue;
        if (is_view_of(call, output)) {
            share(call.inputs[0], output, std::move(found[i]));
            continue;
        }
        give_tangent(output, fitted(found[i], output));
    }
}

void DualLevel::push_in_place(OpCall& call, std::vector<Tensor> tangents) {
    const Tensor self = call.inputs[0];
    if (call.op.is(kAxesInPlace)) return push_axes_in_place(call, tangents[0]);
    if (call.op.is(kOptimizerStep) || call.op.writes > 1)
        fail(ErrorKind::NotImplemented, "%s: forward mode does not pass it; give it tensors without tangents",
             call.op.name);
    const RecordTangent recording(tangents[0]);
    std::vector<Tensor> before(call.inputs.begin(), call.inputs.end());
    before[0] = clone(self);
    for (std::size_t i = 1; i < before.size(); ++i)  // the same elements: others are copies already
        if (before[i] && before[i]->storage == self->storage) before[i] = before[0];
    {
        const ModeGuard as_called(kNoGrad, recording.before);
        dispatch(call);
    }
    if (!is_inexact(self.dtype())) return;
    std::vector<Tensor> found = jvp(call.op, before, call.attributes, Tensors(&self, 1), tangents);
    write_tangent(self, fitted(found[0], self));
}

void DualLevel::push_axes_in_place(OpCall& call, const Tensor& tangent) {
    const Tensor before = alias(call.inputs[0], call.inputs[0]->layout, call.inputs[0]->offset);
    share(call.inputs[0], before, tangent);
    dispatch(call);
    const OpDef& moves = batching::out_of_place(call.op);
    if (is_as_strided(moves)) return share_part(before, call.inputs[0]);
    Tensor moved;
    OpCall view{moves, Tensors(&tangent, 1), call.attributes, std::span<Tensor>(&moved, 1)};
    dispatch(view);
    share(before, call.inputs[0], std::move(moved));
}

void DualLevel::push_sum(OpCall& call, const std::vector<Tensor>& tangents) {
    const Tensor into = call.inputs[0];
    const Tensor before = tangents[0];
    dispatch(call);
    const Tensor more = fitted(tangents[1], into);
    write_tangent(into, before && more ? add(before, more) : before ? before : more);
}

}  // namespace clew
