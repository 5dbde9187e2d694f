#include "core/kernels/elementwise/division.h"

#include "core/kernels/elementwise/power_loops.h"

namespace clew::kernels {
namespace {

CLEW_INLINE float remainder_of(float a, float b) { return __builtin_fmodf(a, b); }
CLEW_INLINE double remainder_of(double a, double b) { return __builtin_fmod(a, b); }
CLEW_INLINE float floor_of(float x) { return __builtin_floorf(x); }
CLEW_INLINE double floor_of(double x) { return __builtin_floor(x); }
CLEW_INLINE float trunc_of(float x) { return __builtin_truncf(x); }
CLEW_INLINE double trunc_of(double x) { return __builtin_trunc(x); }

// Integers. Dividing by zero gives zero; dividing by -1 is a negation that may wrap, where the instruction would trap.
template <class T>
CLEW_INLINE T negated(T a) {
    return T(uint64_t(0) - uint64_t(a));
}
template <class T>
CLEW_INLINE T quotient(T a, T b) {
    if (b == 0) return 0;
    if (T(-1) < T(0) && b == T(-1)) return negated(a);
    return T(a / b);
}
template <class T>
CLEW_INLINE T rest(T a, T b) {
    if (b == 0 || (T(-1) < T(0) && b == T(-1))) return 0;
    return T(a % b);
}

struct FloorDivide {
    template <class T>
    static CLEW_INLINE T apply(T a, T b) {
        const T r = rest(a, b);
        return T(quotient(a, b) - (r != 0 && (r < 0) != (b < 0)));
    }
    template <class T>
    static CLEW_INLINE T of_floats(T a, T b) {
        if (b == T(0)) return a / b;
        const T r = remainder_of(a, b);
        T q = (a - r) / b;  // whole but for rounding
        if (r != T(0) && (r < T(0)) != (b < T(0))) q -= T(1);
        if (q == T(0)) return math::with_sign_of(T(0), a / b);
        const T whole = floor_of(q);
        return q - whole > T(0.5) ? whole + T(1) : whole;
    }
    static CLEW_INLINE float apply(float a, float b) { return of_floats(a, b); }
    static CLEW_INLINE double apply(double a, double b) { return of_floats(a, b); }
};

struct TruncateDivide {
    template <class T>
    static CLEW_INLINE T apply(T a, T b) {
        return quotient(a, b);
    }
    static CLEW_INLINE float apply(float a, float b) { return trunc_of(a / b); }
    static CLEW_INLINE double apply(double a, double b) { return trunc_of(a / b); }
};

struct Remainder {
    template <class T>
    static CLEW_INLINE T apply(T a, T b) {
        const T r = rest(a, b);
        return T(r != 0 && (r < 0) != (b < 0) ? r + b : r);
    }
    template <class T>
    static CLEW_INLINE T of_floats(T a, T b) {
        const T r = remainder_of(a, b);
        return r != T(0) && (r < T(0)) != (b < T(0)) ? r + b : r;
    }
    static CLEW_INLINE float apply(float a, float b) { return of_floats(a, b); }
    static CLEW_INLINE double apply(double a, double b) { return of_floats(a, b); }
};

struct Fmod {
    template <class T>
    static CLEW_INLINE T apply(T a, T b) {
        return rest(a, b);
    }
    static CLEW_INLINE float apply(float a, float b) { return remainder_of(a, b); }
    static CLEW_INLINE double apply(double a, double b) { return remainder_of(a, b); }
};

struct Atan2 {
    static CLEW_INLINE float apply(float y, float x) { return __builtin_atan2f(y, x); }
    static CLEW_INLINE double apply(double y, double x) { return __builtin_atan2(y, x); }
};
struct ShiftLeft {
    template <class T>
    static CLEW_INLINE T apply(T a, T b) {
        return b < 0 || uint64_t(b) >= 8 * sizeof(T) ? T(0) : T(uint64_t(a) << b);
    }
};
struct ShiftRight {
    template <class T>
    static CLEW_INLINE T apply(T a, T b) {
        return b < 0 || uint64_t(b) >= 8 * sizeof(T) ? T(a < 0 ? -1 : 0) : T(a >> b);
    }
};

#define CLEW_INTEGERS(op) \
    nullptr, scalar_binary_loop<op, uint8_t>, scalar_binary_loop<op, int32_t>, scalar_binary_loop<op, int64_t>
#define CLEW_NUMBERS(op) {CLEW_INTEGERS(op), scalar_binary_loop<op, float>, scalar_binary_loop<op, double>}

}  // namespace

CLEW_EXPORT_TABLE(DivisionTable, division,
                  {
                      .floor_divide = CLEW_NUMBERS(FloorDivide),
                      .trunc_divide = CLEW_NUMBERS(TruncateDivide),
                      .remainder = CLEW_NUMBERS(Remainder),
                      .fmod = CLEW_NUMBERS(Fmod),
                      .pow = {CLEW_INTEGERS(Power), power_loop<float>, power_loop<double>, complex_power_loop<float>,
                              complex_power_loop<double>},
                      .atan2 = CLEW_FLOATING(scalar_binary_loop, Atan2),
                      .shift_left = {CLEW_INTEGERS(ShiftLeft), nullptr, nullptr},
                      .shift_right = {CLEW_INTEGERS(ShiftRight), nullptr, nullptr},
                  });

}  // namespace clew::kernels
