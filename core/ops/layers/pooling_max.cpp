// The largest of each window.
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/layers/convolution.h"
#include "core/ops/layers/pooling.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

struct Places {
    Dims sizes;  // of the input
    std::int64_t axes;
};

// Negative: the window met no element.
bool are_in_planes(const Tensor& places, Sizes plane) {
    if (kernels_skipped()) return true;
    const std::int64_t elements = count_elements(plane);
    const auto* const begin = places.data_as<const std::int64_t>();
    return std::all_of(begin, begin + places.numel(), [elements](std::int64_t place) { return place < elements; });
}

// grad at the places where the largest were found, zeros elsewhere.
struct MaxPoolGradient {
    using Attrs = Places;
    static constexpr auto fields = std::tuple{&Attrs::sizes, &Attrs::axes};
    static constexpr OpText text{
        .schema = "_max_pool_gradient(Tensor grad_output, Tensor indices, int[] sizes, int axes)",
        .node = "MaxPoolWithIndicesBackwardBackward0",
        .flags = kHidden,
        .derivative = "grad_output",
        .domain = "grad_output=real(a, b, 2), indices=index(5, a, b, 2), sizes=(a, b, 5), axes=1"};
    static void forward(const Tensor& grad, const Tensor& indices, const Attrs& attrs, Tensor& out) {
        const int axes = static_cast<int>(attrs.axes);
        need_fit("max_pool", attrs.axes >= 1 && attrs.axes <= 3 && attrs.sizes.size() == grad.ndim() &&
                                 grad.ndim() >= axes && are_sizes(attrs.sizes) && is_floating(grad.dtype()) &&
                                 indices.dtype() == DType::Int64 && same_sizes(grad.sizes(), indices.sizes()) &&
                                 same_sizes(grad.sizes().first(static_cast<std::size_t>(grad.ndim() - axes)),
                                            Sizes(attrs.sizes).first(static_cast<std::size_t>(grad.ndim() - axes))));
        const Tensor g = as_contiguous(grad), places = as_contiguous(indices);
        need_fit("max_pool", are_in_planes(places, Sizes(attrs.sizes).last(static_cast<std::size_t>(axes))));
        out = empty(attrs.sizes, g.dtype());
        kernels::Pool pool{g.dtype(), 1, {}};
        const int leading = attrs.sizes.size() - static_cast<int>(attrs.axes);
        for (int i = 0; i < leading; ++i) pool.planes *= attrs.sizes[i];
        for (kernels::PoolAxis& axis : pool.axes) axis.size = axis.length = 1;
        for (int i = 0; i < static_cast<int>(attrs.axes); ++i) {
            kernels::PoolAxis& axis = pool.axes[3 - attrs.axes + i];
            axis.size = attrs.sizes[leading + i];
            axis.length = g.size(leading + i);
        }
        kernels::max_pool_gradient(pool, out.data(), g.data(), places.data_as<std::int64_t>());
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<1> indices, Shape<0> grad, const Attrs& attrs) {
        const int leading = attrs.sizes.size() - static_cast<int>(attrs.axes);
        Dims planes;
        for (int i = 0; i < leading; ++i) planes.push_back(attrs.sizes[i]);
        const auto flat = [&](const Tensor& x) {
            Dims sizes = planes;
            sizes.push_back(1);
            for (int i = leading; i < x.ndim(); ++i) sizes[leading] *= x.size(i);
            return reshape(x, sizes);
        };
        return reshape(gather(flat(g), leading, flat(indices)), grad.sizes());
    }};
};

Tensor max_pool_gradient(const Tensor& g, const Tensor& indices, Sizes sizes, int axes) {
    return run<MaxPoolGradient>({Dims(sizes), axes}, g, indices);
}

