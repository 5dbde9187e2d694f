// Sixteen floats in a register of AVX-512, and the instructions to which no plain loop leads the compiler; for
// .isa.cpp files alone, at the level that has them (v4).
#pragma once
#ifdef __AVX512F__
#include <immintrin.h>

#include "core/kernels/loops.h"

namespace clew::kernels {
namespace {
namespace avx512 {

using Floats = __m512;
inline constexpr __mmask16 kAll = 0xFFFF;

CLEW_INLINE Floats load(const float* from) { return _mm512_loadu_ps(from); }
CLEW_INLINE void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
CLEW_INLINE Floats all(float x) { return _mm512_set1_ps(x); }
CLEW_INLINE __m512i bits_of(Floats x) { return _mm512_castps_si512(x); }
template <int kPlaces>
CLEW_INLINE __m512i shifted_right(Floats x) {
    return _mm512_maskz_srli_epi32(kAll, bits_of(x), kPlaces);
}
CLEW_INLINE Floats from_bits(__m512i bits) { return _mm512_castsi512_ps(bits); }
// x with those of y's bits turned over that `chosen` has.
CLEW_INLINE Floats with_bits(Floats x, Floats y, __m512i chosen) {
    return from_bits(_mm512_xor_si512(bits_of(x), _mm512_and_si512(bits_of(y), chosen)));
}
CLEW_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return _mm512_fmadd_ps(a, b, c); }
CLEW_INLINE Floats multiply_add(Floats a, Floats b, float c) { return _mm512_fmadd_ps(a, b, all(c)); }
CLEW_INLINE Floats multiply_add(Floats a, float b, float c) { return _mm512_fmadd_ps(a, all(b), all(c)); }

// For x = m 2^n with 1 <= m < 2: n, and m. Of 0 and infinity, which have m = 1, n is infinite; NaN stays.
CLEW_INLINE Floats exponent_of(Floats x) { return _mm512_maskz_getexp_ps(kAll, x); }
CLEW_INLINE Floats mantissa_of(Floats x) {
    return _mm512_maskz_getmant_ps(kAll, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
}
// The same with 3/4 <= m < 3/2, and NaN for negative x.
CLEW_INLINE Floats mantissa_around_one(Floats x) {
    constexpr auto kSign = static_cast<_MM_MANTISSA_SIGN_ENUM>(_MM_MANT_SIGN_nan | _MM_MANT_SIGN_zero);  // -0 has +1
    return _mm512_maskz_getmant_ps(kAll, x, _MM_MANT_NORM_p75_1p5, kSign);
}
// NaN stays.
CLEW_INLINE Floats at_most(Floats x, float bound) { return _mm512_maskz_min_ps(kAll, all(bound), x); }
CLEW_INLINE Floats at_least(Floats x, float bound) { return _mm512_maskz_max_ps(kAll, all(bound), x); }
// To the nearest whole number, and x 2^n rounded once, whatever n is.
CLEW_INLINE Floats rounded(Floats x) { return _mm512_maskz_roundscale_ps(kAll, x, _MM_FROUND_TO_NEAREST_INT); }
CLEW_INLINE Floats scaled(Floats x, Floats n) { return _mm512_maskz_scalef_ps(kAll, x, n); }

// Thirty-two numbers, of which each lane takes the one that the low five bits of its index name.
struct Lookup {
    Floats low, high;
    CLEW_INLINE explicit Lookup(const float* table) : low(load(table)), high(load(table + 16)) {}
    CLEW_INLINE Floats operator[](__m512i index) const { return _mm512_permutex2var_ps(low, index, high); }
};

}  // namespace avx512
}  // namespace
}  // namespace clew::kernels
#endif
