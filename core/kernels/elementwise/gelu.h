// x times the normal distribution, and its derivative; for .isa.cpp files alone.
#pragma once
#include "core/kernels/elementwise/math_vectors.h"

namespace clew::kernels {
namespace {

inline constexpr double kRootHalf = 0.7071067811865476;  // sqrt(1/2)
inline constexpr double kDensity = 0.3989422804014327;   // 1 / sqrt(2 pi)

// exp(z) for z <= 0 or NaN, and 0 below -87.
CLEW_INLINE float exp_of_negative(float z) {
    constexpr float kScaleRounderF = 12582912.0f + 127.0f;
    const float bounded = z < -87.0f ? -87.0f : z;
    const float rounded = math::multiply_add(bounded, 1.4426950408889634f, kScaleRounderF);
    const float r = math::multiply_add(rounded - kScaleRounderF, -0.6931472f, bounded);
    const float scale = math::from_bits(math::bits_of(rounded) << 23);
    return z < -87.0f ? 0.0f : math::exp_near_zero(r) * scale;
}

// The u of erfc(|x| / sqrt(2)) / 2 = exp(-u) / 2 as in erf(), whose polynomial this is, in |x|.
inline constexpr float kTailBound = 5.586f;  // from where erf rounds to 1
CLEW_INLINE float tail_exponent(float x) {
    constexpr double h = kRootHalf;
    const uint32_t bits = math::bits_of(math::magnitude(x)), bound = math::bits_of(kTailBound);
    const float z = math::from_bits(bits < bound ? bits : bound);
    const float square = z * z;
    const float low = math::multiply_add(
        square, math::multiply_add(z, float(-0.019152723 * h * h * h * h), float(0.10277773 * h * h * h)),
        math::multiply_add(z, float(0.6366194 * h * h), float(1.1283792 * h)));
    const float last = math::multiply_add(square, float(-9.264332e-06 * h * h * h * h * h * h * h * h * h),
                                          math::multiply_add(z, float(0.00011771643 * h * h * h * h * h * h * h * h),
                                                             float(-0.00063311774 * h * h * h * h * h * h * h)));
    const float high = math::multiply_add(
        square, last,
        math::multiply_add(z, float(0.0016675694 * h * h * h * h * h * h), float(-0.0001609747 * h * h * h * h * h)));
    return z * math::multiply_add(square * square, high, low);
}
CLEW_INLINE float normal_distribution(float x, float exponent) {
    constexpr float kScaleRounderF = 12582912.0f + 126.0f;
    const float rounded = math::multiply_add(exponent, -1.4426950408889634f, kScaleRounderF);
    const float r = math::multiply_add(rounded - kScaleRounderF, -0.6931472f, -exponent);
    const float half = math::from_bits(math::bits_of(rounded) << 23);  // of 2^n
    const float tail = math::magnitude(x) < kTailBound ? math::exp_near_zero(r) * half : 0.0f;
    return x > 0.0f ? 1.0f - tail : tail;  // not of NaN: the caller multiplies by x
}
CLEW_INLINE float normal_distribution(float x) { return normal_distribution(x, tail_exponent(x)); }
CLEW_INLINE double normal_distribution(double x) { return 0.5 * (1.0 + math::erf(x * kRootHalf)); }
CLEW_INLINE float bell(float x) { return exp_of_negative(-0.5f * x * x); }
CLEW_INLINE double bell(double x) { return math::exp(-0.5 * x * x); }
CLEW_INLINE float gelu_derivative(float x, float below, float bell) { return below + x * (float(kDensity) * bell); }
CLEW_INLINE double gelu_derivative(double x, double below, double bell) { return below + x * (kDensity * bell); }

#ifdef __AVX512F__
// 2^exponent / 2 is that of -|x|.
template <class V>
CLEW_INLINE V tail_exponent(V x) {
    return math::tail_exponent(x);
}
template <class V>
CLEW_INLINE V normal_distribution(V x, V exponent) {
    return avx512::each(
        [](math::Floats v, math::Floats tail) {
            const __mmask16 upper = _mm512_cmp_ps_mask(v, avx512::all(0.0f), _CMP_GT_OQ);
            return _mm512_mask_sub_ps(tail, upper, avx512::all(1.0f), tail);
        },
        x, math::normal_tail(x, exponent));
}
template <class V>
CLEW_INLINE V bell(V x) {
    return avx512::each([](math::Floats v) { return math::bell(v); }, x);
}
template <class V>
CLEW_INLINE V gelu_derivative(V x, V below, V bell) {
    return avx512::each([](math::Floats v, math::Floats part,
                           math::Floats height) { return avx512::multiply_add(v * float(kDensity), height, part); },
                        x, below, bell);
}
#endif

// Each with its two halves: Note [Software pipelining of long formulas].
struct Gelu {
    template <class T>
    static CLEW_INLINE T apply(T x) {
        return x * normal_distribution(x);
    }
    template <class V, class Then>
    static CLEW_INLINE void first(V x, const Then& then) {
        then(tail_exponent(x));
    }
    template <class V>
    static CLEW_INLINE V second(V x, V exponent) {
        return x * normal_distribution(x, exponent);
    }
};

struct GeluBackward {
    template <class T>
    static CLEW_INLINE T apply(T g, T x) {
        return g * gelu_derivative(x, normal_distribution(x), bell(x));
    }
    template <class V, class Then>
    static CLEW_INLINE void first(V x, const Then& then) {
        then(tail_exponent(x), bell(x));
    }
    template <class V>
    static CLEW_INLINE V second(V g, V x, V exponent, V bell) {
        return g * gelu_derivative(x, normal_distribution(x, exponent), bell);
    }
};

// A function and its derivative: what the loops above have, and what their backward multiplies by.
template <class V>
struct ValueAndDerivative {
    V value, derivative;
};
struct GeluBoth {
    template <class T>
    static CLEW_INLINE ValueAndDerivative<T> apply(T x) {
        const T below = normal_distribution(x);
        return {x * below, gelu_derivative(x, below, bell(x))};
    }
    template <class V, class Then>
    static CLEW_INLINE void first(V x, const Then& then) {
        then(tail_exponent(x), bell(x));
    }
    template <class V>
    static CLEW_INLINE ValueAndDerivative<V> second(V x, V exponent, V bell) {
        const V below = normal_distribution(x, exponent);
        return {x * below, gelu_derivative(x, below, bell)};
    }
};

}  // namespace
}  // namespace clew::kernels
