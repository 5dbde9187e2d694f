// New tensors, for the functions in src/clew/ops/creation.py: these know no default dtype and no options, and names of
// theirs begin with an underscore.
#include <cmath>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/kernels/random/distributions.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

struct SizeAttrs {
    Dims size;
    DType dtype;
};
constexpr auto kSizeFields = std::tuple{&SizeAttrs::size, &SizeAttrs::dtype};

struct Empty {
    using Attrs = SizeAttrs;
    static constexpr auto fields = kSizeFields;
    static constexpr OpText text{.schema = "_empty(int[] size, dtype dtype)",
                                 .flags = kHidden | kUninitialized,
                                 .domain = "size=(a, b), dtype=float64"};
    static void forward(const Attrs& attrs, Tensor& out) { out = empty(attrs.size, attrs.dtype); }
};

struct Full {
    struct Attrs {
        Dims size;
        Scalar fill_value;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::size, &Attrs::fill_value, &Attrs::dtype};
    static constexpr OpText text{.schema = "_full(int[] size, Scalar fill_value, dtype dtype)",
                                 .flags = kHidden,
                                 .domain = "size=(a, b), fill_value=1.5, dtype=float64"};
    static void forward(const Attrs& attrs, Tensor& out) {
        check_fits("full", attrs.fill_value, attrs.dtype);
        out = empty(attrs.size, attrs.dtype);
        fill_with("full", out, attrs.fill_value);
    }
};

struct EmptyStrided {
    struct Attrs {
        Dims size, stride;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::size, &Attrs::stride, &Attrs::dtype};
    static constexpr OpText text{.schema = "_empty_strided(int[] size, int[] stride, dtype dtype)",
                                 .flags = kHidden | kUninitialized,
                                 .domain = "size=(a, b), stride=(1, a), dtype=float64"};
    static void forward(const Attrs& attrs, Tensor& out) {
        if (attrs.size.size() != attrs.stride.size())
            fail(ErrorKind::Runtime,
                 "empty_strided: dimensionality of sizes (%d) must match dimensionality of strides (%d)",
                 attrs.size.size(), attrs.stride.size());
        for (const std::int64_t stride : attrs.stride)
            if (stride < 0)
                fail(ErrorKind::Runtime, "empty_strided: strides must be non-negative, got %s",
                     shape_text(attrs.stride).c_str());
        LayoutRef layout = Layout::make(attrs.size, attrs.stride);
        const std::int64_t reach = layout->numel ? clipped_sum(extent(*layout).high, 1) : 0;
        out = empty({reach}, attrs.dtype);
        out->layout = std::move(layout);
    }
};

struct EmptyLike {
    struct Attrs {
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::dtype};
    static constexpr OpText text{.schema = "_empty_like(Tensor self, dtype dtype)",
                                 .flags = kHidden | kGeometryOnly | kUninitialized | kLeadingAxes,
                                 .domain = "real, dtype=float64"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) { out = empty(like_layout(x), attrs.dtype); }
};
struct FullLike {
    struct Attrs {
        Scalar fill_value;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::fill_value, &Attrs::dtype};
    static constexpr OpText text{.schema = "_full_like(Tensor self, Scalar fill_value, dtype dtype)",
                                 .flags = kHidden | kGeometryOnly | kLeadingAxes,
                                 .domain = "real, fill_value=1.5, dtype=float64"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = empty(like_layout(x), attrs.dtype);
        fill_with("full_like", out, attrs.fill_value);
    }
};

