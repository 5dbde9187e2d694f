// Powers of floats, sixteen at a time; for .isa.cpp files alone, at the level that can (v4).
//
// Note [Powers as sums of two floats]
// base^exponent = 2^(exponent log2(base)), and the product needs a dozen bits more than a float has. Instead of doubles
// (float_power.h) the sum of two floats, `high` and `low`, holds it: twice the lanes, and tables that lie in registers.
// With base = m 2^k and c from a table such that r = m c - 1 is small,
//     log2(base) = k - log2(c) + r / ln(2) + r^2 Q(r).
// c has six bits after the point: r has no rounding error. The tables' logarithms and the factor of k are cut short, so
// that the sum of the two has none, either; what was cut off is added to `low`. An exponent that all bases share is
// multiplied into tables and coefficients beforehand, so that powers by a number and by an array of it may differ in
// the last bit. The power comes out within 1.3 units in the last place (2.5 where exponents of thousands make powers
// that nearly leave the range), where doubles give 0.51.
//
// Special bases: where the exponent is shared, the instruction `vfixupimm` puts right what they gave. Where it is not,
// and where exponents are so large that the sum is not exact enough, elements go through doubles; each by itself, so
// that no element's bits depend on its neighbours.
#pragma once
#include "core/kernels/float_power.h"

#include "core/kernels/math_vectors.h"

#ifdef __AVX512F__
namespace clew::kernels {
namespace {

using avx512::Floats;

inline constexpr float kLargestExponent = 65536.0f;

// 64 c for mantissas from 1 + j / 32 on, and -log2(c), which is 0 on both sides of 1.
inline constexpr int kSixtyFourths[32] = {64, 61, 59, 58, 56, 55, 53, 52, 51, 49, 48, 47, 46, 45, 44, 43,
                                          42, 41, 41, 40, 39, 38, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32};
inline constexpr double kLogarithms[32] = {0.0,
                                           0.06926266243711372,
                                           0.11735695063815874,
                                           0.14201900487242788,
                                           0.19264507794239588,
                                           0.2186402864753404,
                                           0.2720795454368008,
                                           0.2995602818589078,
                                           0.3275746580285044,
                                           0.38529015588479176,
                                           0.4150374992788438,
                                           0.4454111483223626,
                                           0.4764380439429871,
                                           0.5081469036703253,
                                           0.5405683813627028,
                                           0.5737352452979021,
                                           0.6076825772212398,
                                           0.6424479953819163,
                                           0.6424479953819163,
                                           0.6780719051126377,
                                           0.7145977811377516,
                                           0.7520724865564145,
                                           0.7520724865564145,
                                           0.7905466343710502,
                                           0.8300749985576876,
                                           0.8300749985576876,
                                           0.8707169830550335,
                                           0.9125371587496606,
                                           0.9125371587496606,
                                           0.9556058806415466,
                                           0.9556058806415466,
                                           1.0};

// What makes the logarithm, times a factor.
struct alignas(64) LogarithmTables {
    float inverses[32], highs[32], lows[32];
    float factor_high, factor_low;  // of k
    float slope_high, slope_low;    // the factor over ln(2)
    float series[4];                // Q to 2^-38

    explicit LogarithmTables(float factor) {
        const double b = static_cast<double>(factor);
        const double rounder = math::from_bits(math::bits_of(b) & 0x7FF0000000000000) * 0x1p-15 * math::kRounder;
        const double shortened = (b + rounder) - rounder;
        factor_high = static_cast<float>(shortened);
        factor_low = static_cast<float>(b - shortened);
        for (int j = 0; j < 32; ++j) {
            const double logarithm = b * kLogarithms[j], high = (logarithm + rounder) - rounder;
            inverses[j] = static_cast<float>(kSixtyFourths[j]) / 64.0f;
            highs[j] = static_cast<float>(high);
            lows[j] = static_cast<float>(logarithm - high);
        }
        const double slope = b * math::kLog2E;
        slope_high = static_cast<float>(slope);
        slope_low = static_cast<float>(slope - static_cast<double>(slope_high));
        constexpr double q[] = {-0.7213475, 0.48090094, -0.36079663, 0.28210315};
        for (int n = 0; n < 4; ++n) series[n] = static_cast<float>(b * q[n]);
    }
};

struct FloatSum {
    Floats high, low;
};

// log2(x) times the tables' factor, for positive finite x.
struct VectorLogarithm {
    avx512::Lookup inverse, table_high, table_low;
    Floats factor_high, factor_low, slope_high, slope_low, q0, q1, q2, q3;

    CLEW_INLINE explicit VectorLogarithm(const LogarithmTables& tables)
        : inverse(tables.inverses),
          table_high(tables.highs),
          table_low(tables.lows),
          factor_high(avx512::all(tables.factor_high)),
          factor_low(avx512::all(tables.factor_low)),
          slope_high(avx512::all(tables.slope_high)),
          slope_low(avx512::all(tables.slope_low)),
          q0(avx512::all(tables.series[0])),
          q1(avx512::all(tables.series[1])),
          q2(avx512::all(tables.series[2])),
          q3(avx512::all(tables.series[3])) {}

    CLEW_INLINE FloatSum operator()(Floats x) const {
        using avx512::multiply_add;
        const Floats k = avx512::exponent_of(x), m = avx512::mantissa_of(x);
        const __m512i place = avx512::shifted_right<18>(m);
        const Floats r = multiply_add(m, inverse[place], -1.0f);
        const Floats q = multiply_add(r, multiply_add(r, multiply_add(r, q3, q2), q1), q0);
        const Floats rest = multiply_add(k, factor_low, table_low[place]);
        const Floats low = multiply_add(r, multiply_add(r, q, slope_low), rest);
        const Floats whole = multiply_add(k, factor_high, table_high[place]);
        const Floats high = multiply_add(r, slope_high, whole);
        return {high, multiply_add(r, slope_high, whole - high) + low};
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
    const LogarithmTables tables(1.0f);
    const VectorLogarithm logarithm(tables);
    for (int64_t i = 0; i < count; i += 16) {
        const Floats base = avx512::load(inputs[0] + i), exponent = avx512::load(inputs[1] + i);
        const FloatSum of_base = logarithm(base);
        const Floats high = of_base.high * exponent;
        const Floats lost = _mm512_fmsub_ps(of_base.high, exponent, high);
        Floats power = exp2_of({high, avx512::multiply_add(of_base.low, exponent, lost)});
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

// The logarithms of up to kDelay elements.
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
    const LogarithmTables tables(exponent);
    const VectorLogarithm logarithm(tables);
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
    for (int64_t i = 0; i < lead; i += 16) kept.put(i, logarithm(base(avx512::load(in + i))));
    for (int64_t i = lead; i < count; i += 16) {
        const FloatSum y = kept[i - Kept::kDelay];
        kept.put(i, logarithm(base(avx512::load(in + i))));
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
