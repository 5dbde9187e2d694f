// How elementwise operations run: promote, broadcast, allocate, loop. The family files only name their loops.
#pragma once
#include "core/kernels/elementwise/elementwise.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/opdef.h"

namespace clew {

enum class Result {
    Same,   // the promoted dtype
    Float,  // integers become the default dtype
    Bool,   // computed in the promoted dtype, the answer is bool
    Real,   // the real dtype of a complex one
};

using Table = const kernels::Loop (&)[kDTypes];
using ParamTable = const kernels::ParamLoop (&)[kDTypes];

void unary(const char* op, Table loops, const Tensor& x, Tensor& out, Result result = Result::Same);
void binary(const char* op, Table loops, const Tensor& a, const Tensor& b, Tensor& out, Result result = Result::Same);
// A number that goes with arrays; it must fit the dtype that they are computed in.
struct Parameter {
    Scalar value;
    Parameter(double number) : value(Scalar::of(number)) {}
    Parameter(const Scalar& number) : value(number) {}
};
// All inputs promoted to one dtype; up to three params, as the loop documents them.
void parametric(const char* op, ParamTable loops, std::initializer_list<Parameter> params, Tensors inputs, Tensor& out,
                Result result = Result::Same);
// div(rounding_mode=): "floor" or "trunc".
void rounded_quotient(const Tensor& a, const Tensor& b, const Text& mode, Tensor& out);
void ternary(const char* op, Table loops, Tensors inputs, Tensor& out);  // inputs[0] may be bool (where)

// The dtype of an operation on these tensors, by PyTorch's rules: dimensioned tensors before 0-dim ones before numbers,
// and within the same rank the larger category wins.
DType result_dtype(Tensors inputs);

// A destination, which an operation in place writes, must be able to take the result: same shape, and a dtype of at
// least its category.
void check_destination(const char* op, const Tensor& out, Sizes sizes, DType dtype);

// x in another dtype as plain memory, without history: what a forward uses where a rule would say cast().
Tensor converted(const Tensor& x, DType dtype);
// The same for kernels that read contiguous memory: x itself, or a copy.
Tensor as_contiguous(const Tensor& x);
inline Tensor contiguous_or_null(const Tensor& x) { return x ? as_contiguous(x) : x; }

}  // namespace clew