struct Arange {
    struct Attrs {
        Scalar start, end, step;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::start, &Attrs::end, &Attrs::step, &Attrs::dtype};
    static constexpr OpText text{.schema = "_arange(Scalar start, Scalar end, Scalar step, dtype dtype)",
                                 .flags = kHidden,
                                 .domain = "start=0, end=5, step=2, dtype=float64"};
    static void forward(const Attrs& attrs, Tensor& out) {
        for (const Scalar* bound : {&attrs.start, &attrs.end, &attrs.step})
            if (!std::isfinite(bound->real))
                fail(ErrorKind::Runtime, "arange: unsupported range: %g -> %g", attrs.start.real, attrs.end.real);
        if (is_complex(attrs.dtype)) no_kernel_for(attrs.dtype);
        if (is_floating(attrs.dtype)) {
            check(attrs.start.real, attrs.end.real, attrs.step.real);
            const double count = std::ceil((attrs.end.real - attrs.start.real) / attrs.step.real);
            if (count >= 0x1p62)
                fail(ErrorKind::Runtime, "arange: invalid size, possible overflow: %g elements", count);
            const Tensor numbers = empty(Dims{static_cast<std::int64_t>(count)}, compute_dtype(attrs.dtype));
            kernels::arange(numbers.view(), attrs.start.real, attrs.step.real);
            out = converted(numbers, attrs.dtype);
            return;
        }
        const std::int64_t start = integer(attrs.start), end = integer(attrs.end), step = integer(attrs.step);
        check(start, end, step);
        using Wide = __int128;
        const Wide distance = Wide{end} - start, count = (distance + step - (step > 0 ? 1 : -1)) / step;
        const Tensor whole = empty(Dims{static_cast<std::int64_t>(count)}, DType::Int64);
        kernels::arange(whole.view(), start, step);
        out = converted(whole, attrs.dtype);
    }
    static std::int64_t integer(const Scalar& value) {
        check_fits("arange", value, DType::Int64);
        return value.integer;
    }
    template <class T>
    static void check(T start, T end, T step) {
        if (step == 0) fail(ErrorKind::Runtime, "arange: step must be nonzero");
        if (step > 0 ? end < start : end > start)
            fail(ErrorKind::Runtime, "arange: upper bound and lower bound inconsistent with step sign");
    }
};

struct Linspace {
    struct Attrs {
        Scalar start, end;
        std::int64_t steps;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::start, &Attrs::end, &Attrs::steps, &Attrs::dtype};
    static constexpr OpText text{.schema = "_linspace(Scalar start, Scalar end, int steps, dtype dtype)",
                                 .flags = kHidden,
                                 .domain = "start=0.0, end=1.0, steps=5, dtype=float64"};
    static void forward(const Attrs& attrs, Tensor& out) {
        if (attrs.steps < 0)
            fail(ErrorKind::Runtime, "linspace: number of steps must be non-negative, got %lld",
                 static_cast<long long>(attrs.steps));
        if (is_complex(attrs.dtype)) no_kernel_for(attrs.dtype);
        check_fits("linspace", attrs.start, attrs.dtype);
        check_fits("linspace", attrs.end, attrs.dtype);
        const Tensor numbers =
            empty(Dims{attrs.steps}, is_floating(attrs.dtype) ? compute_dtype(attrs.dtype) : DType::Float64);
        kernels::linspace(numbers.view(), attrs.start.real, attrs.end.real);
        out = converted(numbers, attrs.dtype);
    }
};

struct Eye {
    struct Attrs {
        std::int64_t n, m;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::n, &Attrs::m, &Attrs::dtype};
    static constexpr OpText text{
        .schema = "_eye(int n, int m, dtype dtype)", .flags = kHidden, .domain = "n=b, m=c, dtype=float64"};
    static void forward(const Attrs& attrs, Tensor& out) {
        if (attrs.n < 0)
            fail(ErrorKind::Runtime, "eye: n must be greater or equal to 0, got %lld", static_cast<long long>(attrs.n));
        if (attrs.m < 0)
            fail(ErrorKind::Runtime, "eye: m must be greater or equal to 0, got %lld", static_cast<long long>(attrs.m));
        out = empty(Dims{attrs.n, attrs.m}, attrs.dtype);
        kernels::fill(out.view(), std::int64_t{0});
        const std::int64_t length = std::min(attrs.n, attrs.m), step = attrs.m + 1;
        kernels::fill({out.data(), out.dtype(), 1, &length, &step}, std::int64_t{1});
    }
};

// Draws from the standard normal distribution or from the uniform one on [0, 1).
template <bool normal>
void draw(Generator& generator, const char* op, const Tensor& out) {
    normal ? draw_normal(generator, op, out, 0, 1) : draw_uniform(generator, op, out, 0, 1);
}

