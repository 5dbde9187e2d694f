// Functions of math_float32.h on sixteen floats at a time, where instructions that no plain loop leads the compiler to
// (avx512.h) make them a third cheaper; and the loops that use them at v4 and the plain ones below. For .isa.cpp files
// alone.
#pragma once
#include "core/kernels/avx512.h"
#include "core/kernels/math_float32.h"

namespace clew::kernels {
namespace {

#ifdef __AVX512F__
namespace math {

using avx512::Floats;

CLEW_INLINE Floats multiply_add(Floats a, Floats b, Floats c) { return avx512::multiply_add(a, b, c); }

// The bounds are there for infinities alone: NaN stays, and `scaled` gives zero and infinity by itself.
CLEW_INLINE Floats exp(Floats x) {
    using avx512::all, avx512::multiply_add;
    const Floats bounded = avx512::at_most(avx512::at_least(x, -200.0f), 200.0f);
    const Floats n = avx512::rounded(bounded * 1.4426950408889634f);
    const Floats r = multiply_add(n, all(-1.4286068e-06f), multiply_add(n, all(-0.693145751953125f), bounded));
    const Floats square = r * r;
    const Floats last = multiply_add(square, all(0.0013950602f), multiply_add(r, 0.008368953f, 0.041666206f));
    const Floats series = multiply_add(square, last, multiply_add(r, 0.16666518f, 0.5f));
    const Floats high = 1.0f + r, low = r - (high - 1.0f);
    return avx512::scaled(high + multiply_add(square, series, low), n);
}

// As log(float), with 3/4 <= 1 + f < 3/2; Q to 2^-30. Of special values only negative ones need a thought: NaN.
CLEW_INLINE Floats log(Floats x) {
    using avx512::all, avx512::multiply_add;
    const Floats m = avx512::mantissa_around_one(x);
    const Floats k = avx512::exponent_of(x) - avx512::exponent_of(m);
    const Floats f = m - 1.0f, square = f * f;
    const Floats even = multiply_add(
        square,
        multiply_add(square,
                     multiply_add(square, multiply_add(square, all(0.037672915f), all(0.11700659f)), all(0.1427624f)),
                     all(0.19999605f)),
        all(0.3333334f));
    const Floats odd = multiply_add(
        square, multiply_add(square, multiply_add(square, all(-0.091161884f), all(-0.12727778f)), all(-0.16655296f)),
        all(-0.25000164f));
    const Floats tail = multiply_add(f * square, multiply_add(f, odd, even), k * 1.4286068e-06f);
    return multiply_add(k, all(0.693145751953125f), f + multiply_add(square, all(-0.5f), tail));
}

// 2^r for |r| <= 1/2; 2^-28
CLEW_INLINE Floats exp2_near_zero(Floats r) {
    using avx512::multiply_add;
    const Floats square = r * r;
    const Floats last = multiply_add(r, 0.00015352946f, 0.0013399391f);
    const Floats middle = multiply_add(square, last, multiply_add(r, 0.0096184425f, 0.055503312f));
    const Floats slope = multiply_add(square, middle, multiply_add(r, 0.24022648f, 0.6931472f));
    return multiply_add(r, slope, 1.0f);
}

// 1 / (1 + exp(-x)) as sigmoid(float), in powers of two
CLEW_INLINE Floats sigmoid(Floats x) {
    using avx512::all, avx512::multiply_add;
    const Floats z = avx512::at_most(avx512::at_least(x, -104.0f), 30.0f);
    const Floats n = avx512::rounded(z * -1.4426950408889634f);
    const Floats r = multiply_add(n, all(-0.6931472f), -z);
    const Floats square = r * r;
    const Floats low = multiply_add(square, multiply_add(r, 0.16666518f, 0.5f), r + 1.0f);
    const Floats high = multiply_add(square, all(0.0013950602f), multiply_add(r, 0.008368953f, 0.041666206f));
    return 1.0f / (1.0f + avx512::scaled(multiply_add(square * square, high, low), n));
}

// erfc(|x| / sqrt(2)) / 2 = 2^-u / 2 with u = |x| P(|x|) as in erf(float), for |x| below the bound; 0 from there on,
// where erf rounds to 1.
CLEW_INLINE Floats normal_tail(Floats x) {
    using avx512::all, avx512::multiply_add;
    constexpr double h = 0.7071067811865476, l = -kLog2E;
    constexpr float kBound = 5.586f;
    const Floats size = _mm512_abs_ps(x), z = avx512::at_most(size, kBound), square = z * z;
    const auto pair = [&](double a, double b) { return multiply_add(z, float(b), float(a)); };
    const Floats low = multiply_add(square, pair(l * 0.10277773 * h * h * h, l * -0.019152723 * h * h * h * h),
                                    pair(l * 1.1283792 * h, l * 0.6366194 * h * h));
    const Floats last = multiply_add(
        square, all(float(l * -9.264332e-06 * h * h * h * h * h * h * h * h * h)),
        pair(l * -0.00063311774 * h * h * h * h * h * h * h, l * 0.00011771643 * h * h * h * h * h * h * h * h));
    const Floats high = multiply_add(
        square, last, pair(l * -0.0001609747 * h * h * h * h * h, l * 0.0016675694 * h * h * h * h * h * h));
    const Floats u = multiply_add(square * square, high, low) * z;
    const Floats n = avx512::rounded(u);
    const __mmask16 counts = _mm512_cmp_ps_mask(size, all(kBound), _CMP_NGE_UQ);
    return _mm512_maskz_scalef_ps(counts, exp2_near_zero(u - n), n - 1.0f);
}

}  // namespace math

template <class Op>
void vector_block(float* out, const float* const* inputs, int64_t count, const double*) {
    for (int64_t i = 0; i < count; i += kPadding) avx512::store(out + i, Op::apply(avx512::load(inputs[0] + i)));
}
template <class Op, class T>
void vector_loop(char* const* data, const int64_t* strides, int64_t count) {
    if constexpr (sizeof(T) == sizeof(float)) return in_blocks<T, 1>(vector_block<Op>, data, strides, count, nullptr);
    math_loop<Op, T>(data, strides, count);
}
#else
template <class Op, class T>
void vector_loop(char* const* data, const int64_t* strides, int64_t count) {
    math_loop<Op, T>(data, strides, count);
}
#endif

}  // namespace
}  // namespace clew::kernels
