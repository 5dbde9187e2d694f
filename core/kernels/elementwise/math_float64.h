// Mathematical functions on doubles, as straight-line code that vectorises at every level; for .isa.cpp files alone.
//
// Each reduces its argument and evaluates a minimax polynomial (fitted by the Remez algorithm in 50 digits; the error
// beside a polynomial is relative to the function and leaves out rounding). Errors of the whole: within 2 ulp for exp,
// log, sigmoid, 4 for the rest. Conversions between doubles and integers go through the bits of x + 1.5 * 2^52, whose
// low bits hold round(x): levels below v4 have no conversion to 64-bit integers.
#pragma once
#include "core/kernels/elementwise/math_base.h"

namespace clew::kernels {
namespace {
namespace math {

inline constexpr double kRounder = 6755399441055744.0;  // 1.5 * 2^52
inline constexpr double kLog2E = 1.4426950408889634;
inline constexpr double kLn2High = 0.693147180559663, kLn2Low = 2.8235290563031577e-13;  // 41 bits and the rest

// x = n ln 2 + r. The powers of two come as two factors, so that 2^1024 and the least denormals are reached.
inline constexpr double kScaleRounder = kRounder + 2046.0;  // twice the bias of exponents: half for each factor
struct Reduced {
    double r;
    double scale, more_scale;  // 2^n = scale * more_scale
};
CLEW_INLINE Reduced scaled(double r, double n, double rounded) {
    const uint64_t half = bits_of(multiply_add(n, 0.5, kRounder + 1023.0));  // the bias of exponents comes with it
    return {r, from_bits(half << 52), from_bits((bits_of(rounded) - half) << 52)};
}
CLEW_INLINE Reduced reduce_exponent(double x) {
    const double rounded = multiply_add(x, kLog2E, kScaleRounder);
    const double n = rounded - kScaleRounder;
    return scaled(multiply_add(n, -kLn2Low, multiply_add(n, -kLn2High, x)), n, rounded);
}
// (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2; 2^-58
CLEW_INLINE double exp_series(double r) {
    return long_polynomial(r, 0.5000000000000013, 0.166666666666667, 0.04166666666651432, 0.008333333333307014,
                           0.001388888894733136, 0.00019841269917800623, 2.4801489590387232e-05, 2.755721592449779e-06,
                           2.7631413866149344e-07, 2.5117981344328734e-08);
}
CLEW_INLINE double expm1_reduced(double r) { return multiply_add(r * r, exp_series(r), r); }
// 1 + r exactly, as a sum of two, and only then the rest.
template <class T>
CLEW_INLINE T exp_from_series(T r, T series) {
    const T high = T(1) + r;
    const T low = r - (high - T(1));
    return high + multiply_add(r * r, series, low);
}
CLEW_INLINE double exp_reduced(double r) { return exp_from_series(r, exp_series(r)); }

CLEW_INLINE double exp(double x) {
    const Reduced to = reduce_exponent(at_most(at_least(x, -746.0), 710.0));
    return exp_reduced(to.r) * to.scale * to.more_scale;
}
CLEW_INLINE double exp2(double x) {
    x = at_most(at_least(x, -1080.0), 1025.0);
    const double rounded = x + kScaleRounder;
    const double n = rounded - kScaleRounder;
    const Reduced to = scaled((x - n) * 0.6931471805599453, n, rounded);
    return exp_reduced(to.r) * to.scale * to.more_scale;
}
CLEW_INLINE double expm1(double x) {
    const Reduced to = reduce_exponent(at_most(at_least(x, -50.0), 710.0));
    const double p = expm1_reduced(to.r);
    const double y = (p * to.scale + (to.scale - 1.0 / to.more_scale)) * to.more_scale;
    return x == 0.0 ? x : y;
}
// exp(x + rest) * factor, where `rest` is what x lacks.
CLEW_INLINE double exp_times(double x, double rest, double factor) {
    const Reduced to = reduce_exponent(at_most(at_least(x, -800.0), 710.0));
    return factor * exp_reduced(to.r + rest) * to.scale * to.more_scale;
}

// x = 2^k (1 + f), with 1 + f between sqrt(1/2) and sqrt(2). The logarithm of 1 + f is f - correction: s = f / (2 + f),
// log(1 + f) = 2 atanh(s) = 2 s + s^3 R(s^2) with R to 2^-58.
struct Logarithm {
    double k, f, half_square, s_term;
};
CLEW_INLINE Logarithm reduce_logarithm(double x, double k_offset) {
    constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD, kOne = 0x3FF0000000000000;
    const uint64_t shifted = bits_of(x) + (kOne - kSqrtHalf);
    // The exponent, put in the low bits of 2^52.
    const double k = from_bits((shifted >> 52) | 0x4330000000000000) - (4503599627370496.0 + 1023.0) + k_offset;
    const double f = from_bits((shifted & 0x000FFFFFFFFFFFFF) + kSqrtHalf) - 1.0;
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double series =
        z * long_polynomial(z, 0.6666666666666735, 0.39999999999411096, 0.2857142874326231, 0.22222198476003124,
                            0.18183569739728042, 0.1531390323321067, 0.14797507964482168);
    const double half_square = 0.5 * f * f;
    return {k, f, half_square, s * (half_square + series)};
}
CLEW_INLINE Logarithm reduce_any_logarithm(double x) {
    const bool denormal = x < 2.2250738585072014e-308;
    return reduce_logarithm(denormal ? x * 18014398509481984.0 : x, denormal ? -54.0 : 0.0);
}
CLEW_INLINE double logarithm_edges(double x, double y) {
    y = x < kInfinity ? y : x;  // inf and NaN
    y = x < 0.0 ? kNaN : y;
    return x == 0.0 ? -kInfinity : y;
}
CLEW_INLINE double log(double x) {
    const Logarithm to = reduce_any_logarithm(x);
    return logarithm_edges(x, to.k * kLn2High - ((to.half_square - (to.s_term + to.k * kLn2Low)) - to.f));
}
CLEW_INLINE double log2(double x) {
    const Logarithm to = reduce_any_logarithm(x);
    const double y = to.f - (to.half_square - to.s_term);
    return logarithm_edges(x, to.k + (y * kLog2E + y * 2.0355273740931033e-17));
}
CLEW_INLINE double log10(double x) {
    const Logarithm to = reduce_any_logarithm(x);
    const double y = to.f - (to.half_square - to.s_term);
    return logarithm_edges(x, to.k * 0.30102999566383914 + (to.k * 1.42050232272661e-13 + y * 0.4342944819032518));
}
CLEW_INLINE double log1p(double x) {
    const double u = 1.0 + x;
    const double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);  // by rounding 1 + x
    const Logarithm to = reduce_logarithm(u, 0.0);
    const double low = to.k * kLn2Low + lost / u;
    const double y = to.k * kLn2High - ((to.half_square - (to.s_term + low)) - to.f);
    return x == 0.0 ? x : logarithm_edges(u, y);
}

CLEW_INLINE double tanh(double x) {
    const double e = expm1(2.0 * at_most(magnitude(x), 22.0));
    return with_sign_of(e / (e + 2.0), x);
}
// exp(|x|) / 2 overflows later than exp(|x|).
CLEW_INLINE double half_exp(double x) {
    const Reduced to = reduce_exponent(at_most(x, 711.0));
    return exp_reduced(to.r) * (0.5 * to.scale) * to.more_scale;
}
CLEW_INLINE double sinh(double x) {
    const double z = magnitude(x);
    const double e = expm1(at_most(z, 40.0));
    return with_sign_of(z < 30.0 ? 0.5 * (e + e / (e + 1.0)) : half_exp(z), x);
}
CLEW_INLINE double cosh(double x) {
    const double half = half_exp(magnitude(x));
    return half + 0.25 / half;
}
// log(1 + exp(x)), for any x
CLEW_INLINE double softplus(double x) { return at_least(x, 0.0) + log1p(exp(-magnitude(x))); }

// x = n pi/2 + (high + low), |high| <= pi/4. Three parts of pi/2 have 31 bits each: their products with n are exact.
struct Angle {
    double high, low;
    uint64_t quadrant;
};
inline constexpr double kLargestAngle = 1e6;  // beyond it the caller asks libm
CLEW_INLINE Angle reduce_angle(double x) {
    const double rounded = x * 0.6366197723675814 + kRounder;
    const double n = rounded - kRounder;
    const double first = x - n * 1.5707963267341256;
    const double part = n * 6.07710050359346e-11;
    const double second = first - part;
    const double second_low = (first - second) - part;
    const double rest = n * 2.9127320548227e-20 + n * 1.2706558760139879e-29 - second_low;
    const double high = second - rest;
    return {high, (second - high) - rest, bits_of(rounded)};
}
CLEW_INLINE double sin_reduced(double r, double low) {
    const double z = r * r;
    const double p = polynomial(z, -0.16666666666666632, 0.00833333333332237, -0.00019841269829771186,
                                2.7557313678672517e-06, -2.5050755962445946e-08, 1.5896666566103513e-10);  // 2^-58
    return r + (r * z * p + low * (1.0 - 0.5 * z));
}
CLEW_INLINE double cos_reduced(double r, double low) {
    const double z = r * r;
    const double p = polynomial(z, 0.0416666666666666, -0.0013888888888874064, 2.480158728944347e-05,
                                -2.7557314340656887e-07, 2.087572162339473e-09, -1.135955931495797e-11);  // 2^-64
    const double half = 0.5 * z;
    const double top = 1.0 - half;
    return top + (((1.0 - top) - half) + (z * z * p - r * low));
}
CLEW_INLINE double sin_or_cos(double x, uint64_t quadrant_offset) {
    const Angle angle = reduce_angle(x);
    const uint64_t quadrant = angle.quadrant + quadrant_offset;
    const double s = sin_reduced(angle.high, angle.low), c = cos_reduced(angle.high, angle.low);
    const double y = (quadrant & 1) != 0 ? c : s;
    return from_bits(bits_of(y) ^ ((quadrant & 2) << 62));
}
CLEW_INLINE double sin(double x) { return sin_or_cos(x, 0); }
CLEW_INLINE double cos(double x) { return sin_or_cos(x, 1); }
CLEW_INLINE double tan(double x) {
    const Angle angle = reduce_angle(x);
    const double s = sin_reduced(angle.high, angle.low), c = cos_reduced(angle.high, angle.low);
    const bool odd = (angle.quadrant & 1) != 0;
    return (odd ? -c : s) / (odd ? s : c);
}

CLEW_INLINE double atan(double x) {
    const double z = magnitude(x);
    const bool far = z > 2.414213562373095, middle = z > 0.41421356237309503;  // tan(3 pi / 8), tan(pi / 8)
    const double t = (far ? -1.0 : middle ? z - 1.0 : z) / (far ? z : middle ? z + 1.0 : 1.0);
    const double base = far ? 1.5707963267948966 : middle ? 0.7853981633974483 : 0.0;
    const double base_low = far ? 6.123233995736766e-17 : middle ? 3.061616997868383e-17 : 0.0;
    const double w = t * t;
    const double p =
        long_polynomial(w, -0.333333333333332, 0.19999999999953663, -0.14285714280204034, 0.11111110783814059,
                        -0.09090897767051809, 0.07692060361159768, -0.06663105447930198, 0.058478973351499854,
                        -0.05039330577659363, 0.0380649487547789, -0.017907337289932698);  // 2^-59
    return with_sign_of(base + (t + (t * w * p + base_low)), x);
}
// asin(s) for s^2 = w <= 1/4; 2^-56
CLEW_INLINE double asin_reduced(double s, double w) {
    const double p =
        long_polynomial(w, 0.16666666666665375, 0.07500000000344832, 0.04464285682195225, 0.030381959396325153,
                        0.022371751920418466, 0.017359795869258107, 0.013884348436949658, 0.01217495476373155,
                        0.006503468091508749, 0.01959448103122348, -0.016326908478429415, 0.031981834855173044);
    return s + s * w * p;
}
CLEW_INLINE double asin(double x) {
    const double z = magnitude(x);
    const bool far = z > 0.5;
    const double w = far ? (1.0 - z) * 0.5 : z * z;
    const double v = asin_reduced(far ? __builtin_sqrt(w) : z, w);
    return with_sign_of(far ? 1.5707963267948966 - (2.0 * v - 6.123233995736766e-17) : v, x);
}
CLEW_INLINE double acos(double x) {
    const double z = magnitude(x);
    const bool far = z > 0.5;
    const double w = far ? (1.0 - z) * 0.5 : z * z;
    const double v = asin_reduced(far ? __builtin_sqrt(w) : x, w);
    const double beyond = x < 0.0 ? 3.141592653589793 - (2.0 * v - 1.2246467991473532e-16) : 2.0 * v;
    return far ? beyond : 1.5707963267948966 - (v - 6.123233995736766e-17);
}

// erf for |x| <= 1; 2^-57
CLEW_INLINE double erf_small(double x) {
    return x * polynomial(x * x, 1.1283791670955126, -0.37612638903183515, 0.11283791670944078, -0.02686617064309394,
                          0.005223977605970411, -0.0008548325922036846, 0.00012055293354447646, -1.4924707945204603e-05,
                          1.6447076872342763e-06, -1.6205888163527908e-07, 1.3709112415040863e-08,
                          -7.775933878904118e-10);
}
// erfc for x >= 1/2: exp(-x^2) G / (1 + 2 x), where G is a polynomial in (x - 3) / (x + 3); 2^-58
CLEW_INLINE double erfc_large(double x) {
    x = at_most(x, 28.0);
    const double t = (x - 3.0) / (x + 3.0);
    const double g =
        polynomial(t, 1.2530080582697296, -0.1356211061245813, -0.04756229435344998, 0.12964515870278034,
                   -0.11927366341536218, 0.06830802734318894, -0.023770514917100208, 0.0025293918305868326,
                   0.0018886903348949472, -0.0007798324191131418, -0.00010515956833516914, 0.00012510024635149167,
                   4.948087975899101e-06, -2.0103960777585773e-05, -7.260751921473774e-07, 3.4804531487235345e-06,
                   3.4322094000578586e-07, -6.280019283314595e-07, -1.2024490374176215e-07, 1.1010450467473003e-07,
                   2.2368423926020293e-08, -1.4780648894785722e-08);
    // x^2 in two parts, the first of which is exact.
    const double head = from_bits(bits_of(x) & 0xFFFFFFFFF8000000);
    return exp_times(-head * head, -(x - head) * (x + head), g / (1.0 + 2.0 * x));
}
CLEW_INLINE double erf(double x) {
    const double z = magnitude(x);
    return z < 1.0 ? erf_small(x) : with_sign_of(1.0 - erfc_large(z), x);
}
CLEW_INLINE double erfc(double x) {
    const double z = magnitude(x);
    const double large = erfc_large(at_least(z, 0.5));
    const double beyond = x < 0.0 ? 2.0 - large : large;
    return z < 0.5 || (x < 0.0 && z < 1.0) ? 1.0 - erf_small(x) : beyond;
}

}  // namespace math
}  // namespace
}  // namespace clew::kernels