template <bool normal>
struct Rand {
    using Attrs = SizeAttrs;
    static constexpr auto fields = kSizeFields;
    static constexpr OpText text{
        .schema = normal ? "_randn(int[] size, dtype dtype)" : "_rand(int[] size, dtype dtype)",
        .flags = kHidden,
        .domain = "size=(a, b), dtype=float64"};
    static void forward(const Attrs& attrs, Generator& generator, Tensor& out) {
        out = empty(attrs.size, attrs.dtype);
        draw<normal>(generator, normal ? "randn" : "rand", out);
    }
};

struct Randint {
    struct Attrs {
        std::int64_t low, high;
        Dims size;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::low, &Attrs::high, &Attrs::size, &Attrs::dtype};
    static constexpr OpText text{.schema = "_randint(int low, int high, int[] size, dtype dtype)",
                                 .flags = kHidden,
                                 .domain = "low=0, high=5, size=(a, b), dtype=int64"};
    static void forward(const Attrs& attrs, Generator& generator, Tensor& out) {
        out = empty(attrs.size, attrs.dtype);
        draw_integers(generator, "randint", out, attrs.low, attrs.high);
    }
};

// The same in the memory of a model, which is not always contiguous.
template <bool normal>
struct RandLike {
    using Attrs = EmptyLike::Attrs;
    static constexpr auto fields = EmptyLike::fields;
    static constexpr OpText text{
        .schema = normal ? "_randn_like(Tensor self, dtype dtype)" : "_rand_like(Tensor self, dtype dtype)",
        .flags = kHidden | kGeometryOnly | kLeadingAxes,
        .domain = "real, dtype=float64"};
    static void forward(const Tensor& x, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = empty(like_layout(x), attrs.dtype);
        draw<normal>(generator, normal ? "randn_like" : "rand_like", out);
    }
};

struct Randperm {
    struct Attrs {
        std::int64_t n;
        DType dtype;
    };
    static constexpr auto fields = std::tuple{&Attrs::n, &Attrs::dtype};
    static constexpr OpText text{
        .schema = "_randperm(int n, dtype dtype)", .flags = kHidden, .domain = "n=d, dtype=int64"};
    static void forward(const Attrs& attrs, Generator& generator, Tensor& out) {
        const std::int64_t largest = greatest_integer(attrs.dtype);
        if (attrs.n < 0)
            fail(ErrorKind::Runtime, "randperm: n must be non-negative, got %lld", static_cast<long long>(attrs.n));
        if (attrs.n - 1 > largest)
            fail(ErrorKind::Runtime, "randperm: n=%lld is too large for dtype %s", static_cast<long long>(attrs.n),
                 dtype_name(attrs.dtype));
        const Tensor order = empty(Dims{attrs.n}, DType::Int64);
        fill_permutation(generator, order.data_as<std::int64_t>(), attrs.n);
        out = converted(order, attrs.dtype);
    }
};

Scalar scalar_of(double value, DType dtype) { return is_inexact(dtype) ? Scalar::of(value) : Scalar::of(whole(value)); }

}  // namespace

Tensor full(Sizes sizes, double value, DType dtype) { return run<Full>({Dims(sizes), scalar_of(value, dtype), dtype}); }
Tensor full_like(const Tensor& x, double value) { return run<FullLike>({scalar_of(value, x.dtype()), x.dtype()}, x); }
Tensor zeros(Sizes sizes, DType dtype) { return full(sizes, 0, dtype); }
Tensor ones(Sizes sizes, DType dtype) { return full(sizes, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return full_like(x, 0); }
Tensor uninitialized_like(const Tensor& x, DType dtype) { return run<EmptyLike>({dtype}, x); }
Tensor ones_like(const Tensor& x) { return full_like(x, 1); }

static const Register<Empty, Full, EmptyStrided, EmptyLike, FullLike, Arange, Linspace, Eye, Rand<false>, Rand<true>,
                      Randint, RandLike<false>, RandLike<true>, Randperm>
    creation_operations;

}  // namespace clew
