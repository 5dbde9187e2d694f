// What reductions do to single elements and to blocks of them; for .isa.cpp files alone.
#pragma once
#include "core/kernels/reduction/extremes.h"

namespace clew::kernels {
namespace {

inline constexpr int64_t kBlock = 1024;  // elements of a row that are reduced at once

// How an operation reduces a block: `term` makes an element a value that `join` joins with a running one. Both take
// single numbers of the type Block or vectors of them.
struct FloatingSum {
    template <class Block>
    static constexpr Block identity() {
        return Block(0);
    }
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return a + b;
    }
    // The sum of two doubles and its rounding error (Knuth).
    static CLEW_INLINE void fold(double& high, double& low, double value) {
        const double sum = high + value;
        const double part = sum - high;
        low += (high - (sum - part)) + (value - part);
        high = sum;
    }
    static CLEW_INLINE double result(double high, double low) {
        const double sum = high + low;
        return sum - sum == 0.0 ? sum : high;  // infinities leave NaN in low
    }
};
struct Itself {
    template <class Value, class Number>
    static CLEW_INLINE Value term(Value x, Number) {
        return x;
    }
};
struct Sum : FloatingSum, Itself {};
struct SumSquares : FloatingSum {
    template <class Value, class Number>
    static CLEW_INLINE Value term(Value x, Number) {
        return x * x;
    }
};
struct Length : SumSquares {};
struct SumAbs : FloatingSum {
    template <class Value, class Number>
    static CLEW_INLINE Value term(Value x, Number) {
        const Value minus = Value{} - x;
        constexpr Number kLargest = Number(~uint64_t(0) >> 1);  // integers are unsigned: the upper half is negative
        if constexpr (Number(0.5) == Number(0)) return x > kLargest ? minus : x;
        return x < Number(0) ? minus : x;
    }
};
struct Deviations : FloatingSum {
    template <class Value, class Number>
    static CLEW_INLINE Value term(Value x, Number center) {
        const Value d = x - center;
        return d * d;
    }
};
struct RootOfDeviations : Deviations {};
struct Plain : Itself {
    static CLEW_INLINE double result(double high, double) { return high; }
};
struct Product : Plain {
    template <class Block>
    static constexpr Block identity() {
        return Block(1);
    }
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return a * b;
    }
    static CLEW_INLINE void fold(double& high, double&, double value) { high *= value; }
};
template <class T>
constexpr T lowest() {
    if (T(0.5) != T(0)) return T(-__builtin_inf());
    return T(-1) < T(0) ? T(uint64_t(1) << (8 * sizeof(T) - 1)) : T(0);
}
template <class T>
constexpr T highest() {
    if (T(0.5) != T(0)) return T(__builtin_inf());
    return T(~lowest<T>());
}
template <>
constexpr float highest<float>() {
    return __builtin_inff();
}
template <>
constexpr double highest<double>() {
    return __builtin_inf();
}
struct Max : Plain {
    template <class Block>
    static constexpr Block identity() {
        return lowest<Block>();
    }
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return (b > a) | (b != b) ? b : a;
    }
    template <class Block>
    static CLEW_INLINE Block pick(Block a, Block b) {
        return a > b ? a : b;
    }
    template <class Wide>
    static CLEW_INLINE void fold(Wide& high, double&, Wide value) {
        high = join(high, value);
    }
};
struct Min : Plain {
    template <class Block>
    static constexpr Block identity() {
        return highest<Block>();
    }
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return (b < a) | (b != b) ? b : a;
    }
    template <class Block>
    static CLEW_INLINE Block pick(Block a, Block b) {
        return a < b ? a : b;
    }
    template <class Wide>
    static CLEW_INLINE void fold(Wide& high, double&, Wide value) {
        high = join(high, value);
    }
};
// Truth is a byte; all elements become one before they are joined.
struct Any {
    template <class Block>
    static constexpr Block identity() {
        return Block(0);
    }
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return a | b;
    }
};
struct All {
    template <class Block>
    static constexpr Block identity() {
        return Block(1);
    }
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return a & b;
    }
};
template <class Op>
inline constexpr bool kOfTruth = false;
template <>
inline constexpr bool kOfTruth<Any> = true;
template <>
inline constexpr bool kOfTruth<All> = true;
template <class Op>
inline constexpr bool kOfExtremes = false;
template <>
inline constexpr bool kOfExtremes<Max> = true;
template <>
inline constexpr bool kOfExtremes<Min> = true;

