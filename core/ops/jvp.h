// The derivative of one operation along tangents of its inputs (a Jacobian-vector product).
//
// Note [Tangents by transposing]
// A rule is linear in the gradient g: it is a matrix by g, and the tangent that we look for is the transposed matrix by
// the tangent of the input. So the rule is recorded on a gradient of ones, as the engine would run it, and a backward
// pass through that record takes the tangents to these gradients. Neither the operation nor its graph is needed, only
// what rules read: inputs, outputs, attributes. It costs two or three times the rule.
//
// Inputs without a tangent are skipped, never multiplied by zeros: 0 * inf would be NaN. Where results have a tangent,
// it is recorded like all that operations compute, so that it can be differentiated in turn.
#pragma once
#include <span>
#include <vector>

#include "core/ops/registry.h"

namespace clew {

// Tangents of the outputs of a call that has been made, from tangents of its inputs: one for each, null where there is
// none. A null result is a tangent of zeros. `by_rule`: by transposing, whatever the class is.
std::vector<Tensor> jvp(const OpDef& op, Tensors inputs, const void* attributes, Tensors outputs, Tensors tangents,
                        bool by_rule = false);

}  // namespace clew
