// A recurrent layer in operations that record themselves: what derivatives of its derivative are made of.
#pragma once
#include <span>

#include "core/kernels/layers/recurrent_layer.h"
#include "core/tensor/tensor.h"

namespace clew::recurrent {

enum Input { kX, kFirstHidden, kFirstCell, kWeightInput, kWeightHidden, kBiasInput, kBiasHidden, kInputs };

struct LayerAttrs {
    std::int64_t kind;  // RecurrentKind
    bool reverse;
};

class Composed {
public:
    Composed(std::span<const Tensor> inputs, const LayerAttrs& attrs);
    const Tensor& output() const { return output_; }
    const Tensor& hidden() const { return hidden_; }
    const Tensor& cell() const { return cell_; }

private:
    Tensor affine(const Tensor& x, Input weight, Input bias) const;
    void step(const Tensor& x);

    std::span<const Tensor> inputs_;
    const LayerAttrs& attrs_;
    Tensor hidden_, cell_, output_;
};

}  // namespace clew::recurrent
