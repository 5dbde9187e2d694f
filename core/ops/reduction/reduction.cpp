#include "core/ops/reduction/reduction.h"

#include <cstring>

#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/capture.h"
#include "core/kernels/elementwise/arithmetic.h"
#include "core/kernels/elementwise/elementwise.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {

std::uint32_t axes_mask(const std::optional<Axes>& axes, int ndim, const char* op) {
    if (!axes || axes->empty()) return (1u << ndim) - 1;
    std::uint32_t mask = 0;
    for (const std::int64_t given : *axes) {
        const int axis = wrap_axis(given, ndim, op);
        if (mask >> axis & 1)
            fail(ErrorKind::Runtime, "%s: dim %d appears multiple times in the list of dims", op, axis);
        mask |= 1u << axis;
    }
    return ndim == 0 ? 0 : mask;
}

Dims axes_of(std::uint32_t mask) {
    Dims axes;
    for (; mask; mask &= mask - 1) axes.push_back(__builtin_ctz(mask));
    return axes;
}

std::int64_t reduced_count(Sizes sizes, std::uint32_t mask) {
    std::int64_t count = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        if (mask >> i & 1) count *= sizes[i];
    return count;
}

Dims reduced_sizes(Sizes sizes, std::uint32_t mask, bool keepdim) {
    Dims result;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        if (!(mask >> i & 1))
            result.push_back(sizes[i]);
        else if (keepdim)
            result.push_back(1);
    }
    return result;
}

namespace {

// Along one axis, or of all elements.
Tensor complex_product(const Tensor& x, std::uint32_t mask, bool keepdim) {
    const bool all = mask == all_axes(x);
    const Tensor flat = all ? as_contiguous(x) : x;
    const std::int64_t count = x.numel(), step = 1;
    const Dims sizes = reduced_sizes(x.sizes(), mask, false);
    Tensor out = empty(Layout::make(sizes), x.dtype());
    kernels::fill(out.view(), 1.0);  // of nothing
    const kernels::View in = all ? kernels::View{flat.data(), x.dtype(), 1, &count, &step} : x.view();
    kernels::complex_product(out.view(), in, all ? 0 : __builtin_ctz(mask));
    if (keepdim) out->layout = Layout::make(reduced_sizes(x.sizes(), mask, true));
    return out;
}

}  // namespace

void check_ordered(const char* op, DType dtype) {
    if (is_complex(dtype))
        fail(ErrorKind::NotImplemented, "%s: complex numbers have no order, got %s; compare their abs() or parts", op,
             dtype_name(dtype));
}

Tensor reduce_axes(kernels::ReduceKind kind, const Tensor& x, std::uint32_t mask, bool keepdim) {
    if (is_complex(x.dtype())) {
        if (kind == kernels::ReduceKind::Any || kind == kernels::ReduceKind::All)
            return reduce_axes(kind, converted(x, DType::Bool), mask, keepdim);
        if (kind == kernels::ReduceKind::Product) return complex_product(x, mask, keepdim);
    }
    if (kind == kernels::ReduceKind::Max || kind == kernels::ReduceKind::Min)
        check_ordered(kind == kernels::ReduceKind::Max ? "max" : "min", x.dtype());
    Tensor out = empty(Layout::make(reduced_sizes(x.sizes(), mask, false)), kernels::reduced_dtype(kind, x.dtype()));
    kernels::reduce(kind, out.view(), x.view(), mask);
    if (keepdim) out->layout = Layout::make(reduced_sizes(x.sizes(), mask, true));
    return out;
}

void check_history_fits(const Tensor& x, const std::optional<DType>& dtype, const char* op) {
    if (dtype && !is_inexact(*dtype) && grad_enabled() && x.requires_grad())
        fail(ErrorKind::Runtime, "%s: autograd does not support dtype %s; detach() the input first, or cast it", op,
             dtype_name(*dtype));
}

Tensor restore_axes(const Tensor& x, std::uint32_t mask, int ndim, bool keepdim) {
    if (keepdim || x.ndim() == ndim) return x;
    Dims sizes;
    for (int i = 0, kept = 0; i < ndim; ++i) sizes.push_back(mask >> i & 1 ? 1 : x.size(kept++));
    return reshape(x, sizes);
}

Tensor widened(const Tensor& x) { return cast(x, compute_dtype(x.dtype())); }

Tensor share_among_equals(const Tensor& g, const Tensor& x, const Tensor& chosen) {
    // Where NaN was chosen, the NaNs share. Who replays these steps may have other values.
    const auto equal_or_nan = [&] {
        return logical_or(compare(kEq, x, chosen), logical_and(compare(kNe, x, x), compare(kNe, chosen, chosen)));
    };
    const auto equal_now = [&] {
        return has_zero(compare(kEq, chosen, chosen)) ? compare(kNe, x, x) : compare(kEq, x, chosen);
    };
    const Tensor equal = mode(kInterpreted) ? equal_or_nan() : equal_now();
    const Tensor wide = widened(g);
    return where(equal, div(wide, sum(cast(equal, wide.dtype()))), zero());
}

Tensor not_zero(const Tensor& x) {
    Tensor out;
    binary("ne", kernels::compare().ne, x, zero(), out, Result::Bool);
    return out;
}

bool has_zero(const Tensor& x) {
    if (is_meta(x)) return false;  // either way has the same shape
    need_values("no_zeros");
    // Of that alone: who replays it may have other values in x.
    return !*escape(all_nonzero(x), Read::Bool, "no_zeros").data_as<bool>();
}

// A kernel of its own, so that it can be captured with its number.
static void divide(const kernels::View& x, double divisor) {
    CLEW_CAPTURED_KERNEL(divide, x, divisor);
    alignas(16) char number[16];
    with_any_type(x.dtype, [&]<class T>() {
        const T value = static_cast<T>(divisor);
        std::memcpy(number, &value, sizeof value);
    });
    const std::int64_t zeros[kMaxDims] = {};
    const kernels::View same{number, x.dtype, x.ndim, x.sizes, zeros};
    kernels::elementwise(kernels::arithmetic().div[static_cast<int>(x.dtype)], x, {x, same});
}

void scale_in_place(const Tensor& x, double divisor) {
    if (is_storage_type(x.dtype())) {
        Tensor scaled = x;
        return binary("div", kernels::arithmetic().div, x, number(divisor, compute_dtype(x.dtype())), scaled);
    }
    divide(x.view(), divisor);
}

}  // namespace clew
