// The mean of each window: linear, so the gradient's gradient is the mean again.
#include <algorithm>

#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/layers/convolution.h"
#include "core/ops/layers/pooling.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

#define CLEW_BY_AXES(one, two, three) (N == 1 ? one : N == 2 ? two : three)

Tensor means(const kernels::Pool& pool, const Tensor& input, int axes) {
    const Tensor x = as_contiguous(input), out = empty(pooled_sizes(x.sizes(), pool, axes), x.dtype());
    kernels::mean_pool(pool, out.data(), x.data());
    return out;
}
void need_plane(const Tensor& grad, Sizes sizes, int axes) {
    need_fit("pool", is_floating(grad.dtype()) && grad.ndim() == static_cast<int>(sizes.size()) &&
                         grad.ndim() >= axes && are_sizes(sizes));
}
Tensor spread(const kernels::Pool& pool, const Tensor& grad, Sizes sizes, int axes) {
    need_fit("pool", same_sizes(grad.sizes(), pooled_sizes(sizes, pool, axes)));
    const Tensor g = as_contiguous(grad), out = empty(sizes, g.dtype());
    kernels::mean_pool_gradient(pool, out.data(), g.data());
    return out;
}

struct AvgAttrs {
    Dims kernel_size;
    std::optional<Dims> stride;
    Dims padding;
    bool ceil_mode, count_include_pad;
    std::optional<std::int64_t> divisor_override;
};
kernels::Pool avg_windows(const char* op, DType dtype, Sizes sizes, const AvgAttrs& attrs, int axes) {
    return mean_windows(
        op, dtype, sizes,
        window_attrs(op, axes, attrs.kernel_size, attrs.stride, attrs.padding, Dims{1}, attrs.ceil_mode),
        attrs.count_include_pad, attrs.divisor_override);
}

template <int N>
struct AvgPool;

template <int N>
struct AvgPoolGradient {
    struct Attrs {
        Dims kernel_size;
        std::optional<Dims> stride;
        Dims padding;
        bool ceil_mode, count_include_pad;
        std::optional<std::int64_t> divisor_override;
        Dims sizes;
        AvgAttrs of() const { return {kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override}; }
    };
    static constexpr auto fields =
        std::tuple{&Attrs::kernel_size,       &Attrs::stride,           &Attrs::padding, &Attrs::ceil_mode,
                   &Attrs::count_include_pad, &Attrs::divisor_override, &Attrs::sizes};
#define CLEW_ARGUMENTS                                                                                               \
    "(Tensor grad_output, int[] kernel_size, int[]? stride, int[] padding, bool ceil_mode, bool count_include_pad, " \
    "int? divisor_override, int[] sizes)"
    static constexpr OpText text{
        .schema = CLEW_BY_AXES("_avg_pool1d_gradient" CLEW_ARGUMENTS, "_avg_pool2d_gradient" CLEW_ARGUMENTS,
                               "_avg_pool3d_gradient" CLEW_ARGUMENTS),
        .node = CLEW_BY_AXES("AvgPool1DBackwardBackward0", "AvgPool2DBackwardBackward0", "AvgPool3DBackwardBackward0"),
        .flags = kHidden,
        .derivative = "grad_output",
        .domain = CLEW_BY_AXES("grad_output=real(a, b, 2), kernel_size=(2,), stride=(2,), padding=(0,), "
                               "ceil_mode=False, count_include_pad=True, sizes=(a, b, 5)",
                               "grad_output=real(a, b, 2, 2), kernel_size=(2, 2), stride=(2, 2), padding=(0, 0), "
                               "ceil_mode=False, count_include_pad=True, sizes=(a, b, 5, 4)",
                               "grad_output=real(1, a, 1, 2, 1), kernel_size=(2, 2, 2), stride=(2, 2, 2), padding=(0, "
                               "0, 0), ceil_mode=False, count_include_pad=True, sizes=(1, a, 2, 4, 3)")};
#undef CLEW_ARGUMENTS
    static void forward(const Tensor& g, const Attrs& attrs, Tensor& out) {
        need_plane(g, attrs.sizes, N);
        out = spread(avg_windows("avg_pool", g.dtype(), attrs.sizes, attrs.of(), N), g, attrs.sizes, N);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, const Attrs& attrs) { return run<AvgPool<N>>(attrs.of(), g); }};
};

