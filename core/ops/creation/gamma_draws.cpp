// Draws of gamma, Dirichlet, Poisson and binomial numbers; how the first two move with their parameters.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/kernels/elementwise/gamma_family.h"
#include "core/kernels/random/rejection.h"
#include "core/ops/creation/random.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/indexing/index_support.h"

namespace clew {
namespace {

Tensor like(const Tensor& x) { return empty(x.sizes(), x.dtype()); }

// Of what is a derivative already: draws can be differentiated once.
Tensor no_derivative(const char* op) {
    fail(ErrorKind::NotImplemented, "%s: its derivative is not implemented; draws can be differentiated once", op);
}

struct StandardGammaGrad {
    static constexpr OpText text{.schema = "_standard_gamma_grad(Tensor self, Tensor output)",
                                 .node = "StandardGammaGradBackward0",
                                 .flags = kHidden,
                                 .domain = "self=constant(positive(a, b)), output=constant(positive(a, b))"};
    static void forward(const Tensor& a, const Tensor& x, Tensor& out) {
        binary("_standard_gamma_grad", kernels::gamma_family().gamma_gradient, a, x, out, Result::Float);
    }
    static constexpr auto rules = std::tuple{[](const Tensor&) { return no_derivative("_standard_gamma_grad"); },
                                             [](const Tensor&) { return no_derivative("_standard_gamma_grad"); }};
};

struct StandardGamma {
    static constexpr OpText text{
        .schema = "_standard_gamma(Tensor self)",
        .node = "StandardGammaBackward0",
        .flags = kHidden,
        .domain = "unsampled, 'a draw jumps where another is rejected; tests/distributions have its gradient'"};
    static void forward(const Tensor& given, Generator& generator, Tensor& out) {
        const Tensor a = as_contiguous(given);
        out = like(a);
        with_floating("_standard_gamma", a, [&]<class T>(const T* from) {
            T* to = out.data_as<T>();
            for (std::int64_t i = 0; i < a.numel(); ++i)
                to[i] = std::max(std::numeric_limits<T>::min(), static_cast<T>(draw_gamma(generator, from[i])));
        });
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g, In<0> a, Out<> x) { return mul(g, run<StandardGammaGrad>(a, x)); }};
};

struct DirichletGrad {
    static constexpr OpText text{.schema = "_dirichlet_grad(Tensor x, Tensor alpha, Tensor total)",
                                 .node = "DirichletGradBackward0",
                                 .flags = kHidden,
                                 .domain =
                                     "x=constant(fraction(a, b)), alpha=constant(fraction(a, b)), "
                                     "total=constant(positive(a, b))"};
    static void forward(const Tensor& x, const Tensor& a, const Tensor& total, Tensor& out) {
        ternary("_dirichlet_grad", kernels::gamma_family().beta_gradient, std::array{x, a, total}, out);
    }
    static constexpr auto rules = std::tuple{[](const Tensor&) { return no_derivative("_dirichlet_grad"); },
                                             [](const Tensor&) { return no_derivative("_dirichlet_grad"); },
                                             [](const Tensor&) { return no_derivative("_dirichlet_grad"); }};
};

struct SampleDirichlet {
    static constexpr OpText text{
        .schema = "_sample_dirichlet(Tensor self)",
        .node = "SampleDirichletBackward0",
        .flags = kHidden,
        .domain = "unsampled, 'a draw jumps where another is rejected; tests/distributions have its gradient'"};
    static void forward(const Tensor& given, Generator& generator, Tensor& out) {
        if (given.ndim() < 1) fail(ErrorKind::Runtime, "_sample_dirichlet: expected at least one axis, got a scalar");
        const Tensor a = as_contiguous(given);
        out = like(a);
        with_floating("_sample_dirichlet", a, [&]<class T>(const T* from) {
            const std::int64_t classes = a.size(a.ndim() - 1), rows = classes == 0 ? 0 : a.numel() / classes;
            std::vector<double> drawn(static_cast<std::size_t>(classes));
            for (std::int64_t row = 0; row < rows; ++row, from += classes)
                draw_row(generator, from, out.data_as<T>() + row * classes, drawn);
        });
    }
    // Gamma numbers divided by their sum, kept inside (0, 1).
    template <class T>
    static void draw_row(Generator& generator, const T* from, T* to, std::vector<double>& drawn) {
        double total = 0;
        for (double& one : drawn) total += one = draw_gamma(generator, static_cast<double>(*from++));
        const T largest = std::nextafter(T(1), T(0));
        for (const double one : drawn)
            *to++ = std::min(std::max(static_cast<T>(one / total), std::numeric_limits<T>::min()), largest);
    }
    static constexpr auto rules = std::tuple{[](const Tensor& g, In<0> a, Out<> x) {
        const Dims last{-1};
        const Tensor total = sum(a, last, true), mean = sum(mul(x, g), last, true);
        return mul(run<DirichletGrad>(x, a, total), sub(g, mean));
    }};
};

struct Poisson : ZeroGradient {
    static constexpr OpText text{.schema = "poisson(Tensor self)",
                                 .node = "PoissonBackward0",
                                 .flags = kFunction,
                                 .derivative = "elementwise",
                                 .domain = "positive",
                                 .doc =
                                     "Draws from the Poisson distribution for each rate in self, in self's "
                                     "floating-point dtype; the gradient is 0.",
                                 .example = ">>> torch.poisson(torch.tensor([0.0, 0.0]))\ntensor([0., 0.])"};
    static void forward(const Tensor& given, Generator& generator, Tensor& out) {
        const Tensor rates = as_contiguous(given);
        out = like(rates);
        with_floating("poisson", rates, [&]<class T>(const T* from) {
            for (std::int64_t i = 0; i < rates.numel(); ++i) {
                if (!(from[i] >= 0))
                    fail(ErrorKind::Runtime, "poisson: invalid Poisson rate, expected rate to be non-negative, got %g",
                         static_cast<double>(from[i]));
                out.data_as<T>()[i] = static_cast<T>(draw_poisson(generator, static_cast<double>(from[i])));
            }
        });
    }
};

struct Binomial {
    static constexpr OpText text{
        .schema = "binomial(Tensor count, Tensor prob)",
        .node = "torch::autograd::NotImplemented",
        .flags = kFunction,
        .derivative = "elementwise",
        .domain = "count=positive(a, b), prob=fraction(a, b)",
        .doc =
            "Draws from the binomial distribution: how many of `count` trials succeed, each with probability `prob`. "
            "Both have one floating-point dtype and are broadcast; the gradient is 0.",
        .example =
            ">>> torch.binomial(torch.tensor([10.0, 10.0]), torch.tensor([0.0, 1.0]))\n"
            "tensor([ 0., 10.])"};
    static void forward(const Tensor& counts, const Tensor& probabilities, Generator& generator, Tensor& out) {
        for (const auto& [name, given] : {std::pair{"count", &counts}, std::pair{"prob", &probabilities}})
            if (!is_floating(given->dtype()))
                fail(ErrorKind::Value, "binomial: only supports floating-point dtypes for %s, got: %s; cast it", name,
                     dtype_name(given->dtype()));
        if (counts.dtype() != probabilities.dtype())
            fail(ErrorKind::Runtime, "binomial: expected count and prob of one dtype, got %s and %s; cast one of them",
                 dtype_name(counts.dtype()), dtype_name(probabilities.dtype()));
        const Dims sizes = broadcast_sizes(counts.sizes(), probabilities.sizes(), "binomial");
        const Tensor n = as_contiguous(expand(counts, sizes)), p = as_contiguous(expand(probabilities, sizes));
        out = like(n);
        with_floating("binomial", n, [&]<class T>(const T* from) {
            for (std::int64_t i = 0; i < n.numel(); ++i)
                out.data_as<T>()[i] = draw_binomial(generator, from[i], p.data_as<T>()[i]);
        });
    }
    static Tensor refused(const Tensor&) {
        fail(ErrorKind::Runtime, "derivative for aten::binomial is not implemented; detach() the result");
    }
    static constexpr auto rules =
        std::tuple{[](const Tensor& g) { return refused(g); }, [](const Tensor& g) { return refused(g); }};
};

}  // namespace

static const Register<StandardGammaGrad, StandardGamma, DirichletGrad, SampleDirichlet, Poisson, Binomial>
    gamma_draw_operations;

}  // namespace clew
