#include "core/base/error.h"
#include "core/ops/convolution.h"
#include "core/ops/pooling.h"

namespace clew {
namespace {

using kernels::Pool;
using kernels::PoolAxis;

PoolAxis whole() {
    PoolAxis axis;
    axis.size = 1;
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

PoolAxis regular_axis(const char* op, std::int64_t size, const WindowAttrs& attrs, int i, bool count_padding) {
    const std::int64_t kernel = attrs.kernel[i], stride = attrs.stride[i], padding = attrs.padding[i],
                       dilation = attrs.dilation[i];
    const std::int64_t reach = dilation * (kernel - 1) + 1, room = size + 2 * padding - reach;
    std::int64_t results = room < 0 && !attrs.ceil_mode ? 0 : (room + (attrs.ceil_mode ? stride - 1 : 0)) / stride + 1;
    if (room < 0 && room + (attrs.ceil_mode ? stride - 1 : 0) < 0) results = 0;
    if (attrs.ceil_mode && (results - 1) * stride >= size + padding) --results;
    if (results < 1)
        fail(ErrorKind::Runtime,
             "%s: Given input size %lld along an axis. Calculated output size: %lld. Output size is too small; use a "
             "smaller kernel",
             op, static_cast<long long>(size), static_cast<long long>(results));
    PoolAxis axis;
    axis.size = size;
    axis.step = dilation;
    axis.kernel = kernel;
    axis.stride = stride;
    axis.offset = -padding;
    for (std::int64_t o = 0; o < results; ++o) {
        const std::int64_t start = o * stride - padding, end = start + reach;
        const std::int64_t skipped = start < 0 ? (-start + dilation - 1) / dilation : 0;
        const std::int64_t first = start + skipped * dilation, last = std::min(end, size);
        const std::int64_t count = first < last ? (last - first + dilation - 1) / dilation : 0;
        axis.first.push_back(first);
        axis.count.push_back(count);
        axis.divisor.push_back(count_padding ? std::min(end, size + padding) - start
                                             : std::max<std::int64_t>(count, 1));
    }
    return axis;
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
        if (attrs.padding[i] < 0 || attrs.padding[i] > ((attrs.kernel[i] - 1) * attrs.dilation[i] + 1) / 2)
            fail(ErrorKind::Runtime,
                 "%s: pad should be non-negative and at most half of effective kernel size, but got pad=%lld, "
                 "kernel_size=%lld and dilation=%lld",
                 op, static_cast<long long>(attrs.padding[i]), static_cast<long long>(attrs.kernel[i]),
                 static_cast<long long>(attrs.dilation[i]));
    return attrs;
}

void check_pooled(const char* op, const Tensor& x, int axes) {
    if (!is_floating(x.dtype()))
        fail(ErrorKind::NotImplemented, "%s: not implemented for dtype %s; cast the input to a floating one", op,
             dtype_name(x.dtype()));
    bool fits = x.ndim() == axes + 1 || x.ndim() == axes + 2;
    for (int i = x.ndim() - axes - 1; fits && i < x.ndim(); ++i)
        fits = x.size(i) > 0 || (i == 0 && x.ndim() == axes + 2);
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
    for (int i = 0; i < axes; ++i)
        pool.axes[3 - axes + i] =
            regular_axis(op, sizes[sizes.size() - static_cast<std::size_t>(axes - i)], attrs, i, count_include_pad);
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
        PoolAxis axis;
        axis.size = size;
        for (std::int64_t o = 0; o < results; ++o) {
            const std::int64_t first = o * size / results, end = ((o + 1) * size + results - 1) / results;
            axis.first.push_back(first);
            axis.count.push_back(end - first);
            axis.divisor.push_back(end - first);
        }
        pool.axes[3 - axes + i] = axis;
    }
    return pool;
}

Dims pooled_sizes(Sizes sizes, const Pool& pool, int axes) {
    Dims pooled(sizes);
    for (int i = 0; i < axes; ++i) pooled[pooled.size() - axes + i] = pool.axes[3 - axes + i].results();
    return pooled;
}

}  // namespace clew
