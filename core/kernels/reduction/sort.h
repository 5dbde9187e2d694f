// Order along one axis. NaN counts as greater than every number, as in PyTorch. Any dtype, any strides; indices are
// int64 views. out overlaps no input.
#pragma once
#include "core/kernels/view.h"

namespace clew::kernels {

// values, indices and in have one shape. Stable. values.data or indices.data may be null when it isn't wanted.
void sort(const View& values, const View& indices, const View& in, int axis, bool descending);

// values and indices have size k along axis. The k largest (smallest), in order if sorted; among equals the first come
// first.
void topk(const View& values, const View& indices, const View& in, int axis, bool largest, bool sorted);

// values and indices have size 1 along axis. k counts from 1.
void kthvalue(const View& values, const View& indices, const View& in, int axis, std::int64_t k);

// The lower of the two middle values; a row with a NaN gives that NaN, or with ignore_nan the median of the others.
void median(const View& values, const View& indices, const View& in, int axis, bool ignore_nan);

// out (int64, shape of values): where each value would be inserted into boundaries (one-dimensional, ascending, same
// dtype): before its equals, or after them with `right`.
void searchsorted(const View& out, const View& boundaries, const View& values, bool right);

}  // namespace clew::kernels
