#include "core/kernels/elementwise/special.h"

#include "core/kernels/elementwise/math_float32.h"
#include "core/kernels/elementwise/math_gamma.h"

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

// The inverse of erf: a rational guess by logarithms (Winitzki 2008), then steps of Halley's method. Near 1 the
// complement is compared, which is exact where erf has no digits left.
double erf_inverse(double x) {
    const double rest = 1.0 - math::magnitude(x);
    if (!(rest > 0.0)) return rest == 0.0 ? __builtin_copysign(math::kInfinity, x) : math::kNaN;
    const double log_rest = __builtin_log1p(-x * x), part = 4.330746750799873 + 0.5 * log_rest;  // 2 / (pi 0.147)
    double y = __builtin_sqrt(__builtin_sqrt(part * part - log_rest / 0.147) - part);
    for (int step = 0; step < 3; ++step) {
        const double error = rest < 0.5 ? rest - __builtin_erfc(y) : __builtin_erf(y) - math::magnitude(x);
        const double change = error * 0.886226925452758 * __builtin_exp(y * y);  // error / erf'(y)
        y -= change / (1.0 + y * change);
    }
    return __builtin_copysign(y, x);
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
                      .lgamma = CLEW_FLOATING(scalar_loop, math::log_gamma),
                      .digamma = CLEW_FLOATING(scalar_loop, math::digamma),
                      .erfinv = CLEW_FLOATING(scalar_loop, erf_inverse),
                  });

}  // namespace clew::kernels
