// Filling tensors with random numbers.
//
// Note [Memory order of random fills]
// PyTorch fills a tensor in the order of its memory, not of its indices, so that x.t().uniform_() is the transposed of
// x.uniform_(). Normal numbers are made sixteen at a time where memory is contiguous, and one by one where it is not.
#include "core/ops/creation/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/kernels/random/distributions.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

thread_local Generator* chosen_generator = nullptr;

// The axes from the outermost in memory to the innermost.
Dims outermost_first(const Layout& layout) {
    const Dims strides(layout.strides());
    Dims axes = memory_order(layout.shape(), std::span(&strides, 1));
    std::reverse(axes.begin(), axes.end());
    return axes;
}

// A tensor (or another in its shape) with its axes in that order.
Tensor reordered(const Tensor& x, const Dims& axes) {
    Dims sizes, strides;
    for (const std::int64_t axis : axes)
        sizes.push_back(x.size(static_cast<int>(axis))), strides.push_back(x.stride(static_cast<int>(axis)));
    return alias(x, Layout::make(sizes, strides), x->offset);
}

// Calls draw(contiguous tensor) and puts what it made where it belongs.
template <class Draw>
void fill_in_memory_order(const Tensor& self, const Draw& draw) {
    if (kernels_skipped) return;
    if (self.contiguous()) return draw(self);
    const Tensor target = reordered(self, outermost_first(self.layout()));
    if (target.contiguous()) return draw(target);
    const Tensor drawn = empty(target.sizes(), self.dtype());
    draw(drawn);
    kernels::copy(target.view(), drawn.view());
}

