// Reductions of contiguous rows in whole vectors, for rows that may be short; for .isa.cpp files alone.
//
// A row is taken in steps of 128 bytes, and what is left as a step that is filled up. The lanes are the same at every
// level, however wide its vectors are, and so are the bits.
#pragma once
#include "core/kernels/elementwise/math_float32.h"
#include "core/kernels/reduction/reduce_ops.h"

namespace clew::kernels {
namespace {

// exp(x) for x of at most 88 or NaN, fast also where the result is 0: arithmetic that ends below the smallest float
// takes many times as long.
CLEW_INLINE float row_exp(float x) {
    const bool gone = x < -104.0f;
    const float y = math::exp_bounded(gone ? 0.0f : x);
    return gone ? 0.0f : y;
}
CLEW_INLINE double row_exp(double x) {
    const bool gone = x < -746.0;
    const double y = math::exp(gone ? 0.0 : x);
    return gone ? 0.0 : y;
}

#if defined(__AVX512F__)
inline constexpr int kRowVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kRowVectorBytes = 32;
#else
inline constexpr int kRowVectorBytes = 16;
#endif
inline constexpr int kRowStepBytes = 128, kRowVectors = kRowStepBytes / kRowVectorBytes;

template <class T>
inline constexpr int64_t kRowStep = kRowStepBytes / int64_t(sizeof(T));

template <class T>
struct RowVector {
    typedef T type __attribute__((vector_size(kRowVectorBytes)));
    typedef T loose __attribute__((vector_size(kRowVectorBytes), aligned(alignof(T)), may_alias));  // at any address
};
// Whole numbers from `first` on, one a lane. Loaded: left to itself the compiler makes such a vector lane by lane.
inline constexpr int kRampLength = 32;
template <class I>
struct Ramp {
    typedef I type __attribute__((vector_size(kRowVectorBytes)));
    typedef I loose __attribute__((vector_size(kRowVectorBytes), aligned(alignof(I)), may_alias));
    I numbers[kRampLength];
    constexpr Ramp() : numbers{} {
        for (int i = 0; i < kRampLength; ++i) numbers[i] = i;
    }
    CLEW_INLINE type from(int first) const { return *reinterpret_cast<const loose*>(numbers + first); }
};
template <class T>
struct LaneOf;
template <>
struct LaneOf<float> {
    using type = int32_t;
};
template <>
struct LaneOf<double> {
    using type = int64_t;
};
template <class T>
using Lane = typename LaneOf<T>::type;
template <class T>
constexpr Ramp<Lane<T>> kRamp{};

struct RowSum {
    template <class V>
    static CLEW_INLINE void step(V& sum, const V& x) {
        sum += x;
    }
    template <class T>
    static constexpr T identity() {
        return T(0);
    }
};
struct RowMax {  // of a row with NaN it gives anything: one instruction, where asking costs three
    template <class V>
    static CLEW_INLINE void step(V& a, const V& b) {
        a = a > b ? a : b;
    }
    template <class T>
    static constexpr T identity() {
        return lowest<T>();
    }
};

template <class Op, class T>
struct RowReduction {
    using Vector = typename RowVector<T>::type;
    using Loose = typename RowVector<T>::loose;
    static constexpr int lanes = kRowVectorBytes / int(sizeof(T));
    Vector running[kRowVectors];

