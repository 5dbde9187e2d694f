// Filling tensors with random integers.
#include "core/ops/creation/random.h"

#include <algorithm>
#include <limits>

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
thread_local std::uint64_t draws_asked_for = 0;

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
        case DType::Int8:
            return {std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max()};
        case DType::Int16:
            return {std::numeric_limits<std::int16_t>::min(), std::numeric_limits<std::int16_t>::max()};
        case DType::Float16:
            return {-(std::int64_t{1} << 11), std::int64_t{1} << 11};
        case DType::BFloat16:
            return {-(std::int64_t{1} << 8), std::int64_t{1} << 8};
        default:
            return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
    }
}

// From low up to and including `last`.
void draw_integers_up_to(Generator& generator, const char* op, const Tensor& self, std::int64_t low,
                         std::int64_t last) {
    if (is_complex(self.dtype())) no_kernel_for(self.dtype());
    const Bounds bounds = integer_bounds(self.dtype());
    const bool any_fits = is_floating(self.dtype()) && self.dtype() != DType::Float16;
    const Bounds limits = self.dtype() == DType::Float16 ? Bounds{-65504, 65504} : bounds;
    if (!any_fits)
        for (const auto& [name, value] : {std::pair{"from", low}, std::pair{"to - 1", last}})
            if (value < limits.least || value > limits.greatest)
                fail(ErrorKind::Runtime, "%s: %s is out of bounds for %s: got %lld", op, name, dtype_name(self.dtype()),
                     static_cast<long long>(value));
    const auto high = static_cast<std::int64_t>(static_cast<std::uint64_t>(last) + 1);
    fill_in_memory_order(self,
                         [&](const Tensor& x) { fill_integers(generator, x.data(), x.dtype(), x.numel(), low, high); });
}

struct RandomAll : ZeroGradient {
    static constexpr OpText text{
        .schema = "random_(Tensor self)",
        .node = "RandomBackward2",
        .flags = kMethod | kWritesInput,
        .domain = "real",
        .doc = "Fills self with integers, uniformly from 0 to the largest up to which its dtype has all (inclusive).",
        .example =
            ">>> _ = torch.manual_seed(0)\n"
            ">>> torch.empty(3, dtype=torch.int64).random_(0, 10)\n"
            "tensor([4, 9, 3])"};
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
};
struct RandomTo : ZeroGradient {
    struct Attrs {
        std::int64_t to;
    };
    static constexpr auto fields = std::tuple{&Attrs::to};
    static constexpr OpText text{.schema = "random_.to(Tensor self, int to)",
                                 .node = "RandomBackward1",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real, to=5",
                                 .doc = "Fills self with integers, uniformly from [0, to)."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        draw_integers(generator, "random_", self, 0, attrs.to);
    }
};
struct RandomFrom : ZeroGradient {
    struct Attrs {
        std::int64_t from;
        std::optional<std::int64_t> to;
    };
    static constexpr auto fields = std::tuple{&Attrs::from, &Attrs::to};
    static constexpr OpText text{
        .schema = "random_.from(Tensor self, int from, int? to)",
        .node = "RandomBackward0",
        .flags = kMethod | kWritesInput,
        .domain = "real, from_=2, to=5",
        .doc = "Fills self with integers, uniformly from [from, to); None is no bound but the dtype's."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        if (attrs.to)
            draw_integers(generator, "random_", self, attrs.from, *attrs.to);
        else
            draw_integers_up_to(generator, "random_", self, attrs.from, integer_bounds(self.dtype()).greatest);
    }
};

}  // namespace

std::int64_t greatest_integer(DType dtype) { return integer_bounds(dtype).greatest; }

Generator& current_generator() {
    ++draws_asked_for;
    return chosen_generator ? *chosen_generator : default_generator();
}

std::uint64_t times_drawn() { return draws_asked_for; }

Generator& opdef_detail::generator_of(const OpCall& call) {
    return call.details && call.details->generator ? *call.details->generator : current_generator();
}
Generator* choose_generator(Generator* generator) { return std::exchange(chosen_generator, generator); }

Tensor parts_of(const Tensor& x) {
    Tensor parts = alias(x, Layout::make(Dims{2 * x.numel()}), 2 * x->offset);
    parts->dtype = real_dtype(x.dtype());
    return parts;
}

Tensor in_memory_order(const Tensor& x) {
    const Dims given(x.strides());
    Dims axes = memory_order(x.sizes(), std::span(&given, 1)), sizes, strides;
    std::reverse(axes.begin(), axes.end());
    for (const std::int64_t axis : axes)
        sizes.push_back(x.size(static_cast<int>(axis))), strides.push_back(x.stride(static_cast<int>(axis)));
    return alias(x, Layout::make(sizes, strides), x->offset);
}

Tensor empty_like(const Tensor& x, DType dtype) { return empty(like_layout(x), dtype); }

void draw_integers(Generator& generator, const char* op, const Tensor& self, std::int64_t low, std::int64_t high) {
    if (low >= high)
        fail(ErrorKind::Runtime, "%s: random_ expects 'from' to be less than 'to', but got from=%lld >= to=%lld", op,
             static_cast<long long>(low), static_cast<long long>(high));
    draw_integers_up_to(generator, op, self, low, high - 1);
}

void draw_bernoulli(Generator& generator, const Tensor& self, double probability) {
    if (is_complex(self.dtype())) no_kernel_for(self.dtype());
    fill_in_memory_order(
        self, [&](const Tensor& x) { fill_bernoulli(generator, x.data(), x.dtype(), x.numel(), probability); });
}

static const Register<RandomAll, RandomTo, RandomFrom> random_operations;

}  // namespace clew
