// Powers of floats; for .isa.cpp files alone.
//
// Note [Powers of floats]
// base^exponent = 2^(exponent log2(base)), and the logarithm needs a dozen bits more than a float has. Below v4 it goes
// through doubles. At v4 it is the sum of two floats, `high` and `low`: sixteen lanes instead of eight, and the tables
// lie in registers. With base = m 2^k and c from a table, so that r = m c - 1 is small and has no rounding error (c has
// six bits), log2(base) = k - log2(c) + log2(1 + r). What is too much for that way, and special values where the
// exponents differ from lane to lane, go through doubles lane by lane, so that no element's bits depend on its
// neighbours.
#pragma once
#include "core/kernels/avx512.h"
#include "core/kernels/math_float32.h"

namespace clew::kernels {
namespace {

// Through doubles: the logarithm to 2^-35, the power to 2^-32, which is what the largest powers need to come out within
// a rounding and a little. Special cases as in C.
struct FloatPower {
    // log2(x) for positive finite x: x = 2^k (1 + f)
    static CLEW_INLINE double log2(double x) {
        constexpr uint64_t kSqrtHalf = 0x3FE6A09E667F3BCD, kOne = 0x3FF0000000000000, kTwoTo52 = 0x4330000000000000;
        const uint64_t shifted = math::bits_of(x) + (kOne - kSqrtHalf);
        const double k = math::from_bits((shifted >> 52) | kTwoTo52) - (0x1p52 + 1023.0);
        const double f = math::from_bits((shifted & 0x000FFFFFFFFFFFFF) + kSqrtHalf) - 1.0;
        const double q = math::long_polynomial(
            f, 1.442695040868705, -0.7213475208686343, 0.4808983613953836, -0.3606736748560469, 0.28853729349160345,
            -0.24045316392198077, 0.20617535797777745, -0.1803006412383848, 0.15876984804378075, -0.14315604174490226,
            0.1447478365495466, -0.14284094206193276, 0.07737318925902582);
        return math::multiply_add(f, q, k);
    }
    // 2^y; from outside the range of floats the bounds give zero and infinity once rounded.
    static CLEW_INLINE double exp2(double y) {
        const double bounded = math::at_least(math::at_most(y, 130.0), -152.0);
        const double rounded = bounded + math::kRounder;
        const double r = bounded - (rounded - math::kRounder);
        const double p =
            math::polynomial(r, 1.0, 0.693147180581569, 0.24022650920044114, 0.05550410727566829, 0.00961805703794549,
                             0.0013333669499935076, 0.00015461329672192804, 1.525270541188093e-05);
        return math::from_bits(math::bits_of(p) + (math::bits_of(rounded) << 52));
    }
    static CLEW_INLINE float apply(float base, float exponent) {
        const double a = static_cast<double>(base), b = static_cast<double>(exponent), size = math::magnitude(a);
        const double usual = log2(size);
        const double above_zero = size < math::kInfinity ? usual : size;  // infinity and NaN are their own logarithms
        const double y = b * (size == 0.0 ? -math::kInfinity : above_zero);
        double power = exp2(y);
        power = y == y ? power : math::kNaN;
        // A negative base has real powers only if the exponent is whole; from 2^24 on all floats are even.
        const double steps = math::at_most(math::magnitude(b), 0x1p26), rounded = steps + math::kRounder;
        const double hole = rounded - math::kRounder == steps ? 0.0 : math::kNaN;
        const double of_finite = a > -math::kInfinity ? power + hole : power;
        power = a < 0.0 ? of_finite : power;
        const uint64_t odd = rounded - math::kRounder == steps ? math::bits_of(rounded) << 63 : 0;
        power = math::from_bits(math::bits_of(power) ^ (math::bits_of(a) & odd));
        const double also_one = math::magnitude(b) == math::kInfinity ? -1.0 : 1.0;
        power = a == 1.0 ? 1.0 : power;
        power = a == also_one ? 1.0 : power;
        power = b == 0.0 ? 1.0 : power;
        return static_cast<float>(power);
    }
};

#ifdef __AVX512F__
using avx512::Floats;

// c and -log2(c) for mantissas from 1 + j / 32 on. The first part of a logarithm has 16 bits after the point: the sum
// with any exponent has no rounding error, and near 1 it is 0.
struct alignas(64) PowerTables {
    float inverse[32], high[32];
    float low[32] = {0.0f,           3.0188824e-06f,  1.6039585e-06f,  5.455068e-06f,   2.8660284e-06f, -2.9020011e-06f,
                     7.7663366e-08f, -2.650161e-07f,  -1.0255652e-06f, 5.7320567e-06f,  -1.5632212e-06f, 7.095588e-06f,
                     -2.3857444e-06f, -1.2896891e-06f, -4.7387543e-06f, 4.776548e-06f,   1.3028072e-06f,  7.1994837e-06f,
                     7.1994837e-06f, 1.8367533e-06f,  -1.8282373e-06f, -2.708756e-06f,  -2.708756e-06f,  4.031832e-06f,
                     -3.1264424e-06f, -3.1264424e-06f, 4.7027816e-06f,  5.376559e-07f,   5.376559e-07f,   -6.3019756e-06f,
                     -6.3019756e-06f, 0.0f};
    constexpr PowerTables() : inverse(), high() {
        constexpr int of_64[] = {64, 61, 59, 58, 56, 55, 53, 52, 51, 49, 48, 47, 46, 45, 44, 43,
                                 42, 41, 41, 40, 39, 38, 38, 37, 36, 36, 35, 34, 34, 33, 33, 32};
        constexpr int of_65536[] = {0,     4539,  7691,  9307,  12625, 14329, 17831, 19632, 21468, 25250, 27200,
                                    29190, 31224, 33302, 35427, 37600, 39825, 42103, 42103, 44438, 46832, 49288,
                                    49288, 51809, 54400, 54400, 57063, 59804, 59804, 62627, 62627, 65536};
        for (int j = 0; j < 32; ++j) inverse[j] = float(of_64[j]) / 64, high[j] = float(of_65536[j]) / 65536;
    }
};
inline constexpr PowerTables kPowerTables;

inline constexpr float kLargestExponent = 65536.0f;  // beyond, what the product loses by rounding is too much

// 2^y for y = high + low
CLEW_INLINE Floats exp2_of_sum(Floats high, Floats low) {
    using namespace avx512;
    const Floats n = rounded(high + low);
    const Floats r = (high - n) + low;
    const Floats square = r * r;
    const Floats last = multiply_add(r, 0.00015352946f, 0.0013399391f);
    const Floats middle = multiply_add(square, last, multiply_add(r, 0.0096184425f, 0.055503312f));
    const Floats slope = multiply_add(square, middle, multiply_add(r, 0.24022648f, 0.6931472f));
    return scaled(multiply_add(r, slope, 1.0f), n);
}

// For positive finite bases and exponents up to kLargestExponent.
struct VectorPower {
    avx512::Lookup inverse{kPowerTables.inverse}, table_high{kPowerTables.high}, table_low{kPowerTables.low};

