// Coins, dice with weights, and dropout.
#include <cmath>

#include "core/base/error.h"
#include "core/kernels/memory/copy.h"
#include "core/kernels/random/distributions.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"
#include "core/ops/operands.h"
#include "core/ops/reduction/reduction.h"

namespace clew {
namespace {

void check_probability(const char* op, double p) {
    if (!(p >= 0 && p <= 1)) fail(ErrorKind::Runtime, "%s: %s_ expects p to be in [0, 1], but got p=%g", op, op, p);
}

// One probability for each element of self; they are drawn in the order of self's memory.
void draw_for_each(Generator& generator, const Tensor& self, const Tensor& p) {
    if (!is_floating(p.dtype()))
        fail(ErrorKind::NotImplemented, "bernoulli: not implemented for probabilities of dtype %s; cast them first",
             dtype_name(p.dtype()));
    if (!can_expand(p.sizes(), self.sizes()))
        fail(ErrorKind::Runtime, "bernoulli: expected probabilities that broadcast to %s, got shape %s",
             shape_text(self.sizes()).c_str(), shape_text(p.sizes()).c_str());
    if (kernels_skipped()) return;
    // In the memory of `chances` lies, place for place, what belongs to the memory of `drawn`.
    const Tensor chances = empty_like(self, compute_dtype(p.dtype())), drawn = empty_like(self, self.dtype());
    kernels::copy(chances.view(), BroadcastView(p, self.sizes()));
    const auto draw = [&](const auto* probabilities) {
        for (std::int64_t i = 0; i < self.numel(); ++i)
            if (!(probabilities[i] >= 0 && probabilities[i] <= 1))
                fail(ErrorKind::Runtime, "bernoulli: Expected p_in >= 0 && p_in <= 1 to be true, but got p=%g",
                     static_cast<double>(probabilities[i]));
        fill_bernoulli(generator, drawn.data(), self.dtype(), self.numel(), probabilities);
    };
    if (chances.dtype() == DType::Float32)
        draw(chances.data_as<float>());
    else
        draw(chances.data_as<double>());
    kernels::copy(self.view(), drawn.view());
}

struct Chance {
    double p;
};

struct Bernoulli : ZeroGradient {
    static constexpr OpText text{.schema = "bernoulli(Tensor self)",
                                 .node = "BernoulliBackward0",
                                 .flags = kBoth | kOutArgument | kOutAny,
                                 .derivative = "elementwise",
                                 .domain = "fraction",
                                 .doc = "Draws 1 with the probability that self says at each place, else 0.",
                                 .example = ">>> torch.bernoulli(torch.tensor([0.0, 1.0, 1.0]))\ntensor([0., 1., 1.])"};
    static void forward(const Tensor& x, Generator& generator, Tensor& out) {
        out = empty(x.sizes(), x.dtype());  // row-major, as in PyTorch
        draw_for_each(generator, out, x);
    }
};
struct BernoulliChance {
    using Attrs = Chance;
    static constexpr auto fields = std::tuple{&Attrs::p};
    static constexpr OpText text{.schema = "bernoulli.p(Tensor self, float p)",
                                 .node = "torch::autograd::NotImplemented",
                                 .derivative = "elementwise",
                                 .domain = "real, p=0.5",
                                 .doc = "Draws 1 with probability p at each place of self, else 0.",
                                 .example = ">>> torch.bernoulli(torch.zeros(3), 1.0)\ntensor([1., 1., 1.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Generator& generator, Tensor& out) {
        check_probability("bernoulli", attrs.p);
        out = empty(x.sizes(), x.dtype());  // row-major, as in PyTorch
        draw_bernoulli(generator, out, attrs.p);
    }
    static constexpr auto rules = std::tuple{[](const Tensor&) -> Tensor {
        fail(ErrorKind::Runtime, "derivative for aten::bernoulli is not implemented; detach() the result");
    }};
};

struct BernoulliInPlace : ZeroGradient {
    using Attrs = Chance;
    static constexpr auto fields = std::tuple{&Attrs::p};
    static constexpr OpText text{.schema = "bernoulli_(Tensor self, float p=0.5)",
                                 .node = "BernoulliBackward2",
                                 .flags = kMethod | kWritesInput,
                                 .domain = "real",
                                 .doc = "Fills self with draws of 0 and 1; p is the probability of 1."};
    static void forward(const Tensor& self, const Attrs& attrs, Generator& generator, Tensor& out) {
        out = self;
        check_probability("bernoulli", attrs.p);
        draw_bernoulli(generator, self, attrs.p);
    }
};
struct BernoulliEachInPlace {
    static constexpr OpText text{
        .schema = "bernoulli_.Tensor(Tensor self, Tensor p)",
        .node = "BernoulliBackward1",
        .flags = kMethod | kWritesInput,
        .domain = "self=real(a, b), p=fraction(a, b)",
        .doc = "Fills self with draws of 0 and 1; p has the probability of 1 for each element.",
        .example =
            ">>> torch.empty(3).bernoulli_(torch.tensor([0.0, 1.0, 0.0]))\n"
            "tensor([0., 1., 0.])"};
    static void forward(const Tensor& self, const Tensor& p, Generator& generator, Tensor& out) {
        out = self;
        draw_for_each(generator, self, p);
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g) { return zeros_like(g); }, [](const Tensor& g) { return zeros_like(g); }};
};

struct Multinomial {
    struct Attrs {
        std::int64_t num_samples;
        bool replacement;
    };
    static constexpr auto fields = std::tuple{&Attrs::num_samples, &Attrs::replacement};
    static constexpr OpText text{.schema = "multinomial(Tensor self, int num_samples, bool replacement=False)",
                                 .flags = kBoth | kNonDifferentiable | kOutArgument | kOutAlike,
                                 .domain = "fraction, num_samples=2; self=fraction(b), num_samples=5, replacement=True",
                                 .doc =
                                     "Draws num_samples indices (int64) for each row of nonnegative weights (n,) or "
                                     "(rows, n), with probabilities in proportion to them; with or without "
                                     "replacement. RuntimeError for negative weights, or none that is positive.",
                                 .example =
                                     ">>> torch.multinomial(torch.tensor([0.0, 3.0, 0.0]), 2, replacement=True)\n"
                                     "tensor([1, 1])"};
    static void forward(const Tensor& given, const Attrs& attrs, Generator& generator, Tensor& out) {
        if (!is_floating(given.dtype()))
            fail(ErrorKind::Runtime, "multinomial only supports floating-point dtypes for input, got: %s",
                 dtype_name(given.dtype()));
        if (given.ndim() < 1 || given.ndim() > 2)
            fail(ErrorKind::Runtime, "multinomial: prob_dist must be 1 or 2 dim, got shape %s",
                 shape_text(given.sizes()).c_str());
        const std::int64_t categories = given.size(given.ndim() - 1), rows = given.ndim() == 2 ? given.size(0) : 1;
        if (attrs.num_samples <= 0)
            fail(ErrorKind::Runtime, "multinomial: cannot sample n_sample <= 0 samples, got %lld",
                 static_cast<long long>(attrs.num_samples));
        if (!attrs.replacement && attrs.num_samples > categories)
            fail(ErrorKind::Runtime,
                 "multinomial: cannot sample n_sample > prob_dist.size(-1) samples without replacement: got %lld of "
                 "%lld; set replacement=True",
                 static_cast<long long>(attrs.num_samples), static_cast<long long>(categories));
        const Tensor weights = as_contiguous(given);
        Dims sizes(given.sizes());
        sizes[sizes.size() - 1] = attrs.num_samples;
        out = empty(sizes, DType::Int64);
        if (kernels_skipped()) return;
        const auto draw = [&](const auto* data) {
            for (std::int64_t row = 0; row < rows; ++row) check_weights(data + row * categories, categories);
            fill_multinomial(generator, out.data_as<std::int64_t>(), attrs.num_samples, data, rows, categories,
                             attrs.replacement);
        };
        if (weights.dtype() == DType::Float32)
            draw(weights.data_as<float>());
        else
            draw(weights.data_as<double>());
    }
    template <class T>
    static void check_weights(const T* weights, std::int64_t count) {
        double total = 0;
        for (std::int64_t i = 0; i < count; ++i) {
            if (!(weights[i] >= 0) || std::isinf(weights[i]))
                fail(ErrorKind::Runtime,
                     "multinomial: probability tensor contains either `inf`, `nan` or element < 0: %g",
                     static_cast<double>(weights[i]));
            total += static_cast<double>(weights[i]);
        }
        if (!(total > 0))
            fail(ErrorKind::Runtime, "multinomial: invalid multinomial distribution (sum of probabilities <= 0)");
    }
};

struct DropoutNoise {
    using Attrs = Chance;
    static constexpr auto fields = std::tuple{&Attrs::p};
    static constexpr OpText text{.schema = "_dropout_noise(Tensor like, float p)",
                                 .flags = kHidden | kGeometryOnly,
                                 .domain = "unsampled, 'drawn; dropout has the tests'"};
    static void forward(const Tensor& like, const Attrs& attrs, Generator& generator, Tensor& out) {
        need_fit("dropout", is_floating(like.dtype()) && attrs.p >= 0 && attrs.p < 1);
        out = empty_like(like, like.dtype());
        draw_bernoulli(generator, out, 1 - attrs.p);
        scale_in_place(out, 1 - attrs.p);
    }
};

// What dropout multiplies by: 0 with probability p, else 1 / (1 - p). Empty where nothing is dropped.
struct DropoutAttrs {
    double p;
    bool train;
};
Tensor dropout_noise(const Tensor& x, const DropoutAttrs& attrs) {
    if (!(attrs.p >= 0 && attrs.p <= 1))
        fail(ErrorKind::Runtime, "dropout probability has to be between 0 and 1, but got %g", attrs.p);
    if (!attrs.train || attrs.p == 0 || x.numel() == 0) return {};
    if (attrs.p == 1) return zeros({}, x.dtype());
    if (!is_floating(x.dtype()))
        fail(ErrorKind::Runtime,
             "dropout: result type Float can't be cast to the desired output type %s; cast the input first",
             dtype_name(x.dtype()));
    return run<DropoutNoise>({attrs.p}, x);
}

struct Dropout {
    using Attrs = DropoutAttrs;
    static constexpr auto fields = std::tuple{&Attrs::p, &Attrs::train};
    static constexpr OpText text{.schema = "dropout(Tensor input, float p, bool train)",
                                 .flags = kFunction | kComposite,
                                 .domain = "input=real(a, b), p=0.5, train=True; input=real(a, b), p=0.5, train=False",
                                 .doc =
                                     "Zeroes each element with probability p and multiplies the others by 1 / (1 - p), "
                                     "if train; else gives the input itself. RuntimeError for p outside [0, 1].",
                                 .example = ">>> torch.dropout(torch.ones(3), 0.5, train=False)\ntensor([1., 1., 1.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        const Tensor noise = dropout_noise(x, attrs);
        out = noise ? mul(x, noise) : x;
    }
};
struct DropoutInPlace {
    using Attrs = DropoutAttrs;
    static constexpr auto fields = std::tuple{&Attrs::p, &Attrs::train};
    static constexpr OpText text{.schema = "dropout_(Tensor input, float p, bool train)",
                                 .flags = kFunction | kComposite,
                                 .domain = "input=real(a, b), p=0.5, train=True",
                                 .doc = "dropout, in place.",
                                 .example = ">>> torch.dropout_(torch.ones(3), 1.0, train=True)\ntensor([0., 0., 0.])"};
    static void forward(const Tensor& x, const Attrs& attrs, Tensor& out) {
        out = x;
        if (const Tensor noise = dropout_noise(x, attrs)) mul_in_place(x, noise);
    }
};

}  // namespace

Tensor dropout(const Tensor& x, double p) { return run<Dropout>({p, true}, x); }

static const Register<Bernoulli, BernoulliChance, BernoulliEachInPlace, BernoulliInPlace, Multinomial, DropoutNoise,
                      Dropout, DropoutInPlace>
    bernoulli_operations;

}  // namespace clew
