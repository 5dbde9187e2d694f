// What the mathematical functions of both precisions are made of; for .isa.cpp files alone.
#pragma once
#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {
namespace math {

inline constexpr double kInfinity = __builtin_inf();
inline constexpr double kNaN = __builtin_nan("");

CLEW_INLINE uint64_t bits_of(double x) { return __builtin_bit_cast(uint64_t, x); }
CLEW_INLINE double from_bits(uint64_t bits) { return __builtin_bit_cast(double, bits); }
CLEW_INLINE double magnitude(double x) { return __builtin_fabs(x); }
CLEW_INLINE double with_sign_of(double x, double sign) { return __builtin_copysign(x, sign); }
CLEW_INLINE double at_most(double x, double bound) { return x > bound ? bound : x; }  // NaN stays
CLEW_INLINE double at_least(double x, double bound) { return x < bound ? bound : x; }

CLEW_INLINE uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }
CLEW_INLINE float from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
CLEW_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
CLEW_INLINE float with_sign_of(float x, float sign) { return __builtin_copysignf(x, sign); }
CLEW_INLINE float at_most(float x, float bound) { return x > bound ? bound : x; }
CLEW_INLINE float at_least(float x, float bound) { return x < bound ? bound : x; }

// Rounded once where the level has the instruction (v3, v4): a third fewer steps, and closer. The one place where
// levels differ.
CLEW_INLINE double multiply_add(double a, double b, double c) {
#ifdef __FMA__
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}
CLEW_INLINE float multiply_add(float a, float b, float c) {
#ifdef __FMA__
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

// c0 + c1 x + c2 x^2 ... by Horner's rule.
template <class T>
CLEW_INLINE T polynomial(T, T c) {
    return c;
}
template <class T, class... Rest>
CLEW_INLINE T polynomial(T x, T c, Rest... rest) {
    return multiply_add(x, polynomial(x, rest...), c);
}
// Even and odd powers apart: half as deep, which a long one needs to keep the multipliers busy.
template <class T>
CLEW_INLINE T even_part(T, T c) {
    return c;
}
template <class T>
CLEW_INLINE T even_part(T, T c, T) {
    return c;
}
template <class T, class... Rest>
CLEW_INLINE T even_part(T square, T c, T, Rest... rest) {
    return multiply_add(square, even_part(square, rest...), c);
}
template <class T, class... Rest>
CLEW_INLINE T long_polynomial(T x, T c, Rest... rest) {
    const T square = x * x;
    return multiply_add(x, even_part(square, rest...), even_part(square, c, rest...));
}

}  // namespace math
}  // namespace
}  // namespace clew::kernels
