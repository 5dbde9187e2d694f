// The logarithm of the gamma function and its derivative; for .isa.cpp files alone.
#pragma once
#include "core/kernels/elementwise/math_base.h"

#ifdef __clang__  // has no such builtin
extern "C" double lgamma_r(double, int*) noexcept;
#define CLEW_LGAMMA_R lgamma_r
#else
#define CLEW_LGAMMA_R __builtin_lgamma_r
#endif

namespace clew::kernels {
namespace {
namespace math {

[[maybe_unused]] double log_gamma(double x) {
    int sign;
    return CLEW_LGAMMA_R(x, &sign);  // lgamma would write a global
}

// Reflection for negatives, recurrence up to 10, then the asymptotic series with Bernoulli numbers (Abramowitz and
// Stegun 6.3).
[[maybe_unused]] double digamma(double x) {
    if (x == 0.0) return __builtin_copysign(kInfinity, -x);
    double result = 0.0;
    if (x < 0.0) {
        const double fraction = x - __builtin_rint(x);  // the tangent has a period of 1 in it
        if (fraction == 0.0) return kNaN;
        constexpr double kPi = 3.141592653589793;
        result = -kPi / __builtin_tan(kPi * fraction);
        x = 1.0 - x;
    }
    for (; x < 10.0; x += 1.0) result -= 1.0 / x;
    const double z = 1.0 / (x * x);
    const double series =
        z * polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
    return result + (__builtin_log(x) - 0.5 / x - series);
}

}  // namespace math
}  // namespace
}  // namespace clew::kernels
