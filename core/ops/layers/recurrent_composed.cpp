#include "core/ops/layers/recurrent_composed.h"

#include <vector>

#include "core/ops/functions.h"

namespace clew::recurrent {

using kernels::RecurrentKind;

Composed::Composed(std::span<const Tensor> inputs, const LayerAttrs& attrs)
    : inputs_(inputs), attrs_(attrs), hidden_(inputs[kFirstHidden]), cell_(inputs[kFirstCell]) {
    const std::int64_t steps = inputs[kX].size(0);
    std::vector<Tensor> outputs(static_cast<std::size_t>(steps));
    for (std::int64_t i = 0; i < steps; ++i) {
        const std::int64_t at = attrs.reverse ? steps - 1 - i : i;
        step(select(inputs[kX], 0, at));
        outputs[static_cast<std::size_t>(at)] = hidden_;
    }
    output_ = stack(outputs, 0);
}

Tensor Composed::affine(const Tensor& x, Input weight, Input bias) const {
    const Tensor product = matmul(x, t(inputs_[weight]));
    return inputs_[bias] ? add(product, inputs_[bias]) : product;
}

void Composed::step(const Tensor& x) {
    const Tensor from_input = affine(x, kWeightInput, kBiasInput),
                 from_hidden = affine(hidden_, kWeightHidden, kBiasHidden);
    const std::int64_t size = hidden_.size(1);
    const auto gate = [size](const Tensor& all, int i) { return narrow(all, 1, i * size, size); };
    switch (static_cast<RecurrentKind>(attrs_.kind)) {
        case RecurrentKind::Lstm: {
            const Tensor gates = add(from_input, from_hidden);
            cell_ = add(mul(sigmoid(gate(gates, 1)), cell_), mul(sigmoid(gate(gates, 0)), tanh(gate(gates, 2))));
            hidden_ = mul(sigmoid(gate(gates, 3)), tanh(cell_));
            return;
        }
        case RecurrentKind::Gru: {
            const auto both = [&](int i) { return sigmoid(add(gate(from_input, i), gate(from_hidden, i))); };
            const Tensor fresh = tanh(add(gate(from_input, 2), mul(both(0), gate(from_hidden, 2))));
            hidden_ = add(fresh, mul(both(1), sub(hidden_, fresh)));
            return;
        }
        case RecurrentKind::Tanh:
            hidden_ = tanh(add(from_input, from_hidden));
            return;
        case RecurrentKind::Relu:
            hidden_ = relu(add(from_input, from_hidden));
            return;
    }
}

}  // namespace clew::recurrent