    CLEW_INLINE Floats operator()(Floats base, Floats exponent) const {
        using namespace avx512;
        const Floats m = mantissa_of(base);
        const __m512i index = _mm512_maskz_srli_epi32(kAll, avx512::bits_of(m), 18);
        const Floats r = multiply_add(m, inverse[index], -1.0f);
        // log2(1 + r) = r / ln(2) + r^2 Q(r), the first term in two parts; Q to 2^-38
        const Floats first = r * 1.442695f;
        const Floats lost = _mm512_fmsub_ps(r, all(1.442695f), first);
        const Floats square = r * r;
        const Floats q = multiply_add(square, multiply_add(r, 0.28210315f, -0.36079663f),
                                      multiply_add(r, 0.48090094f, -0.7213475f));
        const Floats rest = multiply_add(square, q, multiply_add(r, all(1.925963e-08f), lost));
        const Floats whole = exponent_of(base) + table_high[index];
        const Floats high = whole + first;
        const Floats low = (first - (high - whole)) + (rest + table_low[index]);
        const Floats y = high * exponent;
        return exp2_of_sum(y, multiply_add(low, exponent, _mm512_fmsub_ps(high, exponent, y)));
    }
};

[[gnu::noinline, gnu::cold]] Floats special_powers(Floats base, Floats exponent) {
    float bases[16], exponents[16], out[16];
    avx512::store(bases, base);
    avx512::store(exponents, exponent);
    const float* inputs[] = {bases, exponents};
    binary_block<FloatPower, float>(out, inputs, 16, nullptr);
    return avx512::load(out);
}

[[maybe_unused]] void float_power_block(float* out, const float* const* inputs, int64_t count, const double*) {
    const VectorPower power;
    for (int64_t i = 0; i < count; i += 16) {
        const Floats base = avx512::load(inputs[0] + i), exponent = avx512::load(inputs[1] + i);
        const __m512i past_zero = _mm512_sub_epi32(avx512::bits_of(base), _mm512_set1_epi32(1));
        const __mmask16 usual = _mm512_cmplt_epu32_mask(past_zero, _mm512_set1_epi32(0x7F7FFFFF)) &
                                _mm512_cmp_ps_mask(_mm512_abs_ps(exponent), avx512::all(kLargestExponent), _CMP_LT_OQ);
        Floats result = power(base, exponent);
        if (__builtin_expect(usual != avx512::kAll, 0))
            result = _mm512_mask_blend_ps(usual, special_powers(base, exponent), result);
        avx512::store(out + i, result);
    }
}

// What special bases give, in the code of `vfixupimm`: four bits for each kind of number, from the lowest on quiet NaN,
// signalling NaN, 0, 1, -infinity, infinity, other negative and other positive numbers.
inline int special_bases(float exponent) {
    constexpr int kNegativeBaseIsNaN = 0x03000000, kNaNs = 0x22;
    if (exponent == 0) return static_cast<int>(0xAAAAAAAA);  // 1, of NaN, too
    return kNegativeBaseIsNaN | kNaNs | (exponent > 0 ? 0x00550800 : 0x00880500);
}

// One exponent for all: of its special cases none is left to the loop.
[[maybe_unused]] void float_power_by_number(float* out, const float* in, int64_t count, float exponent) {
    const VectorPower power;
    const bool is_whole = exponent == __builtin_rintf(exponent);
    const bool is_odd = is_whole && (static_cast<int>(exponent) & 1) != 0;
    const __m512i kept = _mm512_set1_epi32(is_whole ? 0x7FFFFFFF : -1), sign = _mm512_set1_epi32(is_odd ? INT32_MIN : 0);
    const __m512i special = _mm512_set1_epi32(special_bases(exponent));
    for (int64_t i = 0; i < count; i += 16) {
        const __m512i bits = avx512::bits_of(avx512::load(in + i));
        const Floats base = avx512::from_bits(_mm512_and_si512(bits, kept));
        const Floats size = power(base, avx512::all(exponent));
        const Floats result = _mm512_fixupimm_ps(size, base, special, 0);
        avx512::store(out + i, avx512::from_bits(_mm512_xor_si512(avx512::bits_of(result), _mm512_and_si512(bits, sign))));
    }
}
#endif

}  // namespace
}  // namespace clew::kernels
