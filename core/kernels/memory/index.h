// Reading and writing at computed places. Elements are moved by size, so one loop serves all dtypes of that size; only
// what adds looks at the dtype.
//
// Indices are int64. Unless a line says otherwise the caller has checked shapes and bounds, views that are indexed
// along an axis have one (a scalar comes as one element), and out overlaps no input. Where an index repeats, writes are
// made in the order of the index: the last one stays, and sums have one order.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

// The position (counted in row-major order) of the first index outside [0, size), or -1. With allow_negative: [-size,
// size).
std::int64_t check_bounds(const View& index, std::int64_t size, bool allow_negative = false);

// out[i] = in[index[i]]; out and index are contiguous and of one shape, in has one axis, and a negative index counts
// from its end. Gives the first position at which index is not in [-size, size), and then out is unfinished; or -1.
std::int64_t take(const View& out, const View& in, const View& index);

// index has one dimension: out[.., i, ..] = in[.., index[i], ..], and the other way round.
void index_select(const View& out, const View& in, int axis, const View& index);
void index_copy(const View& out, int axis, const View& index, const View& src);
void index_add(const View& out, int axis, const View& index, const View& src);
void index_fill(const View& out, int axis, const View& index, const void* value);  // one element of out's dtype

// index has as many dimensions as in: out[i][j] = in[index[i][j]][j] for axis 0. out has index's shape.
void gather(const View& out, const View& in, int axis, const View& index);
// The same with unchecked bounds: the first position at which index is not in [0, size), and then out is unfinished; or
// -1.
std::int64_t gather_checked(const View& out, const View& in, int axis, const View& index);
// out[index[i][j]][j] = src[i][j] for axis 0, over index's shape.
void scatter(const View& out, int axis, const View& index, const View& src);
void scatter_fill(const View& out, int axis, const View& index, const void* value);  // one element of out's dtype
void scatter_add(const View& out, int axis, const View& index, const View& src);

// Advanced indexing. The result has a shape S (axes that are sliced and axes of the broadcast indices, in any order).
// `in` is seen in the shape S with stride 0 along the axes of the indices; each index is seen in S with stride 0 along
// sliced axes and comes with the size and stride (in elements) of the axis of `in` that it addresses. Negative indices
// count from the end.
struct AxisIndex {
    View index;
    std::int64_t size;
    std::int64_t stride;
};
// out[s] = in[s, indices[s]]
void index_get(const View& out, const View& in, const AxisIndex* indices, int count);
// The same for one index without negative ones, as gather_checked.
std::int64_t index_get_checked(const View& out, const View& in, const AxisIndex& index);
// out[s, indices[s]] = values[s], or += with accumulate; values may be broadcast (stride 0).
void index_put(const View& out, const AxisIndex* indices, int count, const View& values, bool accumulate);

// mask is Bool and has out's shape (stride 0 where it is broadcast).
void masked_fill(const View& out, const View& mask, const void* value);  // one element of out's dtype
// out is one-dimensional and holds count_nonzero(mask) elements; in and mask have one shape.
void masked_select(const View& out, const View& in, const View& mask);
// The places of out where mask holds take the elements of src (one-dimensional, long enough) one after another.
void masked_scatter(const View& out, const View& mask, const View& src);

std::int64_t count_nonzero(const View& in);
// out is int64, count_nonzero(in) x in.ndim: the positions of what is not zero, in row-major order. NaN is not zero.
void nonzero(const View& out, const View& in);

// Keeps what lies on and below (above) the diagonal of the last two axes, zero elsewhere. out may be in.
void tril(const View& out, const View& in, std::int64_t diagonal);
void triu(const View& out, const View& in, std::int64_t diagonal);

}  // namespace clew::kernels
