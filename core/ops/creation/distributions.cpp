// Filling tensors with numbers from continuous distributions.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/base/error.h"
#include "core/kernels/random/distributions.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew {
namespace {

void check_continuous(const char* op, const char* distribution, const Tensor& self) {
    if (!is_floating(self.dtype()))
        fail(ErrorKind::Runtime,
             "%s: %s distribution is a continuous probability distribution. dtype must be a floating point but you "
             "specified %s",
             op, distribution, dtype_name(self.dtype()));
}

struct Uniform : ZeroGradient {
    struct Attrs {
        double from, to;
    };
    static constexpr auto fields = std::tuple{&Attrs::from, &Attrs::to};
    static constexpr OpText text{
        .schema = "uniform_(Tensor self, float from=0, float to=1)",
        .node = "UniformBackward0",
        .flags = kMethod | kWritesInput,
        .domain = "real; real, from_=-1.0, to=2.0",
        .doc = "Fills self with draws from the uniform distribution on [from, to). Floating-point dtypes only.",
        .example =
            ">>> _ = torch.manual_seed(0)\n"
            ">>> torch.empty(3).uniform_()\n"
            "tensor([0.4963, 0.7682, 0.0885])"};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        draw_uniform(generator, "uniform_", self, attrs.from, attrs.to);
    }
};

struct Normal : ZeroGradient {
    struct Attrs {
        double mean, std;
    };
    static constexpr auto fields = std::tuple{&Attrs::mean, &Attrs::std};
    static constexpr OpText text{.schema = "normal_(Tensor self, float mean=0, float std=1)",
                                 .node = "NormalBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, mean=1.0, std=2.0",
                                 .doc =
                                     "Fills self with draws from the normal distribution of the given mean and "
                                     "standard deviation. Floating-point dtypes only; RuntimeError for a negative std.",
                                 .example =
                                     ">>> _ = torch.manual_seed(0)\n"
                                     ">>> torch.empty(2).normal_()\n"
                                     "tensor([ 1.5410, -0.2934])"};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        draw_normal(generator, "normal_", self, attrs.mean, attrs.std);
    }
};

struct Exponential : ZeroGradient {
    struct Attrs {
        double lambd;
    };
    static constexpr auto fields = std::tuple{&Attrs::lambd};
    static constexpr OpText text{.schema = "exponential_(Tensor self, float lambd=1)",
                                 .node = "ExponentialBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, lambd=2.0",
                                 .doc =
                                     "Fills self with draws from the exponential distribution of density lambd * "
                                     "exp(-lambd * x), x > 0. Floating-point dtypes only.",
                                 .example =
                                     ">>> _ = torch.manual_seed(0)\n"
                                     ">>> torch.empty(2).exponential_()\n"
                                     "tensor([3.5083, 1.2304])"};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (!(attrs.lambd > 0))
            fail(ErrorKind::Runtime, "exponential_ expects lambda > 0.0, but found lambda=%g", attrs.lambd);
        if (self.numel() == 0) return;
        check_continuous("exponential_", "Exponential", self);
        fill_in_memory_order(self, [&](const Tensor& x) {
            with_floating("exponential_", x,
                          [&](auto* data) { fill_exponential(generator, data, x.numel(), attrs.lambd); });
        });
    }
};

struct Cauchy : ZeroGradient {
    struct Attrs {
        double median, sigma;
    };
    static constexpr auto fields = std::tuple{&Attrs::median, &Attrs::sigma};
    static constexpr OpText text{.schema = "cauchy_(Tensor self, float median=0, float sigma=1)",
                                 .node = "CauchyBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, median=1.0, sigma=2.0",
                                 .doc =
                                     "Fills self with draws from the Cauchy distribution of density 1 / (pi sigma (1 + "
                                     "((x - median) / sigma)²)). Floating-point dtypes only.",
                                 .example =
                                     ">>> _ = torch.manual_seed(0)\n"
                                     ">>> torch.empty(2).cauchy_()\n"
                                     "tensor([10.5977,  0.7648])"};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (!(attrs.sigma > 0))
            fail(ErrorKind::Runtime, "cauchy_ expects sigma > 0.0, but found sigma=%g", attrs.sigma);
        check_continuous("cauchy_", "Cauchy", self);
        fill_in_memory_order(self, [&](const Tensor& x) {
            with_floating("cauchy_", x, [&]<class T>(T* data) {
                for (std::int64_t i = 0; i < x.numel(); ++i) {
                    const double angle = std::numbers::pi * (generator.uniform_double() - 0.5);
                    data[i] = static_cast<T>(attrs.median + attrs.sigma * std::tan(angle));
                }
            });
        });
    }
};

