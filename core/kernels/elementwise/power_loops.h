// Powers of one array by another; for .isa.cpp files alone.
#pragma once
#include "core/kernels/elementwise/vector_power.h"

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

template <class T>
void power_loop(char* const* data, const int64_t* strides, int64_t count) {
    scalar_binary_loop<Power, T>(data, strides, count);
}
template <>
[[maybe_unused]] void power_loop<float>(char* const* data, const int64_t* strides, int64_t count) {
#ifdef __AVX512F__
    in_blocks<float, 2>(vector_power_block, data, strides, count, nullptr);
#else
    binary_math_loop<FloatPower, float>(data, strides, count);
#endif
}

}  // namespace
}  // namespace clew::kernels
