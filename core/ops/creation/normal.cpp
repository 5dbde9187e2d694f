// Draws from normal distributions whose means and deviations are tensors. PyTorch gives these no derivative: zeros.
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/memory/index.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

constexpr const char* kUnsampled = "unsampled, 'the values follow mean and std, the gradients are zeros'";

Tensor drawn(Generator& generator, Sizes sizes, DType dtype, double deviation) {
    if (!is_floating(dtype))
        fail(ErrorKind::NotImplemented, "normal: not implemented for dtype %s; cast it first", dtype_name(dtype));
    const Tensor x = empty(sizes, dtype);
    draw_normal(generator, "normal", x, 0.0, deviation);
    return x;
}

void check_deviations(const Tensor& deviations) {
    if (kernels_skipped()) return;
    if (kernels::count_nonzero(compare(kLt, deviations, 0.0).view()) != 0)
        fail(ErrorKind::Runtime, "normal: normal expects all elements of std >= 0.0");
}

struct NormalAroundEach : ZeroGradient {
    struct Attrs {
        double std;
    };
    static constexpr auto fields = std::tuple{&Attrs::std};
    static constexpr OpText text{.schema = "_normal(Tensor mean, float std=1)",
                                 .node = "NormalBackward1",
                                 .flags = kHidden | kAnyDType,
                                 .domain = kUnsampled};
    static void forward(const Tensor& mean, const Attrs& attrs, Generator& generator, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        out = add(drawn(generator, mean.sizes(), mean.dtype(), attrs.std), mean);
    }
};

struct NormalOfEachWidth : ZeroGradient {
    struct Attrs {
        double mean;
    };
    static constexpr auto fields = std::tuple{&Attrs::mean};
    static constexpr OpText text{.schema = "_normal.float_Tensor(float mean, Tensor std)",
                                 .node = "NormalBackward2",
                                 .flags = kHidden | kAnyDType,
                                 .domain = kUnsampled};
    static void forward(const Tensor& std, const Attrs& attrs, Generator& generator, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        check_deviations(std);
        out = add(mul(drawn(generator, std.sizes(), std.dtype(), 1.0), std), attrs.mean);
    }
};

struct NormalOfEach {
    static constexpr OpText text{.schema = "_normal.Tensor_Tensor(Tensor mean, Tensor std)",
                                 .node = "NormalBackward3",
                                 .flags = kHidden | kAnyDType,
                                 .domain = kUnsampled};
    static void forward(const Tensor& mean, const Tensor& std, Generator& generator, Tensor& out) {
        const ModeGuard guard(kNoGrad | kInBackward, true);
        check_deviations(std);
        const Tensor inputs[] = {mean, std};
        const Dims sizes = broadcast_sizes(mean.sizes(), std.sizes(), "normal");
        out = add(mul(drawn(generator, sizes, result_dtype(inputs), 1.0), std), mean);
    }
    static constexpr auto rules = std::tuple{&zeros_like, &zeros_like};
};

static const Register<NormalOfEach, NormalAroundEach, NormalOfEachWidth> normal_operations;

}  // namespace
}  // namespace clew
