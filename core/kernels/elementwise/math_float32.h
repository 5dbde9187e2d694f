// Mathematical functions on floats; for .isa.cpp files alone. What networks use most is computed in single precision;
// the rest goes through double, which is within one rounding of exact.
#pragma once
#include "core/kernels/elementwise/math_float64.h"

namespace clew::kernels {
namespace {
namespace math {

// In two instructions, where comparisons would take six: among floats of one sign, bits are ordered as the magnitudes
// are. NaN is lost; `keep_nan` brings it back.
CLEW_INLINE float clamped(float x, float low, float high) {
    const int32_t below_high = static_cast<int32_t>(bits_of(x)), high_bits = static_cast<int32_t>(bits_of(high));
    const uint32_t above_low = static_cast<uint32_t>(below_high < high_bits ? below_high : high_bits);
    return from_bits(above_low < bits_of(low) ? above_low : bits_of(low));
}
CLEW_INLINE float keep_nan(float x, float y) { return x == x ? y : x; }

// As exp(double); 2^-28. For x between -104 and 89.
CLEW_INLINE float exp_bounded(float x) {
    constexpr float kRounderF = 12582912.0f;  // 1.5 * 2^23
    const float rounded = multiply_add(x, 1.4426950408889634f, kRounderF + 254.0f);
    const float n = rounded - (kRounderF + 254.0f);
    const float r = multiply_add(n, -1.4286068e-06f, multiply_add(n, -0.693145751953125f, x));
    const float q = polynomial(r, 0.5f, 0.16666518f, 0.041666206f, 0.008368953f, 0.0013950602f);
    const uint32_t half = bits_of(multiply_add(n, 0.5f, kRounderF + 127.0f));
    const float scale = from_bits(half << 23), more_scale = from_bits((bits_of(rounded) - half) << 23);
    return exp_from_series(r, q) * scale * more_scale;
}
CLEW_INLINE float exp(float x) { return keep_nan(x, exp_bounded(clamped(x, -104.0f, 89.0f))); }

// log(1 + f) = f - f^2 / 2 + f^3 Q(f), Q to 2^-30
CLEW_INLINE float log(float x) {
    constexpr uint32_t kSqrtHalf = 0x3F3504F3, kOne = 0x3F800000;
    const bool denormal = x < 1.17549435e-38f;
    const uint32_t shifted = bits_of(denormal ? x * 16777216.0f : x) + (kOne - kSqrtHalf);
    const float k = static_cast<float>(static_cast<int32_t>(shifted >> 23) - (denormal ? 127 + 24 : 127));
    const float f = from_bits((shifted & 0x007FFFFF) + kSqrtHalf) - 1.0f;
    const float q = long_polynomial(f, 0.33333313f, -0.2500001f, 0.20002119f, -0.16667996f, 0.14219552f, -0.12405589f,
                                    0.11888162f, -0.116756506f, 0.06746639f);
    const float square = f * f;
    float y = multiply_add(k, 0.693145751953125f,
                           f + multiply_add(-0.5f, square, multiply_add(f * square, q, k * 1.4286068e-06f)));
    y = x < __builtin_inff() ? y : x;
    y = x < 0.0f ? __builtin_nanf("") : y;
    return x == 0.0f ? -__builtin_inff() : y;
}

// tanh(|x|) = h / (h + 1) with h = (exp(2 |x|) - 1) / 2. Here |x| = n ln(2) / 2 + r, so that exp(2 |x|) = 2^n exp(2 r),
// and p is (exp(2 r) - 1) / 2 to 2^-26. ln(2) needs no second part: where n is large, h hardly counts.
CLEW_INLINE float tanh(float x) {
    constexpr float kScaleRounderF = 12582912.0f + 127.0f;
    const uint32_t bits = bits_of(magnitude(x)), bound = bits_of(9.02f);  // from there on tanh rounds to 1
    const float z = from_bits(bits < bound ? bits : bound);
    const float rounded = multiply_add(z, 2.8853900817779268f, kScaleRounderF);
    const float n = rounded - kScaleRounderF;
    const float r = multiply_add(n, -0.34657359f, z);
    const float q = polynomial(r, 1.0f, 0.6666617f, 0.33333024f, 0.13386631f, 0.044628974f);
    const float p = multiply_add(r * r, q, r);
    const float scale = from_bits(bits_of(rounded) << 23);
    const float h = multiply_add(p, scale, multiply_add(scale, 0.5f, -0.5f));
    return keep_nan(x, with_sign_of(h / (h + 1.0f), x));
}
// erf(|x|) = 1 - exp(-u) with u = |x| P(|x|), P to 2^-28; the exponential as in tanh. No division, and no cancellation.
CLEW_INLINE float erf(float x) {
    constexpr float kScaleRounderF = 12582912.0f + 127.0f;
    const uint32_t bits = bits_of(magnitude(x)), bound = bits_of(3.95f);  // from there on erf rounds to 1
    const float z = from_bits(bits < bound ? bits : bound);
    const float u = z * long_polynomial(z, 1.1283792f, 0.6366194f, 0.10277773f, -0.019152723f, -0.0001609747f,
                                        0.0016675694f, -0.00063311774f, 0.00011771643f, -9.264332e-06f);
    const float rounded = multiply_add(u, -1.4426950408889634f, kScaleRounderF);
    const float n = rounded - kScaleRounderF;
    const float r = multiply_add(n, -0.6931472f, -u);
    const float q = polynomial(r, 0.5f, 0.16666542f, 0.04166628f, 0.008366644f, 0.0013946554f);
    const float scale = from_bits(bits_of(rounded) << 23);
    return keep_nan(x, with_sign_of((1.0f - scale) - multiply_add(r * r, q, r) * scale, x));
}

// Note [Instruction latency]
// What bounds these loops is how long one value takes from load to store: the CPU holds four or five vectors of them at
// a time. So polynomials that everybody waits for are summed in pairs (Estrin), not by Horner's rule.

// exp(r) for |r| <= ln(2) / 2; 2^-27
CLEW_INLINE float exp_near_zero(float r) {
    const float square = r * r;
    const float low = multiply_add(square, multiply_add(r, 0.16666518f, 0.5f), r + 1.0f);
    const float high = multiply_add(square, 0.0013950602f, multiply_add(r, 0.008368953f, 0.041666206f));
    return multiply_add(square * square, high, low);
}

// 1 / (1 + exp(-x)). Below -30 what is lost by the sum does not count; at most 4 units in the last place, far out.
CLEW_INLINE float sigmoid(float x) {
    constexpr float kRounderF = 12582912.0f;  // 1.5 * 2^23
    float z = -30.0f > -x ? -30.0f : -x;
    z = 104.0f < z ? 104.0f : z;
    const float rounded = multiply_add(z, 1.4426950408889634f, kRounderF + 254.0f);
    const float n = rounded - (kRounderF + 254.0f);
#ifdef __FMA__
    const float r = multiply_add(n, -0.6931472f, z);
#else
    const float r = (z - n * 0.693145751953125f) - n * 1.4286068e-06f;
#endif
    const uint32_t half = bits_of(multiply_add(n, 0.5f, kRounderF + 127.0f));
    const float scale = from_bits(half << 23), more_scale = from_bits((bits_of(rounded) - half) << 23);
    return 1.0f / multiply_add(exp_near_zero(r) * scale, more_scale, 1.0f);
}
// e / (1 + e) or 1 / (1 + e) with e = exp(-|x|), and what 1 + e lost by rounding put back.
CLEW_INLINE double sigmoid(double x) {
    const double e = exp(-magnitude(x));
    const double sum = 1.0 + e;
    const double lost = e - (sum - 1.0);
    const double y = (x < 0.0 ? e : 1.0) / sum;
    return multiply_add(-y, lost, y);
}

// log(1 + exp(x)) = max(x, 0) + log(1 + e) with e = exp(-|x|), and log(1 + e) = 2 atanh(s) with s = e / (2 + e) <= 1/3;
// 2^-28
CLEW_INLINE float softplus(float x) {
    const float e = exp(-magnitude(x));
    const float s = e / (2.0f + e);
    const float series = polynomial(s * s, 2.0f, 0.66666317f, 0.40024918f, 0.2796047f, 0.28179032f);
    return multiply_add(s, series, at_least(x, 0.0f));
}

CLEW_INLINE float exp2(float x) { return static_cast<float>(exp2(static_cast<double>(x))); }
CLEW_INLINE float expm1(float x) { return static_cast<float>(expm1(static_cast<double>(x))); }
CLEW_INLINE float log2(float x) { return static_cast<float>(log2(static_cast<double>(x))); }
CLEW_INLINE float log10(float x) { return static_cast<float>(log10(static_cast<double>(x))); }
CLEW_INLINE float log1p(float x) { return static_cast<float>(log1p(static_cast<double>(x))); }
CLEW_INLINE float sinh(float x) { return static_cast<float>(sinh(static_cast<double>(x))); }
CLEW_INLINE float cosh(float x) { return static_cast<float>(cosh(static_cast<double>(x))); }
CLEW_INLINE float tan(float x) { return static_cast<float>(tan(static_cast<double>(x))); }
CLEW_INLINE float asin(float x) { return static_cast<float>(asin(static_cast<double>(x))); }
CLEW_INLINE float acos(float x) { return static_cast<float>(acos(static_cast<double>(x))); }
CLEW_INLINE float atan(float x) { return static_cast<float>(atan(static_cast<double>(x))); }
CLEW_INLINE float erfc(float x) { return static_cast<float>(erfc(static_cast<double>(x))); }

// Short polynomials in double: 2^-28 and 2^-33.
CLEW_INLINE float sin_or_cos(float x, uint64_t quadrant_offset) {
    const double rounded = x * 0.6366197723675814 + kRounder;
    const double n = rounded - kRounder;
    const double r = (x - n * 1.5707963267341256) - n * 6.077100506506192e-11;
    const double z = r * r;
    const double s = r + r * z * polynomial(z, -0.16666654908636286, 0.008332175846635358, -0.00019516977515382213);
    const double c =
        (1.0 - 0.5 * z) + z * z * polynomial(z, 0.04166664680721338, -0.0013887364486693905, 2.4438091098042747e-05);
    const uint64_t quadrant = bits_of(rounded) + quadrant_offset;
    const double y = (quadrant & 1) != 0 ? c : s;
    return static_cast<float>(from_bits(bits_of(y) ^ ((quadrant & 2) << 62)));
}
CLEW_INLINE float sin(float x) { return sin_or_cos(x, 0); }
CLEW_INLINE float cos(float x) { return sin_or_cos(x, 1); }

}  // namespace math
}  // namespace
}  // namespace clew::kernels
