// One number for each channel, or group of channels: what normalisations compute in float64, whatever dtype it is kept
// in.
#pragma once
#include <algorithm>
#include <vector>

#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {

using Numbers = std::vector<double>;

inline Numbers numbers_of(const Tensor& x, std::int64_t count, double missing) {
    Numbers values(static_cast<std::size_t>(count), missing);
    if (!x || kernels_skipped()) return values;
    const Tensor doubles = as_contiguous(converted(x, DType::Float64));
    std::copy_n(doubles.data_as<double>(), count, values.begin());
    return values;
}
inline Tensor tensor_of(const Numbers& values, Sizes sizes, DType dtype) {
    Tensor doubles = empty(sizes, DType::Float64);
    if (!kernels_skipped()) std::copy(values.begin(), values.end(), doubles.data_as<double>());
    return converted(doubles, dtype);
}

}  // namespace clew
