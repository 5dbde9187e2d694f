#include <algorithm>
#include <new>
#include <span>

#include "core/base/checked.h"
#include "core/base/error.h"
#include "core/ops/layers/convolution.h"
#include "core/ops/layers/pooling.h"

namespace clew {
namespace {

using kernels::Pool;
using kernels::PoolAxis;

PoolAxis whole() {
    PoolAxis axis;
    axis.size = axis.length = 1;
    axis.first = {0};
    axis.count = axis.divisor = {1};
    axis.kernel = axis.stride = 1;
    return axis;
}

Pool pool_of(DType dtype, Sizes sizes, int axes) {
    Pool pool{dtype, 1, {whole(), whole(), whole()}};
    for (std::size_t i = 0; i + static_cast<std::size_t>(axes) < sizes.size(); ++i) pool.planes *= sizes[i];
    return pool;
}

std::int64_t regular_results(const char* op, std::int64_t size, const WindowAttrs& attrs, int i) {
    const std::int64_t stride = attrs.stride[i], padding = attrs.padding[i];
    const std::int64_t reach = clipped_sum(clipped_product(attrs.dilation[i], attrs.kernel[i] - 1), 1);
    const std::int64_t padded = clipped_sum(size, padding);
    const std::int64_t room = clipped_difference(clipped_sum(padded, padding), reach);
    std::int64_t results = 0;
    if (room >= 0)
        results = (attrs.ceil_mode ? divided_up(room, stride) : room / stride) + 1;
    else if (attrs.ceil_mode && clipped_sum(room, stride - 1) >= 0)
        results = 1;
    if (attrs.ceil_mode && clipped_product(results - 1, stride) >= padded) --results;
    if (results < 1)
        fail(ErrorKind::Runtime,
             "%s: Given input size %lld along an axis. Calculated output size: %lld. Output size is too small; use a "
             "smaller kernel",
             op, static_cast<long long>(size), static_cast<long long>(results));
    return results;
}

PoolAxis axis_of(std::int64_t size, std::int64_t results) {
    PoolAxis axis;
    axis.size = size;
    axis.length = results;
    return axis;
}

// Room for the windows of all axes: none where no element is pooled, however many windows there would be.
bool reserve(const char* op, Pool& pool) {
    std::int64_t elements = pool.planes;
    for (const PoolAxis& axis : pool.axes) elements = clipped_product(elements, axis.length);
    if (elements == 0) return false;
    if (elements > (std::int64_t{1} << 57))
        fail(ErrorKind::Runtime, "%s: Storage size calculation overflowed: the result would have %lld elements or more",
             op, static_cast<long long>(elements));
    try {
        for (PoolAxis& axis : pool.axes)
            for (auto* list : {&axis.first, &axis.count, &axis.divisor})
                list->reserve(static_cast<std::size_t>(axis.length));
    } catch (const std::bad_alloc&) {
        fail(ErrorKind::Memory, "%s: out of memory for a result of %lld elements", op,
             static_cast<long long>(elements));
    }
    return true;
}

void fill_regular_axis(PoolAxis& axis, const WindowAttrs& attrs, int i, bool count_padding) {
    const std::int64_t size = axis.size, kernel = attrs.kernel[i], padding = attrs.padding[i],
                       dilation = attrs.dilation[i];
    // The steps between results count only if there are several; a single huge one need not fit.
    const std::int64_t stride = axis.length > 1 ? attrs.stride[i] : 1;
    const std::int64_t reach = clipped_sum(clipped_product(dilation, kernel - 1), 1);
    axis.step = dilation;
    // Most of the taps of a window that is much larger than the input meet nothing: then each window is walked over by
    // what it has inside.
    axis.kernel = kernel <= 3 * size ? kernel : 0;
    axis.stride = stride;
    axis.offset = -padding;
    for (std::int64_t o = 0; o < axis.length; ++o) {
        const std::int64_t start = o * stride - padding, end = clipped_sum(start, reach);
        const std::int64_t skipped = start < 0 ? divided_up(-start, dilation) : 0;
        const std::int64_t first = clipped_sum(start, clipped_product(skipped, dilation)), last = std::min(end, size);
        const std::int64_t count = first < last ? divided_up(last - first, dilation) : 0;
        axis.first.push_back(std::min(first, size));
        axis.count.push_back(count);
        axis.divisor.push_back(count_padding ? std::min(end, clipped_sum(size, padding)) - start
                                             : std::max<std::int64_t>(count, 1));
    }
}

void positive(const char* op, const char* what, const Dims& values) {
    for (const std::int64_t value : values)
        if (value <= 0)
            fail(ErrorKind::Runtime, "%s: %s should be greater than zero, but got %s", op, what,
                 shape_text(values).c_str());
}

}  // namespace

WindowAttrs window_attrs(const char* op, int axes, const Dims& kernel, const std::optional<Dims>& stride,
                         const Dims& padding, const Dims& dilation, bool ceil_mode) {
    const WindowAttrs attrs{for_each_axis(op, "kernel_size", kernel, axes),
                            for_each_axis(op, "stride", stride && !stride->empty() ? *stride : kernel, axes),
                            for_each_axis(op, "padding", padding, axes), for_each_axis(op, "dilation", dilation, axes),
                            ceil_mode};
    positive(op, "kernel_size", attrs.kernel);
    positive(op, "stride", attrs.stride);
    positive(op, "dilation", attrs.dilation);
    for (int i = 0; i < axes; ++i)
        if (attrs.padding[i] < 0 || attrs.padding[i] > attrs.kernel[i] / 2)
            fail(
                ErrorKind::Runtime,
                "%s: pad should be non-negative and at most half of kernel size, but got pad=%lld and kernel_size=%lld",
                op, static_cast<long long>(attrs.padding[i]), static_cast<long long>(attrs.kernel[i]));
    return attrs;
}

void check_pooled(const char* op, const Tensor& x, int axes, MayBeEmpty which) {
    if (!is_floating(x.dtype()))
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; cast the input to a floating one", op,
             dtype_name(x.dtype()));
    bool fits = x.ndim() == axes + 1 || x.ndim() == axes + 2;
    const int first_full = which == MayBeEmpty::Batch         ? x.ndim() - axes - 1
                           : which == MayBeEmpty::First       ? 1
                           : which == MayBeEmpty::AllButSpace ? x.ndim() - axes
                                                              : x.ndim();
    for (int i = first_full; fits && i < x.ndim(); ++i) fits = x.size(i) > 0;
    if (!fits)
        fail(ErrorKind::Runtime,
             "%s: Expected %dD or %dD (batch mode) tensor with optional 0 dim batch size for input, but got: %s", op,
             axes + 1, axes + 2, shape_text(x.sizes()).c_str());
}