    CLEW_INLINE RowReduction() {
        for (int v = 0; v < kRowVectors; ++v) running[v] = Vector{} + Op::template identity<T>();
    }
    // `count` is a multiple of kRowStep.
    CLEW_INLINE void add(const T* x, int64_t count) {
        for (int64_t i = 0; i < count; i += kRowStep<T>)
            for (int v = 0; v < kRowVectors; ++v)
                Op::step(running[v], Vector(*reinterpret_cast<const Loose*>(x + i + v * lanes)));
    }
    CLEW_INLINE T result() {
        for (int half = kRowVectors / 2; half > 0; half /= 2)
            for (int v = 0; v < half; ++v) Op::step(running[v], running[v + half]);
        Vector total = running[0];
        for (int half = lanes / 2; half > 0; half /= 2) Op::step(total, rotated(total, half));
        return total[0];
    }

private:
    // Each lane has what the one `by` further had, the last ones what the first had.
    static CLEW_INLINE Vector rotated(Vector v, int by) {
#ifdef __clang__
        Vector result = v;
        for (int lane = 0; lane < lanes; ++lane) result[lane] = v[(lane + by) % lanes];
        return result;
#else
        return __builtin_shuffle(v, kRamp<T>.from(by));
#endif
    }
};

// Part of a vector, and the rest of the lanes filled up. Not by way of a buffer: a CPU that loads whole what it has
// just stored in pieces waits until all of it is in the cache, and cannot begin with the next row meanwhile.
#if defined(__AVX512F__)
CLEW_INLINE RowVector<float>::type load_part(const float* x, int64_t count, float filling) {
    return __builtin_ia32_loadups512_mask(x, RowVector<float>::type{} + filling, uint16_t((1u << count) - 1));
}
CLEW_INLINE RowVector<double>::type load_part(const double* x, int64_t count, double filling) {
    return __builtin_ia32_loadupd512_mask(x, RowVector<double>::type{} + filling, uint8_t((1u << count) - 1));
}
CLEW_INLINE void store_part(float* x, int64_t count, RowVector<float>::type value) {
    __builtin_ia32_storeups512_mask(x, value, uint16_t((1u << count) - 1));
}
CLEW_INLINE void store_part(double* x, int64_t count, RowVector<double>::type value) {
    __builtin_ia32_storeupd512_mask(x, value, uint8_t((1u << count) - 1));
}
#elif defined(__AVX__)
CLEW_INLINE RowVector<float>::type load_part(const float* x, int64_t count, float filling) {
    const auto wanted = kRamp<float>.from(0) < Ramp<int32_t>::type{} + int32_t(count);
    const auto loaded = __builtin_ia32_maskloadps256(reinterpret_cast<const RowVector<float>::type*>(x), wanted);
    return wanted ? loaded : RowVector<float>::type{} + filling;
}
CLEW_INLINE RowVector<double>::type load_part(const double* x, int64_t count, double filling) {
    const auto wanted = kRamp<double>.from(0) < Ramp<int64_t>::type{} + count;
    using Mask = long long __attribute__((vector_size(kRowVectorBytes)));
    const auto loaded = __builtin_ia32_maskloadpd256(reinterpret_cast<const RowVector<double>::type*>(x), Mask(wanted));
    return wanted ? loaded : RowVector<double>::type{} + filling;
}
CLEW_INLINE void store_part(float* x, int64_t count, RowVector<float>::type value) {
    const auto wanted = kRamp<float>.from(0) < Ramp<int32_t>::type{} + int32_t(count);
    __builtin_ia32_maskstoreps256(reinterpret_cast<RowVector<float>::type*>(x), wanted, value);
}
CLEW_INLINE void store_part(double* x, int64_t count, RowVector<double>::type value) {
    const auto wanted = kRamp<double>.from(0) < Ramp<int64_t>::type{} + count;
    using Mask = long long __attribute__((vector_size(kRowVectorBytes)));
    __builtin_ia32_maskstorepd256(reinterpret_cast<RowVector<double>::type*>(x), Mask(wanted), value);
}
#else
template <class T>
CLEW_INLINE typename RowVector<T>::type load_part(const T* x, int64_t count, T filling) {
    T lanes[kRowVectorBytes / sizeof(T)] __attribute__((aligned(kRowVectorBytes)));
    for (T& lane : lanes) lane = filling;
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        lanes[i] = x[i];
    }
    return *reinterpret_cast<const typename RowVector<T>::loose*>(lanes);
}
template <class T>
CLEW_INLINE void store_part(T* x, int64_t count, typename RowVector<T>::type value) {
    T lanes[kRowVectorBytes / sizeof(T)] __attribute__((aligned(kRowVectorBytes)));
    *reinterpret_cast<typename RowVector<T>::loose*>(lanes) = value;
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        x[i] = lanes[i];
    }
}
#endif

// A row shorter than a step, filled up.
template <class T>
struct ShortRow {
    using Loose = typename RowVector<T>::loose;
    static constexpr int lanes = kRowVectorBytes / int(sizeof(T));
    T values[kRowStep<T>] __attribute__((aligned(64)));

    CLEW_INLINE ShortRow(const T* row, int64_t count, T filling) {
        for (int v = 0; v < kRowVectors; ++v) at(v) = load_part(row + v * lanes, within(count - v * lanes), filling);
    }
    CLEW_INLINE void put(T* row, int64_t count) const {
#if defined(__AVX512F__)
        for (int v = 0; v < kRowVectors; ++v) {
            const auto& part = *reinterpret_cast<const Loose*>(values + v * lanes);
            store_part(row + v * lanes, within(count - v * lanes), part);
        }
#else
        __builtin_memcpy(row, values, uint64_t(count) * sizeof(T));
#endif
    }

private:
    CLEW_INLINE Loose& at(int v) { return *reinterpret_cast<Loose*>(values + v * lanes); }
    static CLEW_INLINE int64_t within(int64_t count) { return count < 0 ? 0 : count < lanes ? count : lanes; }
};

template <class Op, class T>
CLEW_INLINE T reduce_row(const T* x, int64_t count) {
    RowReduction<Op, T> reduction;
    const int64_t whole = count & -kRowStep<T>;
    reduction.add(x, whole);
    if (whole < count)
        reduction.add(ShortRow<T>(x + whole, count - whole, Op::template identity<T>()).values, kRowStep<T>);
    return reduction.result();
}

}  // namespace
}  // namespace clew::kernels