void pool_maxima(const char* op, const Tensor& input, const kernels::Pool& pool, int axes, Tensor& values,
                 Tensor& indices) {
    if (pool.axes[0].size * pool.axes[1].size * pool.axes[2].size > INT32_MAX)
        fail(ErrorKind::NotImplemented, "%s: expected planes of less than 2**31 elements, got sizes %s", op,
             shape_text(input.sizes()).c_str());
    const Tensor x = as_contiguous(input);
    const Dims sizes = pooled_sizes(x.sizes(), pool, axes);
    values = empty(sizes, x.dtype());
    indices = empty(sizes, DType::Int64);
    kernels::max_pool(pool, values.data(), indices.data_as<std::int64_t>(), x.data());
}

#define CLEW_BY_AXES(one, two, three) (N == 1 ? one : N == 2 ? two : three)

template <int N>
struct MaxPoolWithIndices {
    struct Attrs {
        Dims kernel_size;
        std::optional<Dims> stride;
        Dims padding, dilation;
        bool ceil_mode;
    };
    static constexpr auto fields =
        std::tuple{&Attrs::kernel_size, &Attrs::stride, &Attrs::padding, &Attrs::dilation, &Attrs::ceil_mode};
#define CLEW_ARGUMENTS \
    "(Tensor input, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] dilation=1, bool ceil_mode=False)"
    static constexpr OpText text{
        .schema = CLEW_BY_AXES("max_pool1d_with_indices" CLEW_ARGUMENTS, "max_pool2d_with_indices" CLEW_ARGUMENTS,
                               "max_pool3d_with_indices" CLEW_ARGUMENTS),
        .node = CLEW_BY_AXES("MaxPool1DWithIndicesBackward0", "MaxPool2DWithIndicesBackward0",
                             "MaxPool3DWithIndicesBackward0"),
        .flags = N == 1 ? kFunction : kHidden,
        .outputs = "result0 result1",
        .batching = CLEW_BY_AXES(BatchBy::Pool1, BatchBy::Pool2, BatchBy::Pool3),
        .domain = CLEW_BY_AXES("input=distinct(a, b, 5), kernel_size=(3,), stride=(2,), padding=(1,), ceil_mode=True",
                               "input=distinct(a, 5, 4), kernel_size=(2, 2), stride=(1, 2), dilation=(2, 1)",
                               "input=distinct(1, 1, 4, 3, 2), kernel_size=(2, 2, 2)"),
        .doc = "max_pool1d, and the index of each maximum in its plane (int64).",
        .example =
            ">>> values, indices = torch.max_pool1d_with_indices(torch.tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2)\n"
            ">>> values, indices\n"
            "(tensor([[[3., 5.]]]), tensor([[[1, 3]]]))"};
    static constexpr const char* name = CLEW_BY_AXES("max_pool1d", "max_pool2d", "max_pool3d");
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        check_pooled(name, x, N);
        const WindowAttrs window =
            window_attrs(name, N, attrs.kernel_size, attrs.stride, attrs.padding, attrs.dilation, attrs.ceil_mode);
        pool_maxima(name, x, windows(name, x, window), N, values, indices);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, Out<1> indices, Shape<0> x) { return max_pool_gradient(g, indices, x.sizes(), N); }};
};

