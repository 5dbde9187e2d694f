#include "core/kernels/special.h"

#include "core/kernels/math_float32.h"

namespace clew::kernels {
namespace {

struct Erf {
    template <class T>
    static CLEW_INLINE T apply(T x) {
        return math::erf(x);
    }
};
struct Erfc {
    template <class T>
    static CLEW_INLINE T apply(T x) {
        return math::erfc(x);
    }
};

double log_gamma(double x) {
    int sign;
    return __builtin_lgamma_r(x, &sign);  // lgamma would write a global
}

// Reflection for negatives, recurrence up to 10, then the asymptotic series with Bernoulli numbers (Abramowitz and
// Stegun 6.3).
double digamma(double x) {
    if (x == 0.0) return __builtin_copysign(math::kInfinity, -x);
    double result = 0.0;
    if (x < 0.0) {
        const double fraction = x - __builtin_rint(x);  // the tangent has a period of 1 in it
        if (fraction == 0.0) return math::kNaN;
        constexpr double kPi = 3.141592653589793;
        result = -kPi / __builtin_tan(kPi * fraction);
        x = 1.0 - x;
    }
    for (; x < 10.0; x += 1.0) result -= 1.0 / x;
    const double z = 1.0 / (x * x);
    const double series =
        z * math::polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760, 1.0 / 12);
    return result + (__builtin_log(x) - 0.5 / x - series);
}

template <double (*function)(double), class T>
void scalar_loop(char* const* data, const int64_t* strides, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        store<T>(data[0] + i * strides[0],
                 static_cast<T>(function(static_cast<double>(load<T>(data[1] + i * strides[1])))));
}

}  // namespace

CLEW_EXPORT_TABLE(SpecialTable, special,
                  {
                      .erf = CLEW_FLOATING(math_loop, Erf),
                      .erfc = CLEW_FLOATING(math_loop, Erfc),
                      .lgamma = CLEW_FLOATING(scalar_loop, log_gamma),
                      .digamma = CLEW_FLOATING(scalar_loop, digamma),
                  });

}  // namespace clew::kernels
