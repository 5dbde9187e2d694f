#include "core/kernels/random/rejection.h"

#include <cmath>
#include <limits>

#ifdef __APPLE__  // its header does not show it
extern "C" double lgamma_r(double, int*);
#endif

namespace clew {
namespace {

// lgamma would write a global, but on Windows, where it is all there is.
double log_gamma(double x) {
#ifdef _WIN32
    return std::lgamma(x);
#else
    int sign;
    return ::lgamma_r(x, &sign);
#endif
}

// By products of uniform numbers (Knuth), for small rates.
double draw_poisson_by_products(Generator& generator, double rate) {
    const double limit = std::exp(-rate);
    double drawn = 0;
    for (double product = generator.uniform_double(); product > limit; product *= generator.uniform_double())
        drawn += 1;
    return drawn;
}

// Hoermann 1993, "The transformed rejection method for generating Poisson random variables", algorithm PTRS.
double draw_poisson_by_rejection(Generator& generator, double rate) {
    const double log_rate = std::log(rate), b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
    const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = generator.uniform_double() - 0.5, v = generator.uniform_double(), us = 0.5 - std::fabs(u);
        const double k = std::floor((2 * a / us + b) * u + rate + 0.43);
        if (us >= 0.07 && v <= squeeze) return k;
        if (k < 0 || (us < 0.013 && v > us)) continue;
        const double height = std::log(v) + std::log(inverse_alpha) - std::log(a / (us * us) + b);
        if (height <= -rate + k * log_rate - log_gamma(k + 1)) return k;
    }
}

// Sums of geometric numbers, for a small mean.
template <class T>
T draw_binomial_by_waiting(Generator& generator, T count, T probability) {
    const T log_failure = std::log1p(-probability);
    T trials = 0, drawn = 0;
    for (;; drawn += 1) {
        const T u = static_cast<T>(generator.uniform_double());
        trials += std::ceil(std::log(u) / log_failure);
        if (trials > count) return drawn;
    }
}

// log k! - (the leading terms of Stirling's formula).
template <class T>
T stirling_rest(T k) {
    static constexpr T kFirst[] = {static_cast<T>(0.0810614667953272),  static_cast<T>(0.0413406959554092),
                                   static_cast<T>(0.0276779256849983),  static_cast<T>(0.02079067210376509),
                                   static_cast<T>(0.0166446911898211),  static_cast<T>(0.0138761288230707),
                                   static_cast<T>(0.0118967099458917),  static_cast<T>(0.0104112652619720),
                                   static_cast<T>(0.00925546218271273), static_cast<T>(0.00833056343336287)};
    if (k <= 9) return kFirst[static_cast<int>(k)];
    const T square = (k + 1) * (k + 1);
    return (T(1.0 / 12) - (T(1.0 / 360) - T(1.0 / 1260) / square) / square) / (k + 1);
}

// Hoermann 1993, "The generation of binomial random variates", algorithm BTRS.
template <class T>
T draw_binomial_by_rejection(Generator& generator, T count, T p) {
    const T deviation = std::sqrt(count * p * (1 - p));
    const T b = T(1.15) + T(2.53) * deviation, a = T(-0.0873) + T(0.0248) * b + T(0.01) * p;
    const T centre = count * p + T(0.5), squeeze = T(0.92) - T(4.2) / b, ratio = p / (1 - p);
    const T alpha = (T(2.83) + T(5.1) / b) * deviation, mode = std::floor((count + 1) * p);
    for (;;) {
        const T u = static_cast<T>(generator.uniform_double()) - T(0.5);
        T v = static_cast<T>(generator.uniform_double());
        const T us = T(0.5) - std::fabs(u), k = std::floor((2 * a / us + b) * u + centre);
        if (us >= T(0.07) && v <= squeeze) return k;
        if (k < 0 || k > count) continue;
        v = std::log(v * alpha / (a / (us * us) + b));
        const T bound = (mode + T(0.5)) * std::log((mode + 1) / (ratio * (count - mode + 1))) +
                        (count + 1) * std::log((count - mode + 1) / (count - k + 1)) +
                        (k + T(0.5)) * std::log(ratio * (count - k + 1) / (k + 1)) + stirling_rest(mode) +
                        stirling_rest(count - mode) - stirling_rest(k) - stirling_rest(count - k);
        if (v <= bound) return k;
    }
}

}  // namespace

// Marsaglia and Tsang 2000, "A simple method for generating gamma variables"; below 1 a draw for a + 1, made smaller.
// Two constants are rounded to float as PyTorch's are, for the same numbers: d is 1e-8 too small.
template <class T>
double draw_gamma(Generator& generator, T a) {
    if (a == 0) return 0;
    double scale = 1;
    if (a < 1) {
        scale = std::pow(1 - generator.uniform_double(), static_cast<double>(1 / a));
        a += 1;
    }
    const double d = static_cast<double>(a - T(1.0f / 3)), c = 1 / std::sqrt(9 * d);
    for (;;) {
        double x, y;
        do {
            x = generator.normal_double();
            y = 1 + c * x;
        } while (y <= 0);
        const double v = y * y * y, u = 1 - generator.uniform_double(), square = x * x;
        if (u < 1 - static_cast<double>(0.0331f) * square * square ||
            std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
            return scale * d * v;
    }
}
template double draw_gamma(Generator&, float);
template double draw_gamma(Generator&, double);

double draw_poisson(Generator& generator, double rate) {
    if (rate == 0) return 0;
    return rate >= 10 ? draw_poisson_by_rejection(generator, rate) : draw_poisson_by_products(generator, rate);
}

template <class T>
T draw_binomial(Generator& generator, T count, T probability) {
    if (count <= 0 || probability <= 0) return 0;
    if (probability >= 1) return count;
    if (std::isnan(count) || std::isnan(probability)) return std::numeric_limits<T>::quiet_NaN();
    const bool swap = probability > T(0.5);
    const T p = swap ? 1 - probability : probability;
    const T drawn = count * p >= 10 ? draw_binomial_by_rejection(generator, count, p)
                                    : draw_binomial_by_waiting(generator, count, p);
    return swap ? count - drawn : drawn;
}

template float draw_binomial(Generator&, float, float);
template double draw_binomial(Generator&, double, double);

}  // namespace clew
