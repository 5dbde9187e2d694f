// Powers of floats through doubles; for .isa.cpp files alone.
#pragma once
#include "core/kernels/elementwise/math_float32.h"

namespace clew::kernels {
namespace {

// 2^(exponent log2 |base|): the logarithm to 2^-35, the power to 2^-32, which is what the largest powers need to come
// out within a rounding and a little. Special cases as in C.
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

}  // namespace
}  // namespace clew::kernels
