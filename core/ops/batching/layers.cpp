// Layers: the batch joins the one that they have, or, where each sample has weights of its own, their groups.
#include "core/ops/batching/rules.h"
#include "core/ops/functions.h"

namespace clew::batching {
namespace {

// (B, N, ...) as (B * N, ...), and back.
Tensor joined(const Tensor& value, int axis = 0) {
    Dims sizes(value.sizes());
    sizes[axis + 1] *= sizes[axis];
    sizes.erase(axis);
    return reshape(value, sizes);
}
Tensor parted(const Tensor& value, int axis, std::int64_t first, std::int64_t second) {
    Dims sizes(value.sizes());
    sizes[axis] = second;
    sizes.insert(axis, first);
    return reshape(value, sizes);
}

std::vector<Tensor> run_on(const Call& call, const std::vector<Tensor>& inputs, const void* attributes) {
    std::vector<Tensor> outputs(call.call.outputs.size());
    apply(call.op(), inputs, attributes, outputs);
    return outputs;
}

template <int kSpace>
bool pooled(const Call& call) {
    const int rank = call.rank(0);
    if (rank != kSpace + 1 && rank != kSpace + 2) return false;
    const bool joins = rank == kSpace + 2;
    const std::vector<Tensor> outputs =
        run_on(call, {joins ? joined(call.values[0]) : call.values[0]}, call.call.attributes);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        call.give(i, joins ? parted(outputs[i], 0, call.by.size, call.call.inputs[0].size(0)) : outputs[i]);
    return true;
}

bool convolved(const Call& call) {
    if (call.rank(0) != call.rank(1)) return false;
    const std::int64_t size = call.by.size, rows = call.call.inputs[0].size(0);
    if (!call.batched(1) && !call.batched(2)) {
        const Tensor input = joined(call.values[0]);
        const auto outputs = run_on(call, {input, call.values[1], call.values[2]}, call.call.attributes);
        call.give(0, parted(outputs[0], 0, size, rows));
        return true;
    }
    // Samples are groups of channels.
    AttributeCopy attributes(call.op(), call.call.attributes);
    attributes.set("groups", attributes.get("groups").integer * size);
    const Tensor input = joined(transpose(call.expanded(0), 0, 1), 1), weight = joined(call.expanded(1)),
                 bias = call.has(2) ? joined(call.expanded(2)) : Tensor();
    const Tensor output = run_on(call, {input, weight, bias}, attributes.data())[0];
    call.give(0, transpose(parted(output, 1, size, output.size(1) / size), 0, 1));
    return true;
}

// Weights and shifts of each sample come after a layer without them.
bool normalized(const Call& call) {
    const bool own_weights = call.batched(1) || call.batched(2);
    if (!own_weights) {
        call.run(call.values, call.call.attributes);
        return true;
    }
    const std::vector<Tensor> outputs = run_on(call, {call.expanded(0), {}, {}}, call.call.attributes);
    const auto fitted = [&](std::size_t i) {
        return call.batched(i) ? at_rank(call.values[i], call.rank(0)) : call.values[i];
    };
    Tensor output = outputs[0];
    if (call.has(1)) output = mul(output, fitted(1));
    if (call.has(2)) output = add(output, fitted(2));
    call.give(0, output);
    for (std::size_t i = 1; i < outputs.size(); ++i) call.give(i, outputs[i]);
    return true;
}

// By statistics that are given: (x - mean) / sqrt(var + eps) * weight + bias, channels being axis 1 of a sample.
bool normalized_by_channel(const Call& call) {
    const AttributeCopy attributes(call.op(), call.call.attributes);
    if (attributes.get("training").integer || !call.has(3) || !call.has(4) || call.rank(0) < 2) return false;
    for (std::size_t i = 1; i < call.count(); ++i)
        if (call.has(i) && call.values[i].dtype() != call.values[0].dtype()) return false;
    const auto fitted = [&](std::size_t i) {
        Dims sizes{call.call.inputs[i].size(0)};
        for (int axis = 2; axis < call.rank(0); ++axis) sizes.push_back(1);
        return call.batched(i) ? at_rank(reshaped_sample(call.values[i], sizes), call.rank(0))
                               : reshape(call.values[i], sizes);
    };
    Tensor output = mul(sub(call.expanded(0), fitted(3)), rsqrt(add(fitted(4), attributes.get("eps").real)));
    if (call.has(1)) output = mul(output, fitted(1));
    if (call.has(2)) output = add(output, fitted(2));
    call.give(0, output);
    for (std::size_t i = 1; i < call.call.outputs.size(); ++i)  // of no use then
        call.give(i, zeros(Dims{call.by.size, 0}, output.dtype()));
    return true;
}

// Rows of one table, or of one table for each sample, which is one long table.
bool embedded(const Call& call) {
    const AttributeCopy attributes(call.op(), call.call.attributes);
    if (!call.batched(0)) {
        call.run(call.values, call.call.attributes);
        return true;
    }
    if (attributes.get("padding_idx").integer >= 0 || attributes.get("scale_grad_by_freq").integer) return false;
    const std::int64_t size = call.by.size, rows = call.call.inputs[0].size(0);
    if (rows == 0 || call.rank(0) != 2) return false;
    Dims sizes{size};
    for (int axis = 0; axis < call.rank(1); ++axis) sizes.push_back(1);
    const Tensor indices = call.batched(1) ? call.values[1] : call.expanded(1);
    // Out of range in a table of its own is out of range in none of the long one.
    const Tensor inside = logical_and(compare(kGe, indices, 0), compare(kLt, indices, static_cast<double>(rows)));
    const Tensor lengths = full(Dims{size}, static_cast<double>(rows), indices.dtype());
    const Tensor first = reshape(cast(sub(cumsum(lengths, 0), lengths), indices.dtype()), sizes);
    const Tensor places = where(inside, add(indices, first), full_like(indices, -1));
    call.run({joined(call.values[0]), places}, call.call.attributes);
    return true;
}

}  // namespace

Rule layer_rule(BatchBy batching) {
    switch (batching) {
        case BatchBy::Pool1:
            return pooled<1>;
        case BatchBy::Pool2:
            return pooled<2>;
        case BatchBy::Pool3:
            return pooled<3>;
        case BatchBy::Convolution:
            return convolved;
        case BatchBy::LayerNorm:
            return normalized;
        case BatchBy::BatchNorm:
            return normalized_by_channel;
        case BatchBy::Embedding:
            return embedded;
        default:
            return nullptr;
    }
}

}  // namespace clew::batching