template <int N>
struct MaxPool {
    using Attrs = typename MaxPoolWithIndices<N>::Attrs;
    static constexpr auto fields = MaxPoolWithIndices<N>::fields;
    static constexpr OpText text{
        .schema = CLEW_BY_AXES("max_pool1d" CLEW_ARGUMENTS, "max_pool2d" CLEW_ARGUMENTS, "max_pool3d" CLEW_ARGUMENTS),
        .flags = kFunction | kComposite,
        .domain =
            CLEW_BY_AXES("input=distinct(a, b, 5), kernel_size=(2,)", "input=distinct(1, a, 5, 4), kernel_size=(2, 2)",
                         "input=distinct(1, 1, 4, 3, 2), kernel_size=(2, 2, 2)"),
        .doc = CLEW_BY_AXES(
            "Max pooling: the maximum of each window of kernel_size positions, dilation apart, of input (N, C, L) or "
            "(C, L); windows are stride apart (kernel_size by default). Padding is -inf. The length is floor((L + 2 "
            "padding - dilation (kernel_size - 1) - 1) / stride) + 1, rounded up instead with ceil_mode.",
            "Max pooling: the maximum of each window of input (N, C, H, W) or (C, H, W). Arguments and sizes of the "
            "result as for max_pool1d, a number for each axis or one for both.",
            "Max pooling: the maximum of each window of input (N, C, D, H, W) or (C, D, H, W). Arguments and sizes of "
            "the result as for max_pool1d, a number for each axis or one for all."),
        .example = CLEW_BY_AXES(">>> torch.max_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 5.0]]]), 2)\n"
                                "tensor([[[3., 5.]]])",
                                ">>> torch.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)\n"
                                "tensor([[[4.]]])",
                                ">>> torch.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2)\n"
                                "tensor([[[[7.]]]])")};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = run_many<MaxPoolWithIndices<N>, 2>(attrs, x)[0];
    }
};
#undef CLEW_ARGUMENTS

template <int N>
struct AdaptiveMaxPool {
    struct Attrs {
        Dims output_size;
    };
    static constexpr auto fields = std::tuple{&Attrs::output_size};
#define CLEW_ARGUMENTS "(Tensor input, int[] output_size)"
    static constexpr OpText text{
        .schema = CLEW_BY_AXES("adaptive_max_pool1d" CLEW_ARGUMENTS, "adaptive_max_pool2d" CLEW_ARGUMENTS,
                               "adaptive_max_pool3d" CLEW_ARGUMENTS),
        .node = CLEW_BY_AXES("AdaptiveMaxPool1DBackward0", "AdaptiveMaxPool2DBackward0", "AdaptiveMaxPool3DBackward0"),
        .flags = N == 1 ? kFunction : kHidden,
        .outputs = "result0 result1",
        .batching = CLEW_BY_AXES(BatchBy::Pool1, BatchBy::Pool2, BatchBy::Pool3),
        .domain =
            CLEW_BY_AXES("input=distinct(a, b, 5), output_size=(2,)", "input=distinct(a, b, 5, 4), output_size=(2, 2)",
                         "input=distinct(1, a, 3, 4, 2), output_size=(2, 2, 2)"),
        .doc =
            "Max pooling to a length that is given, and the index of each maximum: window i of output_size covers the "
            "positions from floor(i L / output_size) to ceil((i + 1) L / output_size) of input (N, C, L) or (C, L).",
        .example =
            ">>> values, indices = torch.adaptive_max_pool1d(torch.tensor([[[1.0, 4.0, 3.0, 2.0]]]), 2)\n"
            ">>> values, indices\n"
            "(tensor([[[4., 3.]]]), tensor([[[1, 2]]]))"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& values, Tensor& indices) {
        const char* op = CLEW_BY_AXES("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d");
        check_pooled(op, x, N, MayBeEmpty::First);
        const Dims output = for_each_axis(op, "output_size", attrs.output_size, N);
        pool_maxima(op, x, adaptive_windows(op, x.dtype(), x.sizes(), output), N, values, indices);
    }
    static constexpr auto rules = std::tuple{
        [](const Tensor& g, Out<1> indices, Shape<0> x) { return max_pool_gradient(g, indices, x.sizes(), N); }};
};
#undef CLEW_ARGUMENTS
#undef CLEW_BY_AXES

}  // namespace

static const Register<MaxPoolGradient, MaxPoolWithIndices<1>, MaxPoolWithIndices<2>, MaxPoolWithIndices<3>, MaxPool<1>,
                      MaxPool<2>, MaxPool<3>, AdaptiveMaxPool<1>, AdaptiveMaxPool<2>, AdaptiveMaxPool<3>>
    max_pooling;

}  // namespace clew
