// Functions of math_float32.h on sixteen floats at a time, where instructions that no plain loop leads the compiler to
// (avx512.h) make them a third cheaper; and the loops that use them at v4 and the plain ones below. For .isa.cpp files
// alone.
#pragma once
#include "core/kernels/elementwise/avx512.h"
#include "core/kernels/elementwise/math_float32.h"

namespace clew::kernels {
namespace {

// Note [Software pipelining of long formulas]
// Some formulas take thirty instructions, nearly each of which waits for the one before: more than a processor looks
// ahead. So they are halved: Op::first(x, then) calls then(value ...), and Op::second(x, value ...) gives the result.
// With AVX-512 two vectors go side by side, and the second half of the way is made kDelay steps after the first, of
// which it need not wait for anything. In plain loops, one goes over a few vectors and makes the first half, and
// another one the second.
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

// 2^(j / 16): the nearest floats, and what they lack.
struct alignas(64) PowersOfTwo {
    float highs[16], lows[16];

    constexpr PowersOfTwo() : highs(), lows() {
        constexpr double kStep = 1.0442737824274138;
        double power = 1.0;
        for (int j = 0; j < 16; ++j, power *= kStep) {
            highs[j] = float(power);
            lows[j] = float(power - double(highs[j]));
        }
    }
};
inline constexpr PowersOfTwo kPowersOfTwo;

// What is added to it keeps four bits after the point, which are then its last ones.
inline constexpr float kSixteenths = 0x1.8p19f;

// (2^r - 1) / r to 2^-29 of 2^r, for |r| <= 1/32
template <class V>
CLEW_INLINE V exp2_slope(V r) {
    using avx512::multiply_add;
    return multiply_add(r, multiply_add(r, 0.05550541f, 0.24023355f), 0.6931472f);
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

// u with erfc(|x| / sqrt(2)) / 2 = 2^u / 2: -u = |x| P(|x|) as in erf(float). Beyond the bound the tail is lost
// beside 1.
inline constexpr float kTailEnd = 5.586f;
template <class V>
CLEW_INLINE V tail_exponent(V x) {
    using avx512::multiply_add;
    constexpr double h = 0.7071067811865476, l = -kLog2E;
    const V z = avx512::each([](Floats v) { return avx512::at_most(_mm512_abs_ps(v), kTailEnd); }, x), square = z * z;
    const auto pair = [&](double a, double b) { return multiply_add(z, float(b), float(a)); };
    const V low = multiply_add(square, pair(l * 0.10277773 * h * h * h, l * -0.019152723 * h * h * h * h),
                               pair(l * 1.1283792 * h, l * 0.6366194 * h * h));
    const V last = multiply_add(
        square, float(l * -9.264332e-06 * h * h * h * h * h * h * h * h * h),
        pair(l * -0.00063311774 * h * h * h * h * h * h * h, l * 0.00011771643 * h * h * h * h * h * h * h * h));
    const V high = multiply_add(square, last,
                                pair(l * -0.0001609747 * h * h * h * h * h, l * 0.0016675694 * h * h * h * h * h * h));
    return multiply_add(square * square, high, low) * z;
}

// 2^u / 2; 0 from the bound on.
template <class V>
CLEW_INLINE V normal_tail(V x, V u) {
    const avx512::Sixteen table(kPowersOfTwo.highs);
    const V sum = u + kSixteenths, n = sum - kSixteenths, r = u - n;
    const V power = avx512::each([&](Floats v) { return table.at_bits_of(v); }, sum);
    const V scaled = avx512::multiply_add(power * r, exp2_slope(r), power);
    return avx512::each(
        [](Floats v, Floats y, Floats exponent) {
            const __mmask16 counts = _mm512_cmp_ps_mask(_mm512_abs_ps(v), avx512::all(kTailEnd), _CMP_NGE_UQ);
            return _mm512_maskz_scalef_ps(counts, y, exponent);
        },
        x, scaled, n - 1.0f);
}

// exp(-x^2 / 2)
CLEW_INLINE Floats bell(Floats x) {
    const avx512::Sixteen table(kPowersOfTwo.highs);
    const Floats square = avx512::at_most(x * x, 208.0f), scaled = square * -0.72134752f;  // from there on it is 0
    const Floats sum = scaled + kSixteenths, n = sum - kSixteenths;
    const Floats r = avx512::multiply_add(square, -0.72134752f, -n), power = table.at_bits_of(sum);
    return avx512::scaled(avx512::multiply_add(power * r, exp2_slope(r), power), n);
}

}  // namespace math

// first() gives kValues of them, and put(to, result) writes the result; all are Two, or all Floats.
template <int kValues, class First, class Second, class Put>
CLEW_INLINE void put_two_halves(float* out, const float* in, int64_t count, const First& first, const Second& second,
                                const Put& put) {
    constexpr int64_t kDelay = 4, kStep = 2 * kPadding;
    alignas(64) float kept[kDelay][kValues * kStep];
    const int64_t steps = count / kStep, lead = steps < kDelay ? steps : kDelay;
    const auto begin = [&](int64_t step) {
        float* place = kept[step % kDelay];
        first(avx512::load_two(in + step * kStep),
              [&](auto... values) { ((avx512::store(place, values), place += kStep), ...); });
    };
    const auto end = [&](int64_t step) {
        const float* const place = kept[step % kDelay];
        const avx512::Two x = avx512::load_two(in + step * kStep), value = avx512::load_two(place);
        if constexpr (kValues == 1)
            put(out + step * kStep, second(x, value));
        else
            put(out + step * kStep, second(x, value, avx512::load_two(place + kStep)));
    };
    for (int64_t step = 0; step < lead; ++step) begin(step);
    for (int64_t step = lead; step < steps; ++step) {
        end(step - kDelay);
        begin(step);
    }
    for (int64_t step = steps - lead; step < steps; ++step) end(step);
    if (const int64_t rest = steps * kStep; rest < count) {
        const avx512::Floats x = avx512::load(in + rest);
        first(x, [&](auto... values) { put(out + rest, second(x, values...)); });
    }
}

// Note [Non-temporal stores]
// A store to a line that is in no cache first has the line read: a third of what memory delivers to x.exp(). Pieces of
// more than kChunk elements come from arrays that no cache holds, and are written by non-temporal stores.
//
// body(put), where put(to, vector) writes.
template <class Body>
CLEW_INLINE void with_put(float* out, int64_t count, const Body& body) {
    if (count <= kChunk || (reinterpret_cast<intptr_t>(out) & 63) != 0)
        return body([](float* to, auto x) { avx512::store(to, x); });
    body([](float* to, auto x) { avx512::stream(to, x); });
    _mm_sfence();
}

template <int kValues, class First, class Second>
CLEW_INLINE void in_two_halves(float* out, const float* in, int64_t count, const First& first, const Second& second) {
    with_put(out, count, [&](auto put) { put_two_halves<kValues>(out, in, count, first, second, put); });
}

// Op::apply(Floats), or its two halves.
template <class Op>
void vector_block(float* out, const float* const* inputs, int64_t count, const Number*) {
    const float* const in = inputs[0];
    if constexpr (requires(avx512::Floats x) { Op::second(x, x); })
        in_two_halves<1>(
            out, in, count, [](auto x, auto then) { Op::first(x, then); },
            [](auto x, auto value) { return Op::second(x, value); });
    else
        with_put(out, count, [&](auto put) {
            for (int64_t i = 0; i < count; i += kPadding) put(out + i, Op::apply(avx512::load(in + i)));
        });
}

// Op's two halves, of which the first is of the second input alone.
template <class Op>
void binary_vector_block(float* out, const float* const* inputs, int64_t count, const Number*) {
    constexpr int64_t kStep = 2 * kPadding;
    const float *a = inputs[0], *b = inputs[1];
    const auto put = [](float* to, auto x, auto y) {
        Op::first(y, [&](auto... values) { avx512::store(to, Op::second(x, y, values...)); });
    };
    int64_t i = 0;
    for (; i + kStep <= count; i += kStep) put(out + i, avx512::load_two(a + i), avx512::load_two(b + i));
    if (i < count) put(out + i, avx512::load(a + i), avx512::load(b + i));
}
#else
// `count` is a multiple of kPadding; first(i, then) and second(i, value ...) are of element i.
template <int kValues, class First, class Second>
CLEW_INLINE void in_two_passes(int64_t count, const First& first, const Second& second) {
    constexpr int64_t kAtOnce = 4 * kPadding;
    float kept[kValues][kAtOnce];
    for (int64_t begin = 0; begin < count; begin += kAtOnce) {
        const int64_t length = (count - begin < kAtOnce ? count - begin : kAtOnce) & -kPadding;
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i)
            first(begin + i, [&](auto... values) {
                int k = 0;
                ((kept[k++][i] = values), ...);
            });
        CLEW_VECTORISE
        for (int64_t i = 0; i < length; ++i)
            if constexpr (kValues == 1)
                second(begin + i, kept[0][i]);
            else
                second(begin + i, kept[0][i], kept[1][i]);
    }
}

template <class Op>
void vector_block(float* out, const float* const* inputs, int64_t count, const Number* params) {
    const float* const in = inputs[0];
    if constexpr (requires(float x) { Op::second(x, x); })
        in_two_passes<1>(
            count, [&](int64_t i, auto then) { Op::first(in[i], then); },
            [&](int64_t i, float value) { out[i] = Op::second(in[i], value); });
    else
        unary_block<Op>(out, inputs, count, params);
}

template <class Op>
void binary_vector_block(float* out, const float* const* inputs, int64_t count, const Number*) {
    const float *a = inputs[0], *b = inputs[1];
    in_two_passes<2>(
        count, [&](int64_t i, auto then) { Op::first(b[i], then); },
        [&](int64_t i, float one, float two) { out[i] = Op::second(a[i], b[i], one, two); });
}
#endif

template <class Op, class T>
void vector_loop(char* const* data, const int64_t* strides, int64_t count) {
    if constexpr (sizeof(T) == sizeof(float))
        in_blocks<T, 1>(vector_block<Op>, data, strides, count, nullptr);
    else
        math_loop<Op, T>(data, strides, count);
}
template <class Op, class T>
void binary_vector_loop(char* const* data, const int64_t* strides, int64_t count) {
    if constexpr (sizeof(T) == sizeof(float))
        in_blocks<T, 2>(binary_vector_block<Op>, data, strides, count, nullptr);
    else
        binary_math_loop<Op, T>(data, strides, count);
}

}  // namespace
}  // namespace clew::kernels
