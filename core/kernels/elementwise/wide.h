// Sixty-four bytes of numbers, in as many vectors as the level needs for them; for .isa.cpp files alone.
//
// Arrays of running values that g++ should keep in registers it may well keep in memory, which ties every step to the
// one before. These it keeps. All levels have the same lanes and join them in the same order, so all give the same
// bits.
#pragma once
#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

template <class T, int kBytes>
struct VectorOf {
    typedef T type __attribute__((vector_size(kBytes)));
    typedef T unaligned __attribute__((vector_size(kBytes), aligned(1), may_alias));
};

// Integers as wide as T, for what comparisons give and for shuffles.
template <int kBytes>
struct Signed;
template <>
struct Signed<1> {
    using type = int8_t;
};
template <>
struct Signed<4> {
    using type = int32_t;
};
template <>
struct Signed<8> {
    using type = int64_t;
};

template <class T>
struct Wide {
    static constexpr int kParts = 64 / kVectorBytes;
    static constexpr int kLanesOfPart = kVectorBytes / int(sizeof(T));
    static constexpr int kLanes = kParts * kLanesOfPart;
    using Vector = typename VectorOf<T, kVectorBytes>::type;
    using Mask = typename VectorOf<typename Signed<sizeof(T)>::type, kVectorBytes>::type;
    Vector part[kParts];

    static CLEW_INLINE Wide all(T value) {
        Wide w;
        for (int p = 0; p < kParts; ++p) w.part[p] = value - Vector{};
        return w;
    }
    // kLanes adjacent elements of another type.
    template <class From>
    static CLEW_INLINE Wide load(const From* in) {
        Wide w;
        for (int p = 0; p < kParts; ++p) {
            using Part = typename VectorOf<From, kLanesOfPart* int(sizeof(From))>::unaligned;
            const Part part = *reinterpret_cast<const Part*>(in + p * kLanesOfPart);
            w.part[p] = __builtin_convertvector(part, Vector);
        }
        return w;
    }
};

// Processors fetch ahead on their own, but not across the end of a page, nor fast enough from a third-level cache; and
// they go by the address of the loading instruction, so a loop must not be unrolled until each has a page of its own.
// Asking a page ahead while summing makes sums of a megabyte and more a fifth faster, and costs smaller ones nothing.
#define CLEW_KEEP_ROLLED _Pragma("GCC unroll 1")
template <class T>
CLEW_INLINE void fetch_ahead(const T* in, int64_t count) {
    const char* ahead = reinterpret_cast<const char*>(in) + 4096;
    for (int64_t line = 0; line < count * int64_t(sizeof(T)); line += 64) __builtin_prefetch(ahead + line);
}

// a with b's lanes from `first` on.
template <class T>
CLEW_INLINE Wide<T> lanes_from(int64_t first, Wide<T> a, Wide<T> b) {
    using Int = typename Signed<sizeof(T)>::type;
    constexpr int kLanes = Wide<T>::kLanes;
    alignas(64) static constexpr struct Ramp {
        Int lane[kLanes];
        constexpr Ramp() : lane() {
            for (int k = 0; k < kLanes; ++k) lane[k] = Int(k);
        }
    } kRamp;
    for (int p = 0; p < Wide<T>::kParts; ++p) {
        using Mask = typename Wide<T>::Mask;
        const Mask lane = *reinterpret_cast<const Mask*>(kRamp.lane + p * Wide<T>::kLanesOfPart);
        a.part[p] = lane >= Int(first) - Mask{} ? b.part[p] : a.part[p];
    }
    return a;
}

template <class Op, class T>
CLEW_INLINE Wide<T> join_wide(Wide<T> a, Wide<T> b) {
    for (int p = 0; p < Wide<T>::kParts; ++p) a.part[p] = Op::join(a.part[p], b.part[p]);
    return a;
}

// All lanes joined into one, the halves of a vector with each other until nothing is left to halve.
template <class Op, class T>
CLEW_INLINE T join_lanes(Wide<T> w) {
    constexpr int kParts = Wide<T>::kParts, kOfPart = Wide<T>::kLanesOfPart;
    for (int half = kParts / 2; half > 0; half /= 2)
        for (int p = 0; p < half; ++p) w.part[p] = Op::join(w.part[p], w.part[p + half]);
    auto v = w.part[0];
    if constexpr (kOfPart == 16) {
        v = Op::join(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
        v = Op::join(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
        v = Op::join(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
        v = Op::join(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
        return v[0];
    } else if constexpr (kOfPart == 8) {
        v = Op::join(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3));
        v = Op::join(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5));
        v = Op::join(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6));
        return v[0];
    } else if constexpr (kOfPart == 4) {
        v = Op::join(v, __builtin_shufflevector(v, v, 2, 3, 0, 1));
        v = Op::join(v, __builtin_shufflevector(v, v, 1, 0, 3, 2));
        return v[0];
    } else if constexpr (kOfPart == 2) {
        v = Op::join(v, __builtin_shufflevector(v, v, 1, 0));
        return v[0];
    } else {
        alignas(64) T lanes[kOfPart];
        *reinterpret_cast<typename Wide<T>::Vector*>(lanes) = v;
        for (int half = kOfPart / 2; half > 0; half /= 2)
            for (int k = 0; k < half; ++k) lanes[k] = Op::join(lanes[k], lanes[k + half]);
        return lanes[0];
    }
}

}  // namespace
}  // namespace clew::kernels
