// Powers of floats, sixteen at a time; for .isa.cpp files alone, at the level that can (v4).
//
// base^exponent = 2^(exponent log2(base)). With base = m 2^k and c from a table such that r = m c - 1 is small,
//     log2(base) = k - log2(c) + r / ln(2) + r^2 Q(r).
// The product needs a dozen bits more than a float has; it is not worked out in doubles (float_power.h), which have
// half the lanes and gather what here lies in registers.
//
// Note [Powers with one small exponent]
// An exponent below kSmallExponent that all bases share is multiplied into tables and coefficients beforehand. The sum
// k - log2(c) is exact, since its parts are cut short, and so is what is left of it when the nearest sixteenth of the
// power's logarithm has been taken away: only then is the rest added. Roundings that an exponent of 8 lets grow leave a
// power within 0.96 units in the last place, one of 3 within 0.7, where doubles give 0.51. The instruction `vfixupimm`
// puts right what special bases gave.
//
// Note [Powers in double-float arithmetic]
// Any other exponent times the logarithm is the sum of two floats, `high` and `low`. c has six bits after the point: r
// has no rounding error. Powers come out within 0.6 units, 2.1 where exponents of thousands make powers that nearly
// leave the range. Special bases, and exponents so large that the sum is not exact enough, go through doubles; each by
// itself, so that no element's bits depend on its neighbours.
#pragma once
#include "core/kernels/elementwise/float_power.h"

#include "core/kernels/elementwise/math_vectors.h"

#ifdef __AVX512F__
namespace clew::kernels {
namespace {

using avx512::Floats;

inline constexpr float kSmallExponent = 8.0f, kLargestExponent = 65536.0f;

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

struct FloatSum {
    Floats high, low;
};

struct alignas(64) Logarithms {
    float inverses[32], highs[32], lows[32];

    constexpr Logarithms() : inverses(), highs(), lows() {
        for (int j = 0; j < 32; ++j) {
            const double rounder = math::kRounder * 0x1p-15, high = (kLogarithms[j] + rounder) - rounder;
            inverses[j] = static_cast<float>(kSixtyFourths[j]) / 64.0f;
            highs[j] = static_cast<float>(high);
            lows[j] = static_cast<float>(kLogarithms[j] - high);
        }
    }
};
inline constexpr Logarithms kLogarithmsAsSums;

// log2(x) for positive finite x.
struct VectorLogarithm {
    avx512::ThirtyTwo inverse{kLogarithmsAsSums.inverses}, table_high{kLogarithmsAsSums.highs},
        table_low{kLogarithmsAsSums.lows};

    CLEW_INLINE FloatSum operator()(Floats x) const {
        using avx512::all, avx512::multiply_add;
        constexpr float kSlope = 1.442695f;
        const Floats k = avx512::exponent_of(x), m = avx512::mantissa_of(x);
        const __m512i place = avx512::shifted_right<18>(m);
        const Floats r = multiply_add(m, inverse[place], -1.0f);
        const Floats q =
            multiply_add(r, multiply_add(r, multiply_add(r, 0.28210315f, -0.36079663f), 0.48090094f), -0.7213475f);
        constexpr float kRest = static_cast<float>(math::kLog2E - static_cast<double>(kSlope));
        const Floats low = multiply_add(r, multiply_add(r, q, kRest), table_low[place]);
        const Floats whole = k + table_high[place], high = multiply_add(r, all(kSlope), whole);
        return {high, multiply_add(r, all(kSlope), whole - high) + low};
    }
};

// 2^(n + r) to 2^-28, before it is rounded, for n = sum - kSixteenths.
struct VectorExponential {
    avx512::Sixteen highs{math::kPowersOfTwo.highs}, lows{math::kPowersOfTwo.lows};