// One element taken into a running value; and as many as a Wide holds.
template <class Op, class Block, class T>
CLEW_INLINE Block step(Block a, T x, double center) {
    if constexpr (kOfTruth<Op>)
        return Op::join(a, Block(x != T(0)));
    else
        return Op::join(a, Op::term(Block(x), Block(center)));
}
template <class Op, class Block, class T>
CLEW_INLINE Wide<Block> step_wide(Wide<Block> a, const T* in, Block center) {
    const Wide<Block> x = Wide<Block>::load(in);
    for (int p = 0; p < Wide<Block>::kParts; ++p) a.part[p] = Op::join(a.part[p], Op::term(x.part[p], center));
    return a;
}

template <class Op, class T>
CLEW_INLINE uint8_t reduce_truth(const T* in, int64_t count) {
    constexpr int64_t kFlags = 64;
    uint8_t value = Op::template identity<uint8_t>();
    int64_t i = 0;
    for (; i + kFlags <= count; i += kFlags)
        for (int64_t k = 0; k < kFlags; ++k) value = step<Op, uint8_t>(value, in[i + k], 0.0);
    for (; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        value = step<Op, uint8_t>(value, in[i], 0.0);
    }
    return value;
}

// Four running vectors, so that a step need not wait for the one before. What is left at the end is taken from the last
// full vector, of which the lanes that have been seen are put back.
template <class Op, class Block, class T>
CLEW_INLINE Block reduce_numbers(const T* in, int64_t count, double center) {
    constexpr Block kIdentity = Op::template identity<Block>();
    constexpr int64_t kLanes = Wide<Block>::kLanes;
    if (count < kLanes) {
        Block value = kIdentity;
        for (int64_t i = 0; i < count; ++i) {
            CLEW_KEEP_SCALAR;
            value = step<Op>(value, in[i], center);
        }
        return value;
    }
    const Block around = Block(center);
    Wide<Block> a = Wide<Block>::all(kIdentity), b = a, c = a, d = a;
    int64_t i = 0;
    CLEW_KEEP_ROLLED
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        fetch_ahead(in + i, 4 * kLanes);
        a = step_wide<Op>(a, in + i, around);
        b = step_wide<Op>(b, in + i + kLanes, around);
        c = step_wide<Op>(c, in + i + 2 * kLanes, around);
        d = step_wide<Op>(d, in + i + 3 * kLanes, around);
    }
    const int64_t rest = count - i;
    if (rest >= kLanes) a = step_wide<Op>(a, in + i, around);
    if (rest >= 2 * kLanes) b = step_wide<Op>(b, in + i + kLanes, around);
    if (rest >= 3 * kLanes) c = step_wide<Op>(c, in + i + 2 * kLanes, around);
    const int64_t last = rest % kLanes;
    if (last != 0) d = lanes_from(kLanes - last, d, step_wide<Op>(d, in + count - kLanes, around));
    return join_lanes<Op>(join_wide<Op>(join_wide<Op>(a, b), join_wide<Op>(c, d)));
}

template <class Op, class Block, class T>
CLEW_INLINE Block reduce_block(const T* in, int64_t count, double center) {
    if constexpr (kOfTruth<Op>) {
        return reduce_truth<Op>(in, count);
    } else if constexpr (kOfExtremes<Op> && T(0.5) != T(0)) {
        if (count >= Wide<T>::kLanes) return extreme_of<Op>(in, count);
        return reduce_numbers<Op, Block>(in, count, center);
    } else {
        return reduce_numbers<Op, Block>(in, count, center);
    }
}

}  // namespace
}  // namespace clew::kernels