Pool windows(const char* op, const Tensor& x, const WindowAttrs& attrs) {
    return mean_windows(op, x.dtype(), x.sizes(), attrs, false, {});
}

Pool mean_windows(const char* op, DType dtype, Sizes sizes, const WindowAttrs& attrs, bool count_include_pad,
                  std::optional<std::int64_t> divisor) {
    if (divisor && *divisor == 0) fail(ErrorKind::Runtime, "%s: divisor must be not zero", op);
    const int axes = attrs.kernel.size();
    Pool pool = pool_of(dtype, sizes, axes);
    for (int i = 0; i < axes; ++i) {
        const std::int64_t size = sizes[sizes.size() - static_cast<std::size_t>(axes - i)];
        pool.axes[3 - axes + i] = axis_of(size, regular_results(op, size, attrs, i));
    }
    if (reserve(op, pool))
        for (int i = 0; i < axes; ++i) fill_regular_axis(pool.axes[3 - axes + i], attrs, i, count_include_pad);
    if (divisor) pool.divisor = static_cast<double>(*divisor);
    return pool;
}

Pool adaptive_windows(const char* op, DType dtype, Sizes sizes, const Dims& output) {
    const int axes = output.size();
    Pool pool = pool_of(dtype, sizes, axes);
    for (int i = 0; i < axes; ++i) {
        const std::int64_t size = sizes[sizes.size() - static_cast<std::size_t>(axes - i)];
        const std::int64_t results = output[i];
        if (results < 0)
            fail(ErrorKind::Runtime, "%s: elements of output_size must be greater than or equal to 0, but got %s", op,
                 shape_text(output).c_str());
        pool.axes[3 - axes + i] = axis_of(size, results);
    }
    if (!reserve(op, pool)) return pool;
    using Wide = __int128;
    for (PoolAxis& axis : std::span(pool.axes).last(static_cast<std::size_t>(axes)))
        for (std::int64_t o = 0; o < axis.length; ++o) {
            const auto first = static_cast<std::int64_t>(Wide{o} * axis.size / axis.length);
            const auto end = static_cast<std::int64_t>((Wide{o + 1} * axis.size + axis.length - 1) / axis.length);
            axis.first.push_back(first);
            axis.count.push_back(end - first);
            axis.divisor.push_back(end - first);
        }
    return pool;
}

Dims pooled_sizes(Sizes sizes, const Pool& pool, int axes) {
    Dims pooled(sizes);
    for (int i = 0; i < axes; ++i) pooled[pooled.size() - axes + i] = pool.axes[3 - axes + i].results();
    return pooled;
}

}  // namespace clew
