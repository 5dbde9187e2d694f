#include "core/ops/storage_types.h"

#include <vector>

#include "core/kernels/memory/copy.h"
#include "core/ops/elementwise/elementwise.h"

namespace clew {
namespace {

// The dtype that results are rounded to: the promoted one of the inexact inputs, if there are any; else of those that
// are no indices.
DType promoted(const OpCall& call) {
    std::vector<Tensor> inexact, values;
    const int count = static_cast<int>(call.inputs.size());
    for (int i = 0; i < count; ++i) {
        const Tensor& input = call.inputs[static_cast<std::size_t>(i)];
        if (input && is_inexact(input.dtype())) inexact.push_back(input);
        if (input && call.op.has_derivative(i, count)) values.push_back(input);
    }
    return result_dtype(!inexact.empty() ? Tensors(inexact) : !values.empty() ? Tensors(values) : call.inputs);
}

bool asks_for(const OpCall& call, DType dtype) {
    std::size_t field = 0;
    for (const Argument& argument : call.op.schema.arguments) {
        if (is_tensor(argument)) continue;
        Value value;
        if (argument.type == ArgType::DType) call.op.fields[field].get(call.attributes, value);
        if (argument.name == "out_int32") {
            call.op.fields[field].get(call.attributes, value);
            return value.integer != 0 && dtype == DType::Int32;
        }
        if (value.tag == Value::DType) return static_cast<DType>(value.integer) == dtype;
        ++field;
    }
    return false;
}

}  // namespace

void forward_in_compute_dtypes(OpCall& call) {
    const DType stored = promoted(call);
    std::vector<Tensor> inputs;
    for (const Tensor& input : call.inputs)
        inputs.push_back(input && is_storage_type(input.dtype()) ? converted(input, compute_dtype(input.dtype()))
                                                                 : input);
    std::vector<Tensor> results(call.outputs.size());
    OpCall inner = call;
    inner.inputs = inputs;
    inner.outputs = results;
    call.op.forward(inner);
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (call.op.writes >> i & 1 && !inputs[i].same(call.inputs[i]))
            kernels::copy(call.inputs[i].view(), inputs[i].view());
    for (std::size_t i = 0; i < results.size(); ++i) {
        Tensor& result = results[i];
        if (!result) continue;
        const bool round = result.dtype() == compute_dtype(stored) && !asks_for(call, result.dtype());
        Tensor& output = call.outputs[i];
        if (!output) {
            output = round ? converted(result, stored) : std::move(result);
            continue;
        }
        check_destination(call.op.name, output, result.sizes(), round ? stored : result.dtype());
        kernels::copy(output.view(), result.view());
    }
}

}  // namespace clew
