// Powers of floats, sixteen at a time; for .isa.cpp files alone, at the level that can (v4).
//
// Note [Powers as sums of two floats]
// base^exponent = 2^(exponent log2(base)), and the product needs a dozen bits more than a float has. Instead of doubles
// (float_power.h) the sum of two floats, `high` and `low`, holds it: twice the lanes, and tables that lie in registers.
// With base = m 2^k and c from a table such that r = m c - 1 is small,
//     log2(base) = k - log2(c) + r / ln(2) + r^2 Q(r).
// c has six bits after the point: r has no rounding error. Of log2(c) sixteen bits after the point go to `high`, so
// that the sum with k has no rounding error, either; the rest goes to `low`. The power comes out within 1.3 units in
// the last place (2.5 where exponents of thousands make powers that nearly leave the range), where doubles give 0.51.
//
// Special bases: where one exponent is shared by all, the instruction `vfixupimm` puts right what they gave. Where it
// is not, and where exponents are so large that the sum is not exact enough, elements go through doubles; each by
// itself, so that no element's bits depend on its neighbours.
#pragma once
#include "core/kernels/float_power.h"

#include "core/kernels/math_vectors.h"

#ifdef __AVX512F__
namespace clew::kernels {
namespace {

using avx512::Floats;

inline constexpr float kLargestExponent = 65536.0f;

// c and -log2(c) for mantissas from 1 + j / 32 on. On both sides of 1 the logarithm is 0 in all.
struct alignas(64) PowerTables {
    float inverses[32], highs[32];
    float lows[32] = {0.0f,
                      3.0188824e-06f,
                      1.6039585e-06f,
                      5.455068e-06f,
                      2.8660284e-06f,
                      -2.9020011e-06f,
                      7.7663366e-08f,
                      -2.650161e-07f,
                      -1.0255652e-06f,
                      5.7320567e-06f,
                      -1.5632212e-06f,
                      7.095588e-06f,
                      -2.3857444e-06f,
                      -1.2896891e-06f,
                      -4.7387543e-06f,
                      4.776548e-06f,
                      1.3028072e-06f,
                      7.1994837e-06f,
                      7.1994837e-06f,
                      1.8367533e-06f,
                      -1.8282373e-06f,
                      -2.708756e-06f,
                      -2.708756e-06f,
                      4.031832e-06f,
                      -3.1264424e-06f,
                      -3.1264424e-06f,
                      4.7027816e-06f,
                      5.376559e-07f,
                      5.376559e-07f,
                      -6.3019756e-06f,
                      -6.3019756e-06f,
                      0.0f};
    constexpr PowerTables() : inverses(), highs() {
        constexpr int of_64[] = {64, 61, 59, 58, 56, 55, 53, 52, 51, 49, 48, 47, 46, 45, 44, 43,
                                 42, 41, 41, 40, 39, 38, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32};
        constexpr int of_65536[] = {0,     4539,  7691,  9307,  12625, 14329, 17831, 19632, 21468, 25250, 27200,
                                    29190, 31224, 33302, 35427, 37600, 39825, 42103, 42103, 44438, 46832, 49288,
                                    49288, 51809, 54400, 54400, 57063, 59804, 59804, 62627, 62627, 65536};
        for (int j = 0; j < 32; ++j) {
            inverses[j] = static_cast<float>(of_64[j]) / 64;
            highs[j] = static_cast<float>(of_65536[j]) / 65536;
        }
    }
};
inline constexpr PowerTables kPowerTables;

struct FloatSum {
    Floats high, low;
};

// log2(x) times the exponent, for positive finite x.
struct TimesLogarithm {
    avx512::Lookup inverses{kPowerTables.inverses}, highs{kPowerTables.highs}, lows{kPowerTables.lows};

