#include "core/kernels/elementwise/gamma_family.h"

#include "core/kernels/elementwise/math_float64.h"
#include "core/kernels/elementwise/math_gamma.h"

namespace clew::kernels {
namespace {

constexpr double kEpsilon = 0x1p-53;

// x^a exp(-x) / Gamma(a + 1). For larger a by Stirling's series, so that large logarithms need not cancel.
double scaled_power(double a, double x) {
    if (a < 10.0) return __builtin_exp(a * __builtin_log(x) - x - math::log_gamma(a + 1.0));
    const double away = (x - a) / a, z = 1.0 / (a * a);
    const double correction = math::polynomial(z, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680, 1.0 / 1188) / a;
    return __builtin_exp(-a * (away - __builtin_log1p(away)) - correction) / __builtin_sqrt(6.283185307179586 * a);
}

// P(a, x) by the series of x^n / ((a + 1) ... (a + n)), for x below a + 1.
double lower_by_series(double a, double x) {
    double sum = 1.0, term = 1.0;
    for (double n = 1.0; term > kEpsilon * sum; n += 1.0) sum += term *= x / (a + n);
    return sum * scaled_power(a, x);
}

// Q(a, x) by Legendre's continued fraction, evaluated as Lentz does, for x above a + 1.
double upper_by_fraction(double a, double x) {
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, result = d;
    for (double n = 1.0; n < 1e5; n += 1.0) {
        const double numerator = n * (a - n);
        b += 2.0;
        d = 1.0 / (numerator * d + b);
        c = b + numerator / c;
        result *= c * d;
        if (math::magnitude(c * d - 1.0) < kEpsilon) break;
    }
    return result * a * scaled_power(a, x);
}

constexpr double kLarge = 1e8;

// Q(a, x) for a above kLarge, where series and fraction take too long: the first terms of Temme's uniform expansion
// (DLMF 8.12.4). Further than a thousandth away from a, what is missing to 0 or 1 is below 1e-21.
double upper_by_expansion(double a, double x) {
    const double away = (x - a) / a;
    if (math::magnitude(away) > 1e-3) return away > 0.0 ? 0.0 : 1.0;
    const double half_square = away * away * math::polynomial(away, 1.0 / 2, -1.0 / 3, 1.0 / 4, -1.0 / 5);
    const double eta = __builtin_copysign(__builtin_sqrt(2.0 * half_square), away);
    const double correction = (eta / 12.0 - 1.0 / 3) / __builtin_sqrt(6.283185307179586 * a);
    return 0.5 * math::erfc(eta * __builtin_sqrt(0.5 * a)) + __builtin_exp(-a * half_square) * correction;
}

bool outside(double a, double x) { return !(a >= 0.0) || !(x >= 0.0) || (a == 0.0 && x == 0.0); }

struct Lower {
    static double apply(double a, double x) {
        if (outside(a, x) || (a == math::kInfinity && x == math::kInfinity)) return math::kNaN;
        if (a == 0.0 || x == math::kInfinity) return 1.0;
        if (x == 0.0 || a == math::kInfinity) return 0.0;
        if (a > kLarge) return 1.0 - upper_by_expansion(a, x);
        return x < a + 1.0 ? lower_by_series(a, x) : 1.0 - upper_by_fraction(a, x);
    }
};

struct Upper {
    static double apply(double a, double x) {
        if (outside(a, x) || (a == math::kInfinity && x == math::kInfinity)) return math::kNaN;
        if (a == 0.0 || x == math::kInfinity) return 0.0;
        if (x == 0.0 || a == math::kInfinity) return 1.0;
        if (a > kLarge) return upper_by_expansion(a, x);
        return x < a + 1.0 ? 1.0 - lower_by_series(a, x) : upper_by_fraction(a, x);
    }
};

// The Euler-Maclaurin formula from q + n > 10 on; s is an integer where q is negative.
struct Zeta {
    static double apply(double s, double q) {
        if (math::magnitude(q) == math::kInfinity) return q > 0.0 ? 0.0 : math::kNaN;
        if (q <= 0.0 && q == __builtin_rint(q)) return math::kInfinity;
        double sum = 0.0;
        for (; q < 10.0; q += 1.0) sum += __builtin_pow(q, -s);
        const double power = __builtin_pow(q, -s);
        sum += power * (q / (s - 1.0) + 0.5);
        constexpr double kBernoulli[] = {1.0 / 12,           -1.0 / 720,     1.0 / 30240,
                                         -1.0 / 1209600,     1.0 / 47900160, -691.0 / 1307674368000.0,
                                         1.0 / 74724249600.0};  // B_2j / (2j)!
        double factor = s * power / q;
        for (int j = 0; j < 7; ++j) {
            sum += kBernoulli[j] * factor;
            factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
        }
        return sum;
    }
};

// Note [Implicit reparameterization gradients]
// A draw x with the distribution function F(x; a) moves with its parameter as dx/da = -(dF/da) / (dF/dx): the x with
// the same probability (Figurnov, Mohamed and Mnih 2018). Derivatives of the series of F are sums of terms of one sign
// on one side of where log x has its mean value; on the other side the same is done for 1 - F.

// Gamma, upper tail: Q(a, x) = x^a exp(-x) / Gamma(a) h with Legendre's continued fraction h, whose derivative is
// carried along by the rules for sums and quotients.
double gamma_gradient_by_fraction(double a, double x) {
    double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, result = d, slope_of_c = 0.0, slope_of_d = d * d, slope = d;
    for (double n = 1.0; n < 1e5; n += 1.0) {  // `slope` is that of log h
        const double numerator = n * (a - n);
        b += 2.0;
        slope_of_c = (n - numerator / c * slope_of_c) / c - 1.0;
        slope_of_d = 1.0 - n * d - numerator * slope_of_d;
        d = 1.0 / (numerator * d + b);
        slope_of_d *= d * d;
        c = b + numerator / c;
        const double change = slope_of_c / c + slope_of_d / d;
        result *= c * d;
        slope += change;
        if (math::magnitude(c * d - 1.0) + math::magnitude(change) < kEpsilon) break;
    }
    return x * result * (__builtin_log(x) - math::digamma(a) + slope);
}

struct GammaGradient {
    static double apply(double a, double x) {
        if (x == 0.0) return 0.0;
        if (x > a + 3.0 * __builtin_sqrt(a) + 1.0) return gamma_gradient_by_fraction(a, x);
        double term = 1.0, sum = 1.0, harmonic = 0.0, weighted = 0.0;
        for (double n = 1.0; term > kEpsilon * sum; n += 1.0) {
            const double inverse = 1.0 / (a + n);
            sum += term *= x * inverse;
            weighted += term * (harmonic += inverse);
        }
        return x / a * ((math::digamma(a + 1.0) - __builtin_log(x)) * sum + weighted);
    }
};

// Beta: the derivative of I_x(a, b) = x^a (1-x)^b / (a B(a, b)) * sum of (a+b)_n / (a+1)_n x^n with b fixed, and that
// of 1 - I_x(a, b), which has b and 1 - x in their places. Over (1 - x), so that it may be multiplied by it again.
double beta_gradient_below(double a, double total, double x, double start) {
    double term = 1.0, sum = 1.0, change = 0.0, weighted = 0.0;
    for (double n = 0.0; n < 1e7 && term > kEpsilon * sum; n += 1.0) {
        sum += term *= x * (total + n) / (a + 1.0 + n);
        weighted += term * (change += 1.0 / (total + n) - 1.0 / (a + 1.0 + n));
    }
    return x / a * ((1.0 / a - start) * sum - weighted);
}
double beta_gradient_above(double b, double total, double x, double start) {
    double term = 1.0, sum = 1.0, change = 0.0, weighted = 0.0;
    for (double n = 0.0; n < 1e7 && term > kEpsilon * sum; n += 1.0) {
        sum += term *= (1.0 - x) * (total + n) / (b + 1.0 + n);
        weighted += term * (change += 1.0 / (total + n));
    }
    return x / b * (start * sum + weighted);
}

// dx/da / (1 - x) of a beta number x with parameters a and total - a, the second fixed.
double beta_gradient(double x, double a, double total) {
    if (!(x > 0.0)) return x == 0.0 ? 0.0 : math::kNaN;
    const double start = __builtin_log(x) - (math::digamma(a) - math::digamma(total));
    constexpr double kFew = 3.0;  // the other side's series is short there, and loses a digit at most
    const bool below = start < 0.0 ? x < 0.5 || (1.0 - x) * total >= kFew : x < 0.5 && x * total < kFew;
    return below ? beta_gradient_below(a, total, x, start) : beta_gradient_above(total - a, total, x, start);
}

template <class Function, class T>
void binary_loop_of(char* const* data, const int64_t* strides, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        store<T>(data[0] + i * strides[0],
                 static_cast<T>(Function::apply(static_cast<double>(load<T>(data[1] + i * strides[1])),
                                                static_cast<double>(load<T>(data[2] + i * strides[2])))));
}
template <double (*function)(double, double, double), class T>
void ternary_loop_of(char* const* data, const int64_t* strides, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
        store<T>(data[0] + i * strides[0],
                 static_cast<T>(function(static_cast<double>(load<T>(data[1] + i * strides[1])),
                                         static_cast<double>(load<T>(data[2] + i * strides[2])),
                                         static_cast<double>(load<T>(data[3] + i * strides[3])))));
}

}  // namespace

CLEW_EXPORT_TABLE(GammaFamilyTable, gamma_family,
                  {
                      .lower = CLEW_FLOATING(binary_loop_of, Lower),
                      .upper = CLEW_FLOATING(binary_loop_of, Upper),
                      .zeta = CLEW_FLOATING(binary_loop_of, Zeta),
                      .gamma_gradient = CLEW_FLOATING(binary_loop_of, GammaGradient),
                      .beta_gradient = CLEW_FLOATING(ternary_loop_of, beta_gradient),
                  });

}  // namespace clew::kernels
