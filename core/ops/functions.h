// The vocabulary in which derivative rules are written: differentiable operations as plain C++ functions.
// Each is defined beside the operation's struct in its family file.
#pragma once
#include <optional>
#include <tuple>

#include "core/ops/schema.h"
#include "core/tensor/tensor.h"

namespace clew {

struct NodeKind;

using Tensors = std::span<const Tensor>;

// promote.cpp

// arithmetic.cpp
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, double b);
Tensor add(const Tensor& a, double b);
Tensor div(const Tensor& a, double b);
Tensor neg(const Tensor& x);
// The same, over what dies with the call (Note [Reusing the memory of a gradient]).
Tensor mul(Tensor&& donated, const Tensor& b);
Tensor mul(Tensor&& donated, double b);
Tensor div(Tensor&& donated, const Tensor& b);
Tensor div(Tensor&& donated, double b);
Tensor neg(Tensor&& donated);
void mul_in_place(const Tensor& self, const Tensor& other);
Tensor conj(const Tensor& x);  // free on reals
Tensor real(const Tensor& x);  // the same
Tensor imag(const Tensor& x);
Tensor view_as_real(const Tensor& x);
Tensor view_as_complex(const Tensor& x);
Tensor part_of(const Tensor& z, int which);  // the real parts (0) or the imaginary ones, as plain memory

// power.cpp
Tensor pow(const Tensor& base, double exponent);
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor square(const Tensor& x);

// exponential.cpp, trigonometry.cpp, rounding.cpp, special.cpp
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor sgn(const Tensor& x);
Tensor lgamma(const Tensor& x);
Tensor xlogy(const Tensor& x, const Tensor& y);
Tensor digamma(const Tensor& x);
Tensor polygamma(std::int64_t n, const Tensor& x);  // the n-th derivative of digamma
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);

// compare.cpp, logical.cpp: bool, without history
enum Comparison : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe };
Tensor compare(Comparison which, const Tensor& a, const Tensor& b);
Tensor compare(Comparison which, const Tensor& a, double b);
Tensor logical_and(const Tensor& a, const Tensor& b);
Tensor logical_or(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);
Tensor is_finite(const Tensor& x);

// division.cpp
Tensor div(const Tensor& a, const Tensor& b, const Text& rounding_mode);  // "floor" or "trunc"

// activation.cpp, activation_hard.cpp
Tensor relu(const Tensor& x);
Tensor hardtanh(const Tensor& x, double low, double high);
Tensor logsigmoid(const Tensor& x);

// extremum.cpp, ternary.cpp
Tensor maximum(const Tensor& a, const Tensor& b);  // a NaN on either side wins
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor div_mul(const Tensor& a, const Tensor& b, const Tensor& factor);  // a / b * factor, in one pass
Tensor div_mul(Tensor&& donated, const Tensor& b, const Tensor& factor);

// bernoulli.cpp
Tensor dropout(const Tensor& x, double p);  // as in training

// creation.cpp
Tensor to_meta(const Tensor& x);  // the same without values: Note [Meta tensors]
Tensor zeros(Sizes sizes, DType dtype);
Tensor ones(Sizes sizes, DType dtype);
Tensor full(Sizes sizes, double value, DType dtype);
Tensor full_like(const Tensor& x, double value);  // lies in memory as x does
Tensor uninitialized_like(const Tensor& x, DType dtype);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);

// scalar.cpp
Tensor number(double value, DType dtype);  // a wrapped number: yields to tensors in type promotion
inline Tensor zero() { return number(0, DType::Float64); }
inline Tensor one() { return number(1, DType::Float64); }

// convert.cpp
Tensor cast(const Tensor& x, DType dtype);  // x itself if it has the dtype
Tensor clone(const Tensor& x);
Tensor contiguous(const Tensor& x);                                          // x itself if it is
Tensor detach(const Tensor& x);                                              // no node; records where history was lost
Tensor copy_as(const Tensor& x, DType dtype);                                // a contiguous copy without history
Tensor copy_laid_as(const Tensor& x, const Tensor& like);                    // like is dense
void copy_in_place(const Tensor& self, const Tensor& source);                // self.copy_(source)
void overwrite(const Tensor& self, const Tensor& source, const char* name);  // the same; the write log says `name`
void fill_in_place(const Tensor& self, const Tensor& value);                 // self.fill_(value), which has no axes
bool all_finite(const Tensor& x);