    template <class V>
    CLEW_INLINE V operator()(V sum, V r) const {
        const V high = avx512::each([&](Floats x) { return highs.at_bits_of(x); }, sum);
        const V low = avx512::each([&](Floats x) { return lows.at_bits_of(x); }, sum);
        const V power = high + avx512::multiply_add(high * r, math::exp2_slope(r), low);
        return avx512::each(avx512::scaled, power, sum - math::kSixteenths);
    }
};

[[gnu::noinline, gnu::cold]] Floats powers_through_doubles(Floats base, Floats exponent) {
    float bases[16], exponents[16], out[16];
    avx512::store(bases, base);
    avx512::store(exponents, exponent);
    const float* inputs[] = {bases, exponents};
    binary_block<FloatPower, float>(out, inputs, 16, nullptr);
    return avx512::load(out);
}

// An exponent for each base.
[[maybe_unused]] void vector_power_block(float* out, const float* const* inputs, int64_t count, const Number*) {
    const VectorLogarithm logarithm;
    const VectorExponential exp2_of;
    for (int64_t i = 0; i < count; i += 16) {
        const Floats base = avx512::load(inputs[0] + i), exponent = avx512::load(inputs[1] + i);
        const FloatSum of_base = logarithm(base);
        const Floats high = of_base.high * exponent;
        const Floats lost = _mm512_fmsub_ps(of_base.high, exponent, high);
        const Floats low = avx512::multiply_add(of_base.low, exponent, lost);
        const Floats sum = (high + low) + math::kSixteenths;
        Floats power = exp2_of(sum, (high - (sum - math::kSixteenths)) + low);
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

// What makes the logarithm, times an exponent; c = kInverses / 128 for mantissas from 1 + j / 16 on.
struct alignas(64) LogarithmTables {
    float inverses[16], highs[16], lows[16];
    float factor_high, factor_low;  // of k
    float series[5];                // r / ln(2) + r^2 Q(r) over r, to 2^-36

    explicit LogarithmTables(float exponent) {
        constexpr int kInverses[] = {124, 117, 111, 105, 100, 95, 91, 87, 84, 80, 77, 74, 72, 69, 67, 65};
        constexpr double kLogarithms[] = {
            0.04580368961312479, 0.12963528041659547, 0.20558413364989403, 0.28575448233387735,
            0.3561438102252753,  0.43014439166905216, 0.49220535980130375, 0.5570565041512717,
            0.6076825772212398,  0.6780719051126377,  0.7332134593050986,  0.7905466343710502,
            0.8300749985576876,  0.891475543221831,   0.9339108095422276,  0.9776321869715455};  // -log2(c)
        constexpr double kSeries[] = {1.44269504089497, -0.7213474487114996, 0.4808982362719445, -0.3609675031845416,
                                      0.2888411792211838};
        const double b = static_cast<double>(exponent);
        const double rounder = math::from_bits(math::bits_of(b) & 0x7FF0000000000000) * 0x1p-15 * math::kRounder;
        const auto shortened = [rounder](double x) { return (x + rounder) - rounder; };
        factor_high = static_cast<float>(shortened(b));
        factor_low = static_cast<float>(b - shortened(b));
        for (int j = 0; j < 16; ++j) {
            const double logarithm = b * kLogarithms[j], high = shortened(logarithm);
            inverses[j] = static_cast<float>(kInverses[j]) / 128.0f;
            highs[j] = static_cast<float>(high);
            lows[j] = static_cast<float>(logarithm - high);
        }
        for (int n = 0; n < 5; ++n) series[n] = static_cast<float>(b * kSeries[n]);
    }
};

// One exponent below kSmallExponent, and not 1, for all. If it is whole, negative bases have powers.
template <bool kWhole>
void powers_by_small_number(float* out, const float* in, int64_t count, float exponent) {
    using avx512::all, avx512::each, avx512::multiply_add, math::kSixteenths;
    const LogarithmTables tables(exponent);
    const avx512::Sixteen inverse(tables.inverses), table_high(tables.highs), table_low(tables.lows);
    const Floats factor_high = all(tables.factor_high), factor_low = all(tables.factor_low);
    const Floats s0 = all(tables.series[0]), s1 = all(tables.series[1]), s2 = all(tables.series[2]),
                 s3 = all(tables.series[3]), s4 = all(tables.series[4]);
    const VectorExponential exp2_of;
    const __m512i special = _mm512_set1_epi32(powers_of_special(exponent));
    const bool is_odd = kWhole && (static_cast<int>(exponent) & 1) != 0;
    const __m512i odd = _mm512_set1_epi32(is_odd ? INT32_MIN : 0);
    const auto base = [](Floats x) { return kWhole ? _mm512_abs_ps(x) : x; };
    const auto place = [](Floats m) { return avx512::shifted_right<19>(m); };

    const auto logarithm = [&]<class V>(V in, auto then) {
        const V x = each(base, in), m = each(avx512::mantissa_of, x), k = each(avx512::exponent_of, x);
        const V r = each([&](Floats v) { return multiply_add(v, inverse[place(v)], -1.0f); }, m);
        const V whole =
            each([&](Floats v, Floats e) { return multiply_add(e, factor_high, table_high[place(v)]); }, m, k);
        const V low = each([&](Floats v, Floats e) { return multiply_add(e, factor_low, table_low[place(v)]); }, m, k);
        V slope = each([&](Floats v) { return multiply_add(v, s4, s3); }, r);
        slope = multiply_add(r, multiply_add(r, multiply_add(r, slope, s2), s1), s0);
        const V sum = multiply_add(r, slope, whole) + kSixteenths;
        then(sum, multiply_add(r, slope, (whole - (sum - kSixteenths)) + low));
    };
    // The logarithm of the power: sum - kSixteenths is its nearest sixteenth, r the rest.
    const auto power = [&]<class V>(V in, V sum, V r) {
        const V found = exp2_of(sum, r);
        return each(
            [&](Floats x, Floats p) {
                p = _mm512_fixupimm_ps(p, base(x), special, 0);
                return kWhole ? avx512::with_bits(p, x, odd) : p;
            },
            in, found);
    };
    in_two_halves<2>(out, in, count, logarithm, power);
}

[[maybe_unused]] void vector_powers_by_small_number(float* out, const float* in, int64_t count, float exponent) {
    if (exponent == __builtin_rintf(exponent)) return powers_by_small_number<true>(out, in, count, exponent);
    powers_by_small_number<false>(out, in, count, exponent);
}

}  // namespace
}  // namespace clew::kernels
#endif
