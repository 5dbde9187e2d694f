// Element types that C++ has no type for: halves and complex numbers. Always inlined, so that kernels of every
// instruction set may use them.
#pragma once
#include <stdint.h>

#define CLEW_ELEMENT inline constexpr __attribute__((always_inline))

namespace clew {

// The upper half of a float32: 8 bits of exponent, 7 of mantissa.
struct BFloat16 {
    uint16_t bits;
    BFloat16() = default;
    // To the nearest, ties to even; NaN stays NaN.
    explicit CLEW_ELEMENT BFloat16(float x) : bits(0) {
        const uint32_t b = __builtin_bit_cast(uint32_t, x);
        const uint32_t rounded = b + 0x7fffu + (b >> 16 & 1u);
        bits = uint16_t(x != x ? 0x7fc0u : rounded >> 16);
    }
    CLEW_ELEMENT operator float() const { return __builtin_bit_cast(float, uint32_t(bits) << 16); }
};

// IEEE 754 binary16: 5 bits of exponent, 10 of mantissa.
struct Float16 {
    uint16_t bits;
    Float16() = default;
    // As processors convert (F16C). To the nearest, ties to even: what lies below the normal numbers is rounded by
    // adding a number whose last bit is the last of a subnormal half; others by adding half of what is cut off.
    explicit CLEW_ELEMENT Float16(float x) : bits(0) {
        const uint32_t b = __builtin_bit_cast(uint32_t, x);
        const uint32_t sign = b >> 16 & 0x8000u, magnitude = b & 0x7fffffffu;
        const float small = __builtin_bit_cast(float, magnitude) + 0.5f;
        const uint32_t subnormal = __builtin_bit_cast(uint32_t, small) - 0x3f000000u;
        const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
        const uint32_t beyond = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x1ffu) : 0x7c00u;
        bits = uint16_t(sign | (magnitude >= 0x47800000u ? beyond : magnitude < 0x38800000u ? subnormal : normal));
    }
    CLEW_ELEMENT operator float() const {
        const uint32_t sign = uint32_t(bits & 0x8000u) << 16, rest = bits & 0x7fffu;
        // A product moves the exponent, and makes subnormal halves normal.
        const float finite = __builtin_bit_cast(float, rest << 13) * 0x1p112f;
        const uint32_t quiet = rest > 0x7c00u ? 0x7fc00000u : 0x7f800000u;
        const uint32_t magnitude = rest >= 0x7c00u ? rest << 13 | quiet : __builtin_bit_cast(uint32_t, finite);
        return __builtin_bit_cast(float, sign | magnitude);
    }
};

template <class T>
struct Complex {
    T real, imag;
    Complex() = default;
    CLEW_ELEMENT Complex(T r, T i = T(0)) : real(r), imag(i) {}
    template <class U>
    explicit CLEW_ELEMENT Complex(Complex<U> z) : real(T(z.real)), imag(T(z.imag)) {}
};
template <class T>
CLEW_ELEMENT Complex<T> operator-(Complex<T> a) {
    return {-a.real, -a.imag};
}
template <class T>
CLEW_ELEMENT Complex<T> operator+(Complex<T> a, Complex<T> b) {
    return {a.real + b.real, a.imag + b.imag};
}
template <class T>
CLEW_ELEMENT Complex<T> operator-(Complex<T> a, Complex<T> b) {
    return {a.real - b.real, a.imag - b.imag};
}
template <class T>
CLEW_ELEMENT Complex<T> operator*(Complex<T> a, Complex<T> b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
// Scaled by the larger part of the divisor, so that no square overflows.
template <class T>
CLEW_ELEMENT Complex<T> operator/(Complex<T> a, Complex<T> b) {
    const T re = b.real < T(0) ? -b.real : b.real, im = b.imag < T(0) ? -b.imag : b.imag;
    if (re >= im) {
        if (re == T(0)) return {a.real / re, a.imag / im};
        const T ratio = b.imag / b.real, scale = T(1) / (b.real + b.imag * ratio);
        return {(a.real + a.imag * ratio) * scale, (a.imag - a.real * ratio) * scale};
    }
    const T ratio = b.real / b.imag, scale = T(1) / (b.real * ratio + b.imag);
    return {(a.real * ratio + a.imag) * scale, (a.imag * ratio - a.real) * scale};
}
template <class T>
CLEW_ELEMENT bool operator==(Complex<T> a, Complex<T> b) {
    return a.real == b.real && a.imag == b.imag;
}
template <class T>
CLEW_ELEMENT bool operator!=(Complex<T> a, Complex<T> b) {
    return !(a == b);
}

// As a real number: a complex one loses its imaginary part.
template <class To, class T>
CLEW_ELEMENT To to_real(T x) {
    return static_cast<To>(x);
}
template <class To, class T>
CLEW_ELEMENT To to_real(Complex<T> x) {
    return static_cast<To>(x.real);
}

}  // namespace clew
