// Elementwise operations: values are broadcast as their samples would be.
#include <algorithm>
#include <optional>

#include "core/ops/batching/rules.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew::batching {
namespace {

bool is_elementwise(const OpDef& op) {
    return op.derivative.kind == DerivativeClass::Elementwise || op.is(kElementwise) || op.is(kElementByElement);
}

bool is_wrapped(const Tensor& x) { return x->has(TensorObject::kWrappedNumber); }

// A mask chooses elements, and has no part in type promotion.
bool is_mask(const OpDef& op, std::size_t input) {
    const std::string& name = op.schema.arguments[input].name;
    return name == "condition" || name == "mask";
}

// In type promotion, a sample without axes yields to those with axes, which its value, with an axis, would not.
void fit_dtypes(const Call& call, int rank, std::vector<Tensor>& inputs) {
    std::optional<DType> of_axes;
    for (std::size_t i = 0; i < call.count(); ++i)
        if (call.has(i) && call.rank(i) > 0 && !is_mask(call.op(), i))
            of_axes = of_axes ? promote(*of_axes, inputs[i].dtype()) : inputs[i].dtype();
    for (std::size_t i = 0; i < call.count(); ++i) {
        if (!call.has(i) || call.rank(i) > 0 || is_mask(call.op(), i)) continue;
        if (call.batched(i) && of_axes && category(inputs[i].dtype()) <= category(*of_axes))
            inputs[i] = cast(inputs[i], *of_axes);
        if (!call.batched(i) && rank == 0 && !is_wrapped(inputs[i])) inputs[i] = unsqueeze(inputs[i], 0);
    }
}

bool one_dtype(const Call& call) {
    std::optional<DType> first;
    for (std::size_t i = 0; i < call.count(); ++i) {
        if (!call.has(i) || (!call.batched(i) && is_wrapped(call.values[i]))) continue;
        if (!first) first = call.values[i].dtype();
        if (*first != call.values[i].dtype()) return false;
    }
    return true;
}

// fill_, whose value may have no axes, so that there is none for samples.
bool fills_with_one(const Call& call) {
    const auto& arguments = call.op().schema.arguments;
    return call.op().is(kWritesInput) && !is_elementwise(call.op()) && arguments.size() > 1 &&
           arguments[1].type == ArgType::Tensor && call.batched(1) && call.rank(1) == 0;
}

}  // namespace

bool elementwise(const Call& call) {
    if (!is_elementwise(call.op()) && !call.op().is(kWritesInput)) return false;
    const int rank = call.highest_rank();
    if (call.call.form == Form::InPlace && call.rank(0) < rank) return false;
    if (call.op().is(kWritesInput) && (call.op().writes || call.op().is(kAxesInPlace))) return false;
    if (rank > 0 && fills_with_one(call)) return false;
    std::vector<Tensor> inputs = call.values;
    for (std::size_t i = 0; i < call.count(); ++i)
        if (call.batched(i)) inputs[i] = at_rank(inputs[i], rank);
    if (!one_dtype(call)) fit_dtypes(call, rank, inputs);
    call.run(std::move(inputs), call.call.attributes);
    return true;
}

}  // namespace clew::batching
