// Results in memory that nobody will look at again: Note [Reusing the memory of a gradient].
#include <algorithm>
#include <iterator>
#include <vector>

#include "core/autograd/leaf.h"
#include "core/ops/dispatch.h"
#include "core/ops/recording.h"
#include "core/tensor/packing.h"

namespace clew {
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

// Whether the result would lie as the first input does, which is unshared, if it were fresh: axes of one element, and
// those along which two strides are the same, may lie in another way there.
bool lies_as_first(Tensors inputs) {
    const Layout& first = inputs[0].layout();
    if (!is_packed(first)) return false;
    const auto decides_nothing = [&](const Tensor& other) {
        return !other || &other.layout() == &first ||
               (first.contiguous && other.layout().contiguous && is_packed(other.layout()));
    };
    return std::ranges::all_of(inputs.subspan(1), decides_nothing) ||
           same_sizes(layout_among(inputs[0].sizes(), inputs)->strides(), first.strides());
}

}  // namespace

LayoutRef layout_among(Sizes sizes, Tensors inputs) {
    std::vector<Tensor> operands;
    std::copy_if(inputs.begin(), inputs.end(), std::back_inserter(operands), [](const Tensor& t) { return bool(t); });
    return result_layout(sizes, operands);
}

bool may_write_over(Tensors inputs) {
    return (mode_word & (kNoGrad | kInterpreted)) == kNoGrad && is_unshared(inputs[0]) &&
           result_matches(inputs[0], inputs.subspan(1)) && lies_as_first(inputs);
}

Tensor output_over(const OpDef& op, Tensors inputs, const void* attributes, const TensorObject* donated) {
    if (!op.elementwise || !op.is(kInPlace) || !op.differentiable || mode(kInterpreted)) return {};
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

}  // namespace clew
