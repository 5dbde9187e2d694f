// Note [The same normal numbers as PyTorch]
// PyTorch's numbers are those of the logarithm, sine and cosine of Moshier's Cephes library in single precision
// (logf.c, sinf.c), with each product that is added to something fused with the addition. That was found by comparing
// bits. So this file rounds where they round, also where the level has no fused instruction, and has polynomials of its
// own beside the closer ones of math_float32.h.
#include "core/kernels/random/box_muller.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

#ifdef __FMA__
CLEW_INLINE float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
#else
// The product is exact in double precision; the sum is rounded to odd there (Boldo and Melquiond, 2008), so that
// rounding it once more, to float, is as good as rounding it once.
CLEW_INLINE float fused(float a, float b, float c) {
    const double product = double(a) * double(b), addend = double(c);
    const double sum = product + addend, part = sum - product;
    const double lost = (product - (sum - part)) + (addend - part);
    const auto bits = __builtin_bit_cast(uint64_t, sum), lost_bits = __builtin_bit_cast(uint64_t, lost);
    const uint64_t inexact = lost != 0, beyond = inexact & ((bits ^ lost_bits) >> 63);
    return float(__builtin_bit_cast(double, (bits - beyond) | inexact));
}
#endif

// log(x) for 2^-24 <= x <= 1
CLEW_INLINE float log_of(float x) {
    const auto bits = __builtin_bit_cast(int32_t, x);
    const float half_to_one = __builtin_bit_cast(float, (bits & 0x7fffff) | 0x3f000000);
    const bool small = half_to_one < 0.707106781186547524f;
    const float e = float((bits >> 23) - 0x7e - int32_t{small});
    const float f = (half_to_one - 1) + (small ? half_to_one : 0.0f), square = f * f;
    float series = 7.0376836292e-2f;
    series = fused(series, f, -1.1514610310e-1f);
    series = fused(series, f, 1.1676998740e-1f);
    series = fused(series, f, -1.2420140846e-1f);
    series = fused(series, f, 1.4249322787e-1f);
    series = fused(series, f, -1.6668057665e-1f);
    series = fused(series, f, 2.0000714765e-1f);
    series = fused(series, f, -2.4999993993e-1f);
    series = fused(series, f, 3.3333331174e-1f);
    // log 2 in two parts, of which the first has few bits
    const float low = fused(square, -0.5f, fused(series * f, square, e * -2.12194440e-4f));
    return fused(e, 0.693359375f, f + low);
}

struct SineCosine {
    float sine, cosine;
};

// For 0 <= x < 2 pi: the angle to the nearest even multiple of pi / 4, which is split into three parts.
CLEW_INLINE SineCosine sine_cosine(float x) {
    const int32_t eighth = (int32_t(x * 1.27323954473516f) + 1) & ~1;
    const float turns = float(eighth);
    x = fused(turns, -0.78515625f, x);
    x = fused(turns, -2.4187564849853515625e-4f, x);
    x = fused(turns, -3.77489497744594108e-8f, x);
    const float square = x * x;
    const float c = fused(fused(2.443315711809948e-5f, square, -1.388731625493765e-3f), square, 4.166664568298827e-2f);
    const float s = fused(fused(-1.9515295891e-4f, square, 8.3321608736e-3f), square, -1.6666654611e-1f);
    const float cosine = fused(c * square, square, square * -0.5f) + 1, sine = fused(s * square, x, x);
    const bool swapped = (eighth & 2) != 0;
    const float along = swapped ? sine : cosine, across = swapped ? cosine : sine;
    return {eighth & 4 ? -across : across, (eighth + 2) & 4 ? -along : along};
}

void normals(float* data, long long blocks, float mean, float deviation) {
    constexpr float kTurn = 6.283185307179586f;
    for (; blocks > 0; --blocks, data += 16) {
        for (int i = 0; i < 8; ++i) {
            const float radius = __builtin_sqrtf(-2 * log_of(1 - data[i]));
            const SineCosine angle = sine_cosine(kTurn * data[i + 8]);
            data[i] = fused(radius * angle.cosine, deviation, mean);
            data[i + 8] = fused(radius * angle.sine, deviation, mean);
        }
    }
}

}  // namespace

CLEW_EXPORT_TABLE(BoxMullerTable, box_muller, {.float32 = normals});

}  // namespace clew::kernels
