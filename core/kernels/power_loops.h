// Powers of one array by another; for .isa.cpp files alone.
#pragma once
#include "core/kernels/math_float32.h"

namespace clew::kernels {
namespace {

struct Power {
    template <class T>
    static CLEW_INLINE T apply(T base, T exponent) {
        if (exponent < 0) {
            if (base == 1) return 1;
            if (base == T(-1)) return exponent & 1 ? T(-1) : T(1);
            return 0;
        }
        uint64_t result = 1, power = uint64_t(base);
        for (uint64_t left = uint64_t(exponent); left != 0; left >>= 1, power *= power)
            if (left & 1) result *= power;
        return T(result);
    }
    static CLEW_INLINE double apply(double base, double exponent) { return __builtin_pow(base, exponent); }
};

// Single precision through doubles: exp(exponent * log(base)) has 20 bits to spare. What that does not cover goes to
// libm.
struct FastPower {
    static CLEW_INLINE float apply(float base, float exponent) {
        const double y = math::log(static_cast<double>(base)) * static_cast<double>(exponent);
        return static_cast<float>(math::exp(y));
    }
    static CLEW_INLINE bool is_hard(float base, float exponent) {
        return !(base > 0.0f && base < __builtin_inff() && exponent - exponent == 0.0f);
    }
};
inline void power_float_block(float* out, const float* const* inputs, int64_t count, const double*) {
    constexpr int64_t kPiece = 64;
    for (int64_t start = 0; start < count; start += kPiece) {
        const int64_t length = count - start < kPiece ? count - start : kPiece;
        // The inputs are kept: `out` may be one of them.
        float a[kPiece], b[kPiece];
        bool hard = false;
        for (int64_t i = 0; i < length; ++i) {
            a[i] = inputs[0][start + i];
            b[i] = inputs[1][start + i];
            hard |= FastPower::is_hard(a[i], b[i]);
        }
        CLEW_VECTORISE
        for (int64_t i = 0; i < (length & -kPadding); ++i) out[start + i] = FastPower::apply(a[i], b[i]);
        if (!hard) continue;
        for (int64_t i = 0; i < length; ++i)
            if (FastPower::is_hard(a[i], b[i])) out[start + i] = __builtin_powf(a[i], b[i]);
    }
}

template <class T>
void power_loop(char* const* data, const int64_t* strides, int64_t count) {
    scalar_binary_loop<Power, T>(data, strides, count);
}
template <>
[[maybe_unused]] void power_loop<float>(char* const* data, const int64_t* strides, int64_t count) {
    in_blocks<float, 2>(power_float_block, data, strides, count, nullptr);
}

}  // namespace
}  // namespace clew::kernels
