// Reductions over any set of axes. The bits of a result depend on shapes and strides alone, never on the number of
// threads.
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

enum class ReduceKind : std::uint8_t {
    Sum,      // floating: dtype of the input; bool and integers: int64
    Mean,     // floating only; of nothing: NaN
    Product,  // dtypes as Sum
    Max,      // dtype of the input; NaN wins; the reduced axes must not be empty
    Min,
    Any,  // bool
    All,
    SumSquares,  // dtypes as Sum
    SumAbs,
    LogSumExp,  // floating only; of nothing: -inf
    Length,     // floating only: the root of SumSquares, also where that is out of float's range
};
inline constexpr int kReduceKinds = 11;

inline constexpr DType reduced_dtype(ReduceKind kind, DType in) {
    if (kind == ReduceKind::Any || kind == ReduceKind::All) return DType::Bool;
    if (kind == ReduceKind::Max || kind == ReduceKind::Min || is_inexact(in)) return in;
    return DType::Int64;
}

// Bit i of `axes_mask` says that axis i of `in` is reduced. `out` has the kept axes of `in`, in order, and the dtype
// above.
void reduce(ReduceKind kind, const View& out, const View& in, std::uint32_t axes_mask);

// The largest (or smallest) elements along `axis` and where they are: the first of equals, and the first NaN wins over
// all. `out_indices` (int64) and `out_values` (dtype of `in`, may be null) have the other axes of `in`.
void arg_reduce(bool largest, const View* out_values, const View& out_indices, const View& in, int axis);

// Mean, and the sum of squared deviations from it over `divisor` or the root of that, in two passes; floating only.
enum class Spread : std::uint8_t { Variance, Deviation };
void moments(const View& out_mean, const View& out_spread, const View& in, std::uint32_t axes_mask, double divisor,
             Spread spread);

// Products of complex numbers along `axis`; `out` has the other axes.
void complex_product(const View& out, const View& in, int axis);

// Running sums and products along `axis`; `out` has the sizes of `in`, and the dtype of `in` if floating, else int64.
void cumsum(const View& out, const View& in, int axis);
void cumprod(const View& out, const View& in, int axis);

}  // namespace clew::kernels