template <int N>
struct AvgPool {
    using Attrs = AvgAttrs;
    static constexpr auto fields =
        std::tuple{&Attrs::kernel_size,       &Attrs::stride,          &Attrs::padding, &Attrs::ceil_mode,
                   &Attrs::count_include_pad, &Attrs::divisor_override};
#define CLEW_ARGUMENTS                                                                                   \
    "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool " \
    "count_include_pad=True, int? divisor_override=None)"
    static constexpr OpText text{
        .schema = CLEW_BY_AXES("avg_pool1d" CLEW_ARGUMENTS, "avg_pool2d" CLEW_ARGUMENTS, "avg_pool3d" CLEW_ARGUMENTS),
        .node = CLEW_BY_AXES("AvgPool1DBackward0", "AvgPool2DBackward0", "AvgPool3DBackward0"),
        .flags = N == 1 ? kFunction : kHidden,
        .derivative = "input",
        .batching = CLEW_BY_AXES(BatchBy::Pool1, BatchBy::Pool2, BatchBy::Pool3),
        .domain = CLEW_BY_AXES("input=real(a, b, 5), kernel_size=(2,); input=real(b, 5), kernel_size=(3,), "
                               "stride=(2,), padding=(1,), ceil_mode=True, count_include_pad=False",
                               "input=real(1, a, 5, 4), kernel_size=(2, 2); input=real(a, 5, 4), kernel_size=(3, 2), "
                               "stride=(2, 1), padding=(1, 0), divisor_override=5",
                               "input=real(1, 2, 4, 3, 2), kernel_size=(2, 2, 2)"),
        .doc =
            "Average pooling: the mean of each window of kernel_size positions, stride apart (kernel_size by default), "
            "of input (N, C, L) or (C, L). Padding is zeros, which count_include_pad=False leaves out of the divisor; "
            "ceil_mode=True lets the last window pass the end.",
        .example =
            ">>> torch.avg_pool1d(torch.tensor([[[1.0, 3.0, 5.0, 7.0]]]), 2)\n"
            "tensor([[[2., 6.]]])"};
#undef CLEW_ARGUMENTS
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const char* op = CLEW_BY_AXES("avg_pool1d", "avg_pool2d", "avg_pool3d");
        check_pooled(op, x, N);
        out = means(avg_windows(op, x.dtype(), x.sizes(), attrs, N), x, N);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, Shape<0> x, const Attrs& attrs) {
        return run<AvgPoolGradient<N>>({attrs.kernel_size, attrs.stride, attrs.padding, attrs.ceil_mode,
                                        attrs.count_include_pad, attrs.divisor_override, Dims(x.sizes())},
                                       g);
    }};
};

struct AdaptiveAttrs {
    Dims output_size;
};

template <int N>
struct AdaptiveAvgPool;