// shape.cpp
Tensor reshape(const Tensor& x, Sizes sizes);            // x itself if it has these sizes
Tensor reshape_anew(const Tensor& x, Sizes sizes);       // a new tensor always
Tensor view(const Tensor& x, Sizes sizes);               // a new view always
Tensor unsafe_view(const Tensor& x, Sizes sizes);        // of a fresh contiguous result: no view
Tensor expand(const Tensor& x, Sizes sizes);             // x itself if it has the sizes
Tensor expand_view(const Tensor& x, const Dims& sizes);  // a new view always; -1 keeps a size
Tensor transpose(const Tensor& x, int a, int b);
Tensor permute(const Tensor& x, const Dims& axes);
Tensor unsqueeze(const Tensor& x, int axis);
Tensor squeeze(const Tensor& x, int axis);
Tensor narrow(const Tensor& x, int axis, std::int64_t start, std::int64_t length);
Tensor select(const Tensor& x, int axis, std::int64_t index);
Tensor slice(const Tensor& x, int axis, std::int64_t start, std::int64_t end,
             std::int64_t step);                                                      // bounds as in Python
Tensor as_strided(const Tensor& x, Sizes sizes, Sizes strides, std::int64_t offset);  // offset relative to x
bool is_as_strided(const NodeKind& kind);
Tensor as_strided_scatter(const Tensor& base, const Tensor& value, Sizes sizes, Sizes strides, std::int64_t offset);

// pad.cpp
Tensor constant_pad(const Tensor& x, const Dims& before, const Dims& after, double value);  // from the last axis on

// views.cpp, join.cpp, rearrange.cpp
Tensor view_alias(const Tensor& x);  // another view of all of x
Tensor diagonal(const Tensor& x, std::int64_t offset, int a, int b);
Tensor diag_embed(const Tensor& x, std::int64_t offset, int a, int b);
Tensor cat(Tensors parts, int axis);
Tensor stack(Tensors parts, int axis);
Tensor repeat(const Tensor& x, const Dims& repeats);
Tensor roll(const Tensor& x, const Dims& shifts, const Dims& axes);
Tensor flip(const Tensor& x, const Dims& axes);
Tensor tril(const Tensor& x, std::int64_t diagonal);
Tensor triu(const Tensor& x, std::int64_t diagonal);

// indexing.cpp, index_write.cpp, index_put.cpp, masked.cpp: indices are int64 or int32
Tensor index_select(const Tensor& x, int axis, const Tensor& index);
Tensor index_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
Tensor index_fill(const Tensor& x, int axis, const Tensor& index, double value);
Tensor gather(const Tensor& x, int axis, const Tensor& index);
Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
Tensor scatter(const Tensor& x, int axis, const Tensor& index, double value);
Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source);
Tensor index(const Tensor& x, Tensors indices);  // x[i, j ...]: an empty handle stands for a whole axis; masks are fine
Tensor index_put(const Tensor& x, Tensors indices, const Tensor& values, bool accumulate);
void index_put_in_place(const Tensor& x, Tensors indices, const Tensor& values);
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);
Tensor masked_select(const Tensor& x, const Tensor& mask);
Tensor masked_scatter(const Tensor& x, const Tensor& mask, const Tensor& source);
Tensor nonzero(const Tensor& x);

// reduce.cpp
Tensor sum(const Tensor& x);
Tensor sum(const Tensor& x, const Dims& axes, bool keepdim);
Tensor mean(const Tensor& x);
Tensor mean(const Tensor& x, const Dims& axes, bool keepdim);
Tensor sum_to(const Tensor& x, Sizes sizes);  // the inverse of broadcasting

// scan.cpp, softmax.cpp, norm.cpp
Tensor cumsum(const Tensor& x, int axis);
Tensor cumprod(const Tensor& x, int axis);
Tensor softmax(const Tensor& x, int axis);
Tensor log_softmax(const Tensor& x, int axis);

// matmul.cpp
Tensor mm(const Tensor& a, const Tensor& b);
Tensor bmm(const Tensor& a, const Tensor& b);
Tensor mv(const Tensor& a, const Tensor& x);
Tensor dot(const Tensor& a, const Tensor& b);
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor t(const Tensor& x);

// Base of operations whose result does not change with input 0: drawn, filled, in steps.
struct ZeroGradient {
    static constexpr bool zero_gradient = true;
    static constexpr auto rules = std::tuple{&zeros_like};
};

}  // namespace clew
