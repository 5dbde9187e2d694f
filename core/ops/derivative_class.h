// What kind of function an operation is of its tensors, from which its derivative along a tangent follows.
//
// Note [Derivative classes]
// `derivative` in an OpText is one of these:
//
//     "elementwise"           each element of the result depends on what lies at its place: the tangent of the result
//                             is what the rules of the inputs give for their tangents, as if these were gradients
//     "self"                  linear in this input: the operation itself on the tangent. The same for
//     "self + source"         a sum of terms that are linear in one input (or in a list of them)
//     "self + mat1 * mat2"    and of terms that are linear in each of their factors: one factor at a time is replaced
//                             by its tangent
//     "self; value"           affine: these attributes are 0 in the linear part
//     ""                      none of these. The rules are linear in the gradient, so they say the tangent as well:
//                             Note [Tangents by transposing]
//
// What is missing: inputs that are in no term are as they were; a term none of whose factors has a tangent is 0. An
// input that is no constant and in no term makes the operation one of the last kind wherever that input has a tangent.
// Operations with kElementwise or kElementByElement are "elementwise", views linear in their input, without saying so.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ops/schema.h"

namespace clew {

struct DerivativeClass {
    std::string text;  // as above
    enum Kind : std::uint8_t { ByRule, Elementwise, Linear } kind = ByRule;
    using Term = std::vector<int>;  // factors: places among the schema's tensors and lists of tensors
    std::vector<Term> terms;
    std::vector<int> zeroed;  // places among the schema's attributes
};

DerivativeClass parse_derivative_class(std::string_view text, const Schema& schema);

}  // namespace clew
