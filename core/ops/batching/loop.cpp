// For each sample the operation itself: what all operations have.
#include "core/base/error.h"
#include "core/base/random.h"
#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"

namespace clew::batching {
namespace {

std::vector<Tensor> sample(const Call& call, std::int64_t index) {
    std::vector<Tensor> inputs = call.values;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (call.batched(i)) inputs[i] = select(inputs[i], 0, index);
    return inputs;
}

// Of an empty batch.
std::vector<Tensor> blank_sample(const Call& call) {
    std::vector<Tensor> inputs = call.values;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (call.batched(i)) inputs[i] = zeros(inputs[i].sizes().subspan(1), inputs[i].dtype());
    return inputs;
}

std::vector<Tensor> run_one(const Call& call, const std::vector<Tensor>& inputs) {
    CallDetails details = call.call.details ? *call.call.details : CallDetails{};
    details.before = nullptr;
    std::vector<Tensor> outputs(call.call.outputs.size());
    OpCall inner{call.op(), inputs, call.call.attributes, outputs, call.call.form, &details};
    dispatch(inner);
    return outputs;
}

Tensor stacked(const Call& call, const std::vector<std::vector<Tensor>>& samples, std::size_t output) {
    std::vector<Tensor> parts;
    for (const auto& one : samples) {
        parts.push_back(one[output]);
        if (!same_sizes(parts.back().sizes(), parts.front().sizes()))
            fail(ErrorKind::Runtime,
                 "vmap: expected %s to give results of one shape for all samples, got %s and %s; We do not support "
                 "batching operators that can output dynamic shape",
                 call.op().name, shape_text(parts.front().sizes()).c_str(), shape_text(parts.back().sizes()).c_str());
    }
    return stack(parts, 0);
}

void run_blank(const Call& call) {
    if (call.call.form == Form::InPlace) return;
    const std::vector<Tensor> outputs = run_one(call, blank_sample(call));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i]) continue;
        Dims sizes(outputs[i].sizes());
        sizes.insert(0, 0);
        call.give(i, zeros(sizes, outputs[i].dtype()));
    }
}

}  // namespace

void by_loop(const Call& call, bool same_numbers) {
    if (call.by.size == 0) return run_blank(call);
    Generator* const generator = same_numbers ? call.call.details->generator : nullptr;
    const Generator before = generator ? *generator : Generator();
    const bool copies_a_view = call.op().is(kView) && call.call.form == Form::Functional;
    std::vector<std::vector<Tensor>> samples;
    for (std::int64_t index = 0; index < call.by.size; ++index) {
        if (generator) *generator = before;
        samples.push_back(run_one(call, sample(call, index)));
        if (copies_a_view)  // a write into the result would not reach the input
            fail(ErrorKind::NotImplemented, "vmap: %s is not supported with these arguments; call clone() first",
                 call.op().name);
    }
    for (std::size_t i = 0; i < call.call.outputs.size(); ++i)
        if (samples[0][i]) call.give(i, stacked(call, samples, i));
}

}  // namespace clew::batching
