// Numbers among an operation's attributes take part in type promotion as Python's numbers do beside tensors.
#pragma once
#include <initializer_list>

#include "core/ops/schema.h"

namespace clew {

Tensor number(const Scalar& value);  // a wrapped number: 0-dim, yields to tensors in type promotion

// Writes the number to all places of x, without history.
void fill_with(const Tensor& x, const Scalar& value);

// The dtype of an operation on x and these numbers; and x in that dtype, without history.
DType dtype_beside(const Tensor& x, std::initializer_list<Scalar> numbers);
Tensor converted_beside(const Tensor& x, std::initializer_list<Scalar> numbers);

}  // namespace clew