template <int N>
struct AdaptiveAvgPoolGradient {
    struct Attrs {
        Dims sizes;
    };
    static constexpr auto fields = std::tuple{&Attrs::sizes};
    static constexpr OpText text{
        .schema = CLEW_BY_AXES("_adaptive_avg_pool1d_gradient(Tensor grad_output, int[] sizes)",
                               "_adaptive_avg_pool2d_gradient(Tensor grad_output, int[] sizes)",
                               "_adaptive_avg_pool3d_gradient(Tensor grad_output, int[] sizes)"),
        .node = CLEW_BY_AXES("AdaptiveAvgPool1DBackwardBackward0", "AdaptiveAvgPool2DBackwardBackward0",
                             "AdaptiveAvgPool3DBackwardBackward0"),
        .flags = kHidden,
        .derivative = "grad_output",
        .domain = CLEW_BY_AXES("grad_output=real(a, b, 2), sizes=(a, b, 5)",
                               "grad_output=real(a, b, 2, 2), sizes=(a, b, 5, 4)",
                               "grad_output=real(1, a, 2, 2, 2), sizes=(1, a, 3, 4, 2)")};
    static Dims output(Sizes of_result) {
        Dims sizes;
        for (int i = 0; i < N; ++i) sizes.push_back(of_result[of_result.size() - static_cast<std::size_t>(N - i)]);
        return sizes;
    }
    static void forward(const Tensor& g, const Attrs& attrs, Tensor& out) {
        need_plane(g, attrs.sizes, N);
        out =
            spread(adaptive_windows("adaptive_avg_pool", g.dtype(), attrs.sizes, output(g.sizes())), g, attrs.sizes, N);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, Shape<0> grad) { return run<AdaptiveAvgPool<N>>({output(grad.sizes())}, g); }};
};

template <int N>
struct AdaptiveAvgPool {
    using Attrs = AdaptiveAttrs;
    static constexpr auto fields = std::tuple{&Attrs::output_size};
#define CLEW_ARGUMENTS "(Tensor input, int[] output_size)"
    static constexpr OpText text{
        .schema = CLEW_BY_AXES("adaptive_avg_pool1d" CLEW_ARGUMENTS, "adaptive_avg_pool2d" CLEW_ARGUMENTS,
                               "adaptive_avg_pool3d" CLEW_ARGUMENTS),
        .node = CLEW_BY_AXES("AdaptiveAvgPool1DBackward0", "AdaptiveAvgPool2DBackward0", "AdaptiveAvgPool3DBackward0"),
        .flags = N == 1 ? kFunction : kHidden,
        .derivative = "input",
        .batching = CLEW_BY_AXES(BatchBy::Pool1, BatchBy::Pool2, BatchBy::Pool3),
        .domain = CLEW_BY_AXES("input=real(a, b, 5), output_size=(2,)", "input=real(a, b, 5, 4), output_size=(2, 2)",
                               "input=real(1, a, 3, 4, 2), output_size=(2, 2, 2)"),
        .doc =
            "Average pooling to a length that is given: window i of output_size covers the positions from floor(i L / "
            "output_size) to ceil((i + 1) L / output_size) of input (N, C, L) or (C, L). Also for two and three axes, "
            "in nn.functional.",
        .example =
            ">>> torch.adaptive_avg_pool1d(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]]), 2)\n"
            "tensor([[[1.5000, 3.5000]]])"};
#undef CLEW_ARGUMENTS
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const char* op = CLEW_BY_AXES("adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d");
        const Dims output = for_each_axis(op, "output_size", attrs.output_size, N);
        const bool whole = std::ranges::all_of(output, [](std::int64_t size) { return size == 1; });
        check_pooled(op, x, N, whole ? MayBeEmpty::All : N == 3 ? MayBeEmpty::First : MayBeEmpty::AllButSpace);
        out = means(adaptive_windows(op, x.dtype(), x.sizes(), output), x, N);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, Shape<0> x) { return run<AdaptiveAvgPoolGradient<N>>({Dims(x.sizes())}, g); }};
};
#undef CLEW_BY_AXES

}  // namespace

static const Register<AvgPoolGradient<1>, AvgPoolGradient<2>, AvgPoolGradient<3>, AvgPool<1>, AvgPool<2>, AvgPool<3>,
                      AdaptiveAvgPoolGradient<1>, AdaptiveAvgPoolGradient<2>, AdaptiveAvgPoolGradient<3>,
                      AdaptiveAvgPool<1>, AdaptiveAvgPool<2>, AdaptiveAvgPool<3>>
    mean_pooling;

}  // namespace clew