    CLEW_INLINE FloatSum operator()(Floats x, Floats exponent) const {
        using avx512::all, avx512::multiply_add;
        constexpr float kSlope = 1.442695f, kSlopeRest = 1.925963e-08f;  // 1 / ln(2)
        const Floats m = avx512::mantissa_of(x);
        const __m512i place = avx512::shifted_right<18>(m);
        const Floats r = multiply_add(m, inverses[place], -1.0f);
        const Floats last = multiply_add(r, multiply_add(r, 0.28210315f, -0.36079663f), all(0.48090094f));
        const Floats q = multiply_add(r, last, all(-0.7213475f));  // Q to 2^-38
        const Floats rest = multiply_add(r, multiply_add(r, q, all(kSlopeRest)), lows[place]);
        const Floats whole = avx512::exponent_of(x) + highs[place];
        const Floats high = multiply_add(r, all(kSlope), whole);
        const Floats low = multiply_add(r, all(kSlope), whole - high) + rest;
        const Floats product = high * exponent;
        return {product, multiply_add(low, exponent, _mm512_fmsub_ps(high, exponent, product))};
    }
};

// 2^(high + low) to 2^-28
CLEW_INLINE Floats exp2_of(FloatSum y) {
    const Floats n = avx512::rounded(y.high + y.low);
    const Floats r = (y.high - n) + y.low;
    return avx512::scaled(math::exp2_near_zero(r), n);
}

[[gnu::noinline, gnu::cold]] Floats powers_through_doubles(Floats base, Floats exponent) {
    float bases[16], exponents[16], out[16];
    avx512::store(bases, base);
    avx512::store(exponents, exponent);
    const float* inputs[] = {bases, exponents};
    binary_block<FloatPower, float>(out, inputs, 16, nullptr);
    return avx512::load(out);
}

// An exponent for each base.
[[maybe_unused]] void vector_power_block(float* out, const float* const* inputs, int64_t count, const double*) {
    const TimesLogarithm logarithm;
    for (int64_t i = 0; i < count; i += 16) {
        const Floats base = avx512::load(inputs[0] + i), exponent = avx512::load(inputs[1] + i);
        Floats power = exp2_of(logarithm(base, exponent));
        power = _mm512_mask_mov_ps(power, _mm512_cmp_ps_mask(exponent, avx512::all(1.0f), _CMP_EQ_OQ), base);
        const __m512i before = _mm512_sub_epi32(avx512::bits_of(base), _mm512_set1_epi32(1));
        const __mmask16 usual = _mm512_cmplt_epu32_mask(before, _mm512_set1_epi32(0x7F7FFFFF)) &  // positive and finite
                                _mm512_cmp_ps_mask(_mm512_abs_ps(exponent), avx512::all(kLargestExponent), _CMP_LT_OQ);
        if (__builtin_expect(usual != avx512::kAll, 0))
            power = _mm512_mask_blend_ps(usual, powers_through_doubles(base, exponent), power);
        avx512::store(out + i, power);
    }
}

// What special bases give, in the code of `vfixupimm`: four bits for each kind of number, from the lowest on quiet NaN,
// signalling NaN, 0, 1, -infinity, infinity, other negative and other positive numbers.
CLEW_INLINE int powers_of_special(float exponent) {
    if (exponent == 0) return static_cast<int>(0xAAAAAAAA);  // 1, even of NaN
    constexpr int kNaNs = 0x03000022;
    return kNaNs | (exponent > 0 ? 0x00550800 : 0x00880500);
}

// What the logarithms of kDelay elements gave.
struct Kept {
    static constexpr int64_t kDelay = 128;  // a power of two
    alignas(64) float highs[kDelay], lows[kDelay];

    CLEW_INLINE void put(int64_t i, FloatSum y) {
        avx512::store(highs + (i & (kDelay - 1)), y.high);
        avx512::store(lows + (i & (kDelay - 1)), y.low);
    }
    CLEW_INLINE FloatSum operator[](int64_t i) const {
        return {avx512::load(highs + (i & (kDelay - 1))), avx512::load(lows + (i & (kDelay - 1)))};
    }
};

// One exponent below kLargestExponent, and not 1, for all. If it is whole, negative bases have powers.
//
// A power takes some forty instructions, nearly each of which waits for the one before: more than a CPU looks ahead. So
// the second half of the way is made kDelay elements after the first, of which it need not wait for anything.
template <bool kWhole>
void vector_powers(float* out, const float* in, int64_t count, float exponent) {
    const TimesLogarithm logarithm;
    const Floats exponents = avx512::all(exponent);
    const __m512i special = _mm512_set1_epi32(powers_of_special(exponent));
    const bool is_odd = kWhole && (static_cast<int>(exponent) & 1) != 0;
    const __m512i odd = _mm512_set1_epi32(is_odd ? INT32_MIN : 0);
    const auto base = [](Floats x) { return kWhole ? _mm512_abs_ps(x) : x; };
    const auto finish = [&](int64_t i, FloatSum y) {
        const Floats x = avx512::load(in + i), power = _mm512_fixupimm_ps(exp2_of(y), base(x), special, 0);
        avx512::store(out + i, kWhole ? avx512::with_bits(power, x, odd) : power);
    };
    Kept kept;
    const int64_t lead = count < Kept::kDelay ? count : Kept::kDelay;
    for (int64_t i = 0; i < lead; i += 16) kept.put(i, logarithm(base(avx512::load(in + i)), exponents));
    for (int64_t i = lead; i < count; i += 16) {
        const FloatSum y = kept[i - Kept::kDelay];
        kept.put(i, logarithm(base(avx512::load(in + i)), exponents));
        finish(i - Kept::kDelay, y);
    }
    for (int64_t i = count - lead; i < count; i += 16) finish(i, kept[i]);
}

[[maybe_unused]] void vector_power_by_number(float* out, const float* in, int64_t count, float exponent) {
    if (exponent == __builtin_rintf(exponent)) return vector_powers<true>(out, in, count, exponent);
    vector_powers<false>(out, in, count, exponent);
}

}  // namespace
}  // namespace clew::kernels
#endif
