// Numbers among an operation's attributes take part in type promotion as Python's numbers do beside tensors.
#pragma once
#include <initializer_list>

#include "core/ops/schema.h"

namespace clew {

Tensor number(const Scalar& value);  // a wrapped number: 0-dim, yields to tensors in type promotion

// The number that a tensor of one element holds.
Scalar number_in(const Tensor& one_element);

// Fails unless the dtype can hold the number: an integer's range, or a finite float32. Fractions are cut off.
void check_fits(const char* op, const Scalar& value, DType dtype);
bool fits(const Scalar& value, DType dtype);
Scalar lowest(DType integer);
Scalar highest(DType integer);
// The same of an operand, if it stands for a Python number.
void check_operand_fits(const char* op, const Tensor& operand, DType dtype);

// The number as PyTorch's kernels take it beside a tensor: that of a half is rounded to a half.
Scalar rounded_beside(const Tensor& x, const Scalar& value);

// Writes the number, which must fit, to all places of x, without history.
void fill_with(const char* op, const Tensor& x, const Scalar& value);
// One element of the dtype, which the number must fit.
Tensor element(const char* op, const Scalar& value, DType dtype);

// The dtype of an operation on x and these numbers; and x in that dtype, without history.
DType dtype_beside(const Tensor& x, std::initializer_list<Scalar> numbers);
Tensor converted_beside(const Tensor& x, std::initializer_list<Scalar> numbers);

// The largest finite number of an inexact dtype.
double largest(DType inexact);
inline bool is_exactly(const Scalar& value, double number) {
    return value.real == number && (value.kind != Scalar::Complex || value.imag == 0);
}
inline Scalar negated(const Scalar& value) {
    return value.kind == Scalar::Complex ? Scalar::of(-value.real, -value.imag) : Scalar::of(-value.real);
}
// A gradient by what its input was multiplied with: by the conjugate of a complex number.
Tensor scaled(const Tensor& gradient, const Scalar& factor);

}  // namespace clew
