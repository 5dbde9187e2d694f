// Sixteen floats in a register of AVX-512, and the instructions to which no plain loop leads the compiler; for
// .isa.cpp files alone, at the level that has them (v4).
#pragma once
#ifdef __AVX512F__
#include <immintrin.h>

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {
namespace avx512 {

using Floats = __m512;
inline constexpr __mmask16 kAll = 0xFFFF;

CLEW_INLINE Floats load(const float* from) { return _mm512_loadu_ps(from); }
CLEW_INLINE void store(float* to, Floats x) { _mm512_storeu_ps(to, x); }
CLEW_INLINE Floats all(float x) { return _mm512_set1_ps(x); }
CLEW_INLINE __m512i bits_of(Floats x) { return _mm512_castps_si512(x); }
// Past the caches, to a place aligned to 64 bytes. A fence must follow before other threads may read it.
CLEW_INLINE void stream(float* to, Floats x) { _mm512_stream_ps(to, x); }
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
CLEW_INLINE Floats multiply_add(Floats a, float b, Floats c) { return _mm512_fmadd_ps(a, all(b), c); }
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

// A table of which each lane takes the number that the low four bits, or five, of its index name.
struct Sixteen {
    Floats table;
    CLEW_INLINE explicit Sixteen(const float* numbers) : table(load(numbers)) {}
    CLEW_INLINE Floats operator[](__m512i index) const { return _mm512_maskz_permutexvar_ps(kAll, index, table); }
    CLEW_INLINE Floats at_bits_of(Floats x) const { return (*this)[bits_of(x)]; }
};
struct ThirtyTwo {
    Floats low, high;
    CLEW_INLINE explicit ThirtyTwo(const float* numbers) : low(load(numbers)), high(load(numbers + 16)) {}
    CLEW_INLINE Floats operator[](__m512i index) const { return _mm512_permutex2var_ps(low, index, high); }
};

// Two vectors that go the same way, step by step side by side: neither waits for its own last step. What is written for
// any V is meant for Floats and for Two.
struct Two {
    Floats a, b;
};
CLEW_INLINE Two operator+(Two x, Two y) { return {x.a + y.a, x.b + y.b}; }
CLEW_INLINE Two operator-(Two x, Two y) { return {x.a - y.a, x.b - y.b}; }
CLEW_INLINE Two operator*(Two x, Two y) { return {x.a * y.a, x.b * y.b}; }
CLEW_INLINE Two operator+(Two x, float y) { return {x.a + y, x.b + y}; }
CLEW_INLINE Two operator-(Two x, float y) { return {x.a - y, x.b - y}; }
template <class F, class... More>
CLEW_INLINE Floats each(const F& f, Floats x, More... more) {
    return f(x, more...);
}
template <class F, class... More>
CLEW_INLINE Two each(const F& f, Two x, More... more) {
    return {f(x.a, more.a...), f(x.b, more.b...)};
}
// C is Two, Floats or float.
CLEW_INLINE Two multiply_add(Two a, Two b, Two c) { return {multiply_add(a.a, b.a, c.a), multiply_add(a.b, b.b, c.b)}; }
template <class C>
CLEW_INLINE Two multiply_add(Two a, Two b, C c) {
    return {multiply_add(a.a, b.a, c), multiply_add(a.b, b.b, c)};
}
CLEW_INLINE Two multiply_add(Two a, float b, Two c) { return {multiply_add(a.a, b, c.a), multiply_add(a.b, b, c.b)}; }
CLEW_INLINE Two multiply_add(Two a, float b, float c) { return {multiply_add(a.a, b, c), multiply_add(a.b, b, c)}; }

CLEW_INLINE Two load_two(const float* from) { return {load(from), load(from + 16)}; }
CLEW_INLINE void store(float* to, Two x) {
    store(to, x.a);
    store(to + 16, x.b);
}
CLEW_INLINE void stream(float* to, Two x) {
    stream(to, x.a);
    stream(to + 16, x.b);
}

}  // namespace avx512
}  // namespace
}  // namespace clew::kernels
#endif
