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

// erfinv(x) / x as a polynomial of w = -log(1 - x^2) below 5, and of its root above (Giles 2010). In single precision
// both are good to 2^-27. A double takes that as a guess (2^-20 far out) and makes a step of Halley's method, which
// cubes the error. Near 1 the complement is compared, which is exact where erf has no digits left.
struct ErfInverse {
    template <class T>
    static CLEW_INLINE T near(T w) {
        return math::long_polynomial(w, T(0.88622692), T(0.232013818), T(0.0115486539), T(-0.00233429615),
                                     T(-0.000127481679), T(4.45652315e-05), T(3.98323295e-06), T(-1.97646034e-06),
                                     T(2.21030421e-07), T(-8.79101333e-09));
    }
    static CLEW_INLINE float far(float root) {
        return math::long_polynomial(root - 3.0f, 2.8329768f, 1.00167509f, 0.00944568419f, -0.00763941007f,
                                     0.00568317227f, -0.00358698756f, 0.001495857f, -7.66195313e-05f, -0.000318723455f,
                                     0.00012896418f);
    }
    static CLEW_INLINE double far(double root) {
        return math::long_polynomial(root - 3.0, 2.8329763, 1.00168933, 0.00945953468, -0.00777085888, 0.00569810338,
                                     -0.00325189373, 0.00122523148, -0.00027356212, 3.13954741e-05, -1.30533393e-06);
    }
    template <class T>
    static CLEW_INLINE T guess(T z) {
        const T w = -math::log((T(1) - z) * (T(1) + z));
        const T below = near(w), above = far(static_cast<T>(root(w)));
        return z * (w < T(5) ? below : above);
    }
    static CLEW_INLINE float root(float w) { return __builtin_sqrtf(w); }
    static CLEW_INLINE double root(double w) { return __builtin_sqrt(w); }

    template <class T>
    static CLEW_INLINE T edges(T x, T z, T y) {
        y = z < T(1) ? y : T(math::kNaN);
        return math::with_sign_of(z == T(1) ? T(math::kInfinity) : y, x);
    }
    static CLEW_INLINE float apply(float x) {
        const float z = math::magnitude(x);
        return edges(x, z, guess(z));
    }
    static CLEW_INLINE double apply(double x) {
        const double z = math::magnitude(x), rest = 1.0 - z, y = guess(z);
        const double error = rest < 0.5 ? rest - math::erfc(y) : math::erf_small(y) - z;
        const double change = error * 0.886226925452758 * math::exp(y * y);  // error / erf'(y)
        return edges(x, z, y - change / (1.0 + y * change));
    }
};

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
                      .erfinv = CLEW_FLOATING(math_loop, ErfInverse),
                  });

}  // namespace clew::kernels
