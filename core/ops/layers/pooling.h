// Windows and checks of pooling.
#pragma once
#include <optional>

#include "core/kernels/layers/pool.h"
#include "core/ops/schema.h"
#include "core/tensor/tensor.h"

namespace clew {

// What all poolings with a kernel are given. Lists have one number for each axis of space.
struct WindowAttrs {
    Dims kernel, stride, padding, dilation;
    bool ceil_mode;
};
// From what the user wrote: one number counts for all axes, no stride is the kernel's size.
WindowAttrs window_attrs(const char* op, int axes, const Dims& kernel, const std::optional<Dims>& stride,
                         const Dims& padding, const Dims& dilation, bool ceil_mode);

// Fails unless x is (C, ...) or (N, C, ...) with `axes` axes of space, floating, and has no size of 0 but of these.
enum class MayBeEmpty { Batch, First, AllButSpace, All };
void check_pooled(const char* op, const Tensor& x, int axes, MayBeEmpty which = MayBeEmpty::Batch);

// The windows over x; a mean counts the padding or what lies inside, unless it has a divisor.
kernels::Pool windows(const char* op, const Tensor& x, const WindowAttrs& attrs);
kernels::Pool mean_windows(const char* op, DType dtype, Sizes sizes, const WindowAttrs& attrs, bool count_include_pad,
                           std::optional<std::int64_t> divisor);
// As many windows as asked for, which cover the axis; a size below 0 (None) keeps the axis.
kernels::Pool adaptive_windows(const char* op, DType dtype, Sizes sizes, const Dims& output);

// The sizes of the result: those of x, the last replaced.
Dims pooled_sizes(Sizes sizes, const kernels::Pool& pool, int axes);

}  // namespace clew