struct LogNormal : ZeroGradient {
    struct Attrs {
        double mean, std;
    };
    static constexpr auto fields = std::tuple{&Attrs::mean, &Attrs::std};
    static constexpr OpText text{.schema = "log_normal_(Tensor self, float mean=1, float std=2)",
                                 .node = "LogNormalBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, mean=0.0, std=0.5",
                                 .doc =
                                     "Fills self with exp(z) for draws z from the normal distribution of the given "
                                     "mean and std. Floating-point dtypes only.",
                                 .example =
                                     ">>> _ = torch.manual_seed(0)\n"
                                     ">>> torch.empty(2).log_normal_(0, 1)\n"
                                     "tensor([4.6692, 0.7457])"};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (!(attrs.std > 0)) fail(ErrorKind::Runtime, "log_normal_ expects std > 0.0, but found std=%g", attrs.std);
        if (is_complex(self.dtype()))
            fail(ErrorKind::NotImplemented, "log_normal_: not implemented for dtype %s; use a floating dtype",
                 dtype_name(self.dtype()));
        fill_in_memory_order(self, [&](const Tensor& x) {
            with_floating("log_normal_", x, [&]<class T>(T* data) {
                for (std::int64_t i = 0; i < x.numel(); ++i)
                    data[i] = static_cast<T>(std::exp(std::fma(generator.normal_double(), attrs.std, attrs.mean)));
            });
        });
    }
};

// A kernel of its own, since how many numbers it draws depends on values: a recorded one runs on others.
struct RReluSlopes : ZeroGradient {
    struct Attrs {
        double lower, upper;
    };
    static constexpr auto fields = std::tuple{&Attrs::lower, &Attrs::upper};
    static constexpr OpText text{.schema = "_rrelu_slopes(Tensor self, float lower, float upper)",
                                 .node = "RreluSlopesBackward0",
                                 .flags = kHidden | kFunction,
                                 .derivative = "elementwise",
                                 .domain = "nonzero, lower=0.1, upper=0.3",
                                 .doc =
                                     "A draw from U(lower, upper) for each element of self that is at most 0, in "
                                     "row-major order; 1 for the others. In float64."};
    static void forward(const Tensor& given, const Attrs& attrs, Generator& generator, Tensor& out) {
        const Tensor self = as_contiguous(given);
        out = empty(self.sizes(), DType::Float64);
        with_floating("rrelu", self, [&]<class T>(const T* from) {
            double* const to = out.data_as<double>();
            for (std::int64_t i = 0; i < self.numel(); ++i) {
                to[i] = 1;
                if (from[i] <= 0) fill_uniform(generator, to + i, 1, attrs.lower, attrs.upper);
            }
        });
    }
};

double rounded(double x, DType half) {
    const auto number = static_cast<float>(x);
    return half == DType::Float16 ? static_cast<double>(Float16(number)) : static_cast<double>(BFloat16(number));
}

}  // namespace

void draw_uniform(Generator& generator, const char* op, const Tensor& self, double from, double to) {
    if (!(from <= to) || !std::isfinite(to - from))
        fail(ErrorKind::Runtime, "%s: uniform_ expects to return a [from, to) range, but found from=%g > to=%g", op,
             from, to);
    const DType dtype = self.dtype();
    const bool rounds = is_storage_type(dtype);
    const double end = rounds ? rounded(to, dtype) : to;
    fill_in_memory_order(self, [&](const Tensor& x) {
        with_floating(op, x, [&]<class T>(T* data) {
            fill_uniform(generator, data, x.numel(), from, to);
            for (std::int64_t i = 0; rounds && i < x.numel(); ++i)  // the range is half open, rounded too
                if (rounded(static_cast<double>(data[i]), dtype) >= end) data[i] = static_cast<T>(from);
        });
    });
}

void draw_normal(Generator& generator, const char* op, const Tensor& self, double mean, double deviation) {
    if (!(deviation >= 0)) fail(ErrorKind::Runtime, "%s: normal expects std >= 0.0, but found std %g", op, deviation);
    if (is_complex(self.dtype())) deviation /= std::numbers::sqrt2;  // half of the variance for each part
    fill_in_memory_order(self, [&](const Tensor& x) {
        with_floating(op, x, [&](auto* data) {
            const std::int64_t at_once = self.contiguous() ? std::max<std::int64_t>(x.numel(), 1) : 1;
            for (std::int64_t i = 0; i < x.numel(); i += at_once)
                fill_normal(generator, data + i, at_once, mean, deviation, is_storage_type(self.dtype()));
        });
    });
}

static const Register<Uniform, Normal, LogNormal, Exponential, Cauchy, RReluSlopes> distribution_operations;

}  // namespace clew
