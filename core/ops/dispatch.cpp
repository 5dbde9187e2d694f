// Note [Hot code]
// A small operation runs two thousand instructions, nearly each of them once, so fetching them matters as much as their
// number. Processors keep decoded instructions in a cache whose set is chosen by bits 6 to 11 of the address. Functions
// that lie anywhere crowd into some of these sets by chance, and one that overflows costs up to a quarter of an
// operation: a build was that much slower or faster because of an unrelated file. So what most operations pass through
// is marked [[gnu::hot]], and the linker lays it side by side, where neighbours spread over all sets. Their order still
// matters; CMakeLists.txt has one that was measured to be fast (hot_core, hot_bind).
#include "core/ops/dispatch.h"

#include <vector>

#include "core/autograd/leaf.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/ops/functions.h"
#include "core/ops/interpreter.h"
#include "core/ops/recording.h"
#include "core/ops/storage_types.h"

namespace clew {
namespace {

bool shares_elements_unlike(const Tensor& input, const Tensor& self) {
    return input && input->storage == self->storage &&
           !(input->layout == self->layout && input->offset == self->offset);
}

void run_in_place(OpCall& call) {
    const Tensor& self = call.inputs[0];
    if (skips_kernels() && !is_meta(self)) return;  // nothing is written, and the geometry is known
    const char* name = call.name() ? call.name() : call.op.in_place_name.c_str();
    InPlaceRecord record(call);
    // What is replaced by whole numbers (copy_) has no history to be told of.
    check_in_place(self, name, record.touches_history(), !call.op.is(kAxesInPlace));
    const std::vector<Tensor> sources = separate_sources(call.inputs);
    record.choose_saves();
    const Tensor* before = call.details ? call.details->before : nullptr;
    record.make_node(!record.reads_before() ? Tensor() : before ? *before : copied(self));
    Tensor output = self;
    OpCall inner = call;
    inner.outputs = std::span<Tensor>(&output, 1);
    if (!sources.empty()) inner.inputs = sources;
    {
        [[maybe_unused]] const DispatchFrame frame;
        run_forward(inner);
    }
    bump_version(self, name, call.op.is(kOptimizerStep));
    record.finish();
}

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
        if (is_tensor(argument)) continue;
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

void check_out_gradients(const OpCall& call) {
    if (!grad_enabled()) return;
    for (const Tensor& input : call.inputs)
        if (input && input.requires_grad() && !call.op.is(kNonDifferentiable))
            fail(ErrorKind::Runtime,
                 "%s: functions with out=... arguments don't support automatic differentiation, but one of the "
                 "arguments requires "
                 "grad; call it without out=, or under no_grad()",
                 call.op.name);
    for (const Tensor& destination : call.outputs)
        if (destination.requires_grad())
            fail(ErrorKind::Runtime,
                 "%s: functions with out=... arguments don't support automatic differentiation, but out requires "
                 "grad; give a detached one",
                 call.op.name);
}

// Made of calls that come through the door themselves.
void run_out(OpCall& call) {
    const char* name = call.op.name;
    check_out_gradients(call);
    std::vector<Tensor> fresh(call.outputs.size());
    std::vector<char> room;
    apply(call.op, call.inputs,
          call.op.is(kOutSetsDType) ? with_dtype_of(call.outputs[0], call.op, call.attributes, room) : call.attributes,
          fresh);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        const Tensor& to = call.outputs[i];
        check_out_dtype(call.op, fresh[i].dtype(), to.dtype());
        if (is_meta(fresh[i]) != is_meta(to))
            fail(ErrorKind::Runtime,
                 "%s: Attempting to copy from device %s to device %s, but cross-device copies are not allowed! Give an "
                 "out= on the device of the inputs",
                 name, is_meta(to) ? "cpu" : "meta", is_meta(to) ? "meta" : "cpu");
        if (!same_sizes(to.sizes(), fresh[i].sizes()) && to.numel() != 0)
            fail(ErrorKind::Runtime,
                 "%s: expected out of shape %s, got %s; give one of the right shape, or an empty one", name,
                 shape_text(fresh[i].sizes()).c_str(), shape_text(to.sizes()).c_str());
        check_in_place(to, name, false);
    }
    for (std::size_t i = 0; i < fresh.size(); ++i) {
        const Tensor& to = call.outputs[i];
        if (same_sizes(to.sizes(), fresh[i].sizes()))
            overwrite(to, fresh[i], name);
        else
            rebind_resized(to, cast(fresh[i], to.dtype()), name);
    }
}

}  // namespace

[[gnu::hot]] void run_functional(OpCall& call) {
    if (call.op.is(kComposite)) return call.op.forward(call);
    {
        [[maybe_unused]] const DispatchFrame frame;
        run_forward(call);
    }
    record_call(call);
}

void run_directly(OpCall& call) {
    switch (call.form) {
        case Form::Functional:
            return run_functional(call);
        case Form::InPlace:
            return run_in_place(call);
        case Form::Out:
            return run_out(call);
        case Form::Function:
        case Form::Rebind:
            return call.op.forward(call);
        case Form::Accumulate: {
            [[maybe_unused]] const DispatchFrame frame;
            return call.op.forward(call);
        }
        case Form::Read:
            return;
    }
}

std::vector<Tensor> separate_sources(Tensors inputs, bool with_history) {
    std::vector<Tensor> sources;
    for (std::size_t i = 1; i < inputs.size(); ++i) {
        if (!shares_elements_unlike(inputs[i], inputs[0])) continue;
        if (sources.empty()) sources.assign(inputs.begin(), inputs.end());
        sources[i] = with_history ? clone(inputs[i]) : copied(inputs[i]);
    }
    return sources;
}

Tensor copied(const Tensor& input) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    const Tensor copy = clone(input);
    if (mode(kForwardMode)) tangent_calls.carry(input, copy);
    return copy;
}

}  // namespace clew