struct Uniform {
    struct Attrs {
        double from, to;
    };
    static constexpr auto fields = std::tuple{&Attrs::from, &Attrs::to};
    static constexpr OpText text{.schema = "uniform_(Tensor self, float from=0, float to=1)",
                                 .node = "UniformBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, from_=-1.0, to=2.0",
                                 .doc = "Fills self with numbers from the uniform distribution on [from, to)."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        draw_uniform(generator, "uniform_", self, attrs.from, attrs.to);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};

struct Normal {
    struct Attrs {
        double mean, std;
    };
    static constexpr auto fields = std::tuple{&Attrs::mean, &Attrs::std};
    static constexpr OpText text{.schema = "normal_(Tensor self, float mean=0, float std=1)",
                                 .node = "NormalBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, mean=1.0, std=2.0",
                                 .doc = "Fills self with numbers from the normal distribution."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        draw_normal(generator, "normal_", self, attrs.mean, attrs.std);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};

struct Exponential {
    struct Attrs {
        double lambd;
    };
    static constexpr auto fields = std::tuple{&Attrs::lambd};
    static constexpr OpText text{.schema = "exponential_(Tensor self, float lambd=1)",
                                 .node = "ExponentialBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, lambd=2.0",
                                 .doc = "Fills self with numbers from the exponential distribution of rate lambd."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (!(attrs.lambd > 0))
            fail(ErrorKind::Runtime, "exponential_ expects lambda > 0.0, but found lambda=%g", attrs.lambd);
        if (self.numel() == 0) return;
        if (!is_floating(self.dtype()))
            fail(ErrorKind::Runtime,
                 "exponential_: Exponential distribution is a continuous probability distribution. dtype must be a "
                 "floating point but you specified %s",
                 dtype_name(self.dtype()));
        fill_in_memory_order(self, [&](const Tensor& x) {
            with_floating("exponential_", x,
                          [&](auto* data) { fill_exponential(generator, data, x.numel(), attrs.lambd); });
        });
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};

struct Cauchy {
    struct Attrs {
        double median, sigma;
    };
    static constexpr auto fields = std::tuple{&Attrs::median, &Attrs::sigma};
    static constexpr OpText text{.schema = "cauchy_(Tensor self, float median=0, float sigma=1)",
                                 .node = "CauchyBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, median=1.0, sigma=2.0",
                                 .doc = "Fills self with numbers from the Cauchy distribution."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (!(attrs.sigma > 0))
            fail(ErrorKind::Runtime, "cauchy_ expects sigma > 0.0, but found sigma=%g", attrs.sigma);
        fill_in_memory_order(self, [&](const Tensor& x) {
            with_floating("cauchy_", x, [&]<class T>(T* data) {
                for (std::int64_t i = 0; i < x.numel(); ++i) {
                    const double angle = std::numbers::pi * (generator.uniform_double() - 0.5);
                    data[i] = static_cast<T>(attrs.median + attrs.sigma * std::tan(angle));
                }
            });
        });
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};

struct LogNormal {
    struct Attrs {
        double mean, std;
    };
    static constexpr auto fields = std::tuple{&Attrs::mean, &Attrs::std};
    static constexpr OpText text{.schema = "log_normal_(Tensor self, float mean=1, float std=2)",
                                 .node = "LogNormalBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real; real, mean=0.0, std=0.5",
                                 .doc = "Fills self with exp of numbers from the normal distribution."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (!(attrs.std > 0)) fail(ErrorKind::Runtime, "log_normal_ expects std > 0.0, but found std=%g", attrs.std);
        fill_in_memory_order(self, [&](const Tensor& x) {
            with_floating("log_normal_", x, [&]<class T>(T* data) {
                for (std::int64_t i = 0; i < x.numel(); ++i)
                    data[i] = static_cast<T>(std::exp(std::fma(generator.normal_double(), attrs.std, attrs.mean)));
            });
        });
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};

// The least and the greatest integer of a dtype; for floating ones, those up to which all integers are exact.
struct Bounds {
    std::int64_t least, greatest;
};
Bounds integer_bounds(DType dtype) {
    switch (dtype) {
        case DType::Bool:
            return {0, 1};
        case DType::UInt8:
            return {0, 255};
        case DType::Int32:
            return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
        case DType::Float32:
            return {-(std::int64_t{1} << 24), std::int64_t{1} << 24};
        case DType::Float64:
            return {-(std::int64_t{1} << 53), std::int64_t{1} << 53};
        default:
            return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    }
}

// From low up to and including `last`.
void draw_integers_up_to(Generator& generator, const char* op, const Tensor& self, std::int64_t low,
                         std::int64_t last) {
    const Bounds bounds = integer_bounds(self.dtype());
    if (!is_floating(self.dtype()))
        for (const auto& [name, value] : {std::pair{"from", low}, std::pair{"to - 1", last}})
            if (value < bounds.least || value > bounds.greatest)
                fail(ErrorKind::Runtime, "%s: %s is out of bounds for %s: got %lld", op, name, dtype_name(self.dtype()),
                     static_cast<long long>(value));
    const auto high = static_cast<std::int64_t>(static_cast<std::uint64_t>(last) + 1);
    fill_in_memory_order(self,
                         [&](const Tensor& x) { fill_integers(generator, x.data(), x.dtype(), x.numel(), low, high); });
}

struct RandomAll {
    static constexpr OpText text{
        .schema = "random_(Tensor self)",
        .node = "RandomBackward2",
        .flags = kMethod | kWritesInput,
        .domain = "real",
        .doc =
            "Fills self with integers: in [from, to), in [0, to), or with all that its dtype holds exactly from 0 on."};
    static void forward(const Tensor& self, Generator& generator, Tensor& out) {
        out = self;
        if (self.dtype() != DType::Int32)
            return draw_integers_up_to(generator, "random_", self, 0, integer_bounds(self.dtype()).greatest);
        // A range of 2^31 would take two words of the stream; here it takes one.
        fill_in_memory_order(self, [&](const Tensor& x) {
            for (std::int64_t i = 0; i < x.numel(); ++i)
                x.data_as<std::int32_t>()[i] = static_cast<std::int32_t>(generator.random() & 0x7fffffffu);
        });
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};
struct RandomTo {
    struct Attrs {
        std::int64_t to;
    };
    static constexpr auto fields = std::tuple{&Attrs::to};
    static constexpr OpText text{.schema = "random_.to(Tensor self, int to)",
                                 .node = "RandomBackward1",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real, to=5"};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        draw_integers(generator, "random_", self, 0, attrs.to);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};
struct RandomFrom {
    struct Attrs {
        std::int64_t from;
        std::optional<std::int64_t> to;
    };
    static constexpr auto fields = std::tuple{&Attrs::from, &Attrs::to};
    static constexpr OpText text{.schema = "random_.from(Tensor self, int from, int? to)",
                                 .node = "RandomBackward0",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real, from_=2, to=5"};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (attrs.to)
            draw_integers(generator, "random_", self, attrs.from, *attrs.to);
        else
            draw_integers_up_to(generator, "random_", self, attrs.from, integer_bounds(self.dtype()).greatest);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g) { return zeros_like(g); }};
};

}  // namespace

Generator& current_generator() { return chosen_generator ? *chosen_generator : default_generator(); }
Generator& opdef_detail::generator_of(const OpCall& call) {
    return call.details && call.details->generator ? *call.details->generator : current_generator();
}
Generator* choose_generator(Generator* generator) { return std::exchange(chosen_generator, generator); }

Tensor empty_like(const Tensor& x, DType dtype) { return empty(like_layout(x), dtype); }

void draw_uniform(Generator& generator, const char* op, const Tensor& self, double from, double to) {
    if (!(from <= to) || !std::isfinite(to - from))
        fail(ErrorKind::Runtime, "%s: uniform_ expects to return a [from, to) range, but found from=%g > to=%g", op,
             from, to);
    fill_in_memory_order(self, [&](const Tensor& x) {
        with_floating(op, x, [&](auto* data) { fill_uniform(generator, data, x.numel(), from, to); });
    });
}

void draw_normal(Generator& generator, const char* op, const Tensor& self, double mean, double deviation) {
    if (!(deviation >= 0)) fail(ErrorKind::Runtime, "%s: normal expects std >= 0.0, but found std %g", op, deviation);
    fill_in_memory_order(self, [&](const Tensor& x) {
        with_floating(op, x, [&](auto* data) {
            const std::int64_t at_once = self.contiguous() ? std::max<std::int64_t>(x.numel(), 1) : 1;
            for (std::int64_t i = 0; i < x.numel(); i += at_once)
                fill_normal(generator, data + i, at_once, mean, deviation);
        });
    });
}

void draw_integers(Generator& generator, const char* op, const Tensor& self, std::int64_t low, std::int64_t high) {
    if (low >= high)
        fail(ErrorKind::Runtime, "%s: random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld", op,
             static_cast<long long>(low), static_cast<long long>(high));
    draw_integers_up_to(generator, op, self, low, high - 1);
}

void draw_bernoulli(Generator& generator, const Tensor& self, double probability) {
    fill_in_memory_order(
        self, [&](const Tensor& x) { fill_bernoulli(generator, x.data(), x.dtype(), x.numel(), probability); });
}

static const Register<Uniform, Normal, LogNormal, Exponential, Cauchy, RandomAll, RandomTo, RandomFrom>
    random_operations;

}  // namespace clew
