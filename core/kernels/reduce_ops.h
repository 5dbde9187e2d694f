// What reductions do to single elements and to blocks of them; for .isa.cpp files alone.
#pragma once
#include "core/kernels/loops.h"

namespace clew::kernels {
namespace {

inline constexpr int64_t kBlock = 1024;  // elements of a row that are reduced at once
inline constexpr int64_t kLanes = 64;    // a multiple of every vector

// How an operation reduces a block: `step` takes an element into a running value, `join` joins two of these. Block is
// their type.
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
struct Sum : FloatingSum {
    template <class Block, class T>
    static CLEW_INLINE Block step(Block sum, T x, double) {
        return sum + Block(x);
    }
};
struct SumSquares : FloatingSum {
    template <class Block, class T>
    static CLEW_INLINE Block step(Block sum, T x, double) {
        return sum + Block(x) * Block(x);
    }
};
CLEW_INLINE float absolute(float x) { return __builtin_fabsf(x); }
CLEW_INLINE double absolute(double x) { return __builtin_fabs(x); }
CLEW_INLINE uint64_t absolute(uint64_t x) { return int64_t(x) < 0 ? uint64_t(0) - x : x; }
struct SumAbs : FloatingSum {
    template <class Block, class T>
    static CLEW_INLINE Block step(Block sum, T x, double) {
        return sum + absolute(Block(x));
    }
};
struct Deviations : FloatingSum {
    template <class Block, class T>
    static CLEW_INLINE Block step(Block sum, T x, double center) {
        const Block d = Block(x - Block(center));
        return sum + d * d;
    }
};
struct Plain {
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
    template <class Block, class T>
    static CLEW_INLINE Block step(Block product, T x, double) {
        return product * Block(x);
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
        const Block larger = a >= b ? a : b;
        return a != a ? a : larger;
    }
    template <class Block, class T>
    static CLEW_INLINE Block step(Block a, T x, double) {
        return join<Block>(a, x);
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
        const Block smaller = a <= b ? a : b;
        return a != a ? a : smaller;
    }
    template <class Block, class T>
    static CLEW_INLINE Block step(Block a, T x, double) {
        return join<Block>(a, x);
    }
    template <class Wide>
    static CLEW_INLINE void fold(Wide& high, double&, Wide value) {
        high = join(high, value);
    }
};
struct Any {
    template <class Block>
    static constexpr Block identity() {
        return Block(0);
    }
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return a | b;
    }
    template <class Block, class T>
    static CLEW_INLINE Block step(Block a, T x, double) {
        return a | Block(x != T(0));
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
    template <class Block, class T>
    static CLEW_INLINE Block step(Block a, T x, double) {
        return a & Block(x != T(0));
    }
};

template <class Op, class Block, class T>
CLEW_INLINE Block reduce_block(const T* in, int64_t count, double center) {
    constexpr Block kIdentity = Op::template identity<Block>();
    if (count < 16) {
        Block value = kIdentity;
        for (int64_t i = 0; i < count; ++i) {
            CLEW_KEEP_SCALAR;
            value = Op::step(value, in[i], center);
        }
        return value;
    }
    Block lanes[kLanes];
    for (int64_t k = 0; k < kLanes; ++k) lanes[k] = kIdentity;
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes)
        for (int64_t k = 0; k < kLanes; ++k) lanes[k] = Op::step(lanes[k], in[i + k], center);
    const int64_t rest = count - i;
    int64_t k = 0;
    for (; k + kPadding <= rest; k += kPadding)
        for (int64_t m = 0; m < kPadding; ++m) lanes[k + m] = Op::step(lanes[k + m], in[i + k + m], center);
    for (; k < rest; ++k) {
        CLEW_KEEP_SCALAR;
        lanes[k] = Op::step(lanes[k], in[i + k], center);
    }
    for (k = 0; k < kLanes / 2; ++k) lanes[k] = Op::join(lanes[k], lanes[k + kLanes / 2]);
    for (k = 0; k < kLanes / 4; ++k) lanes[k] = Op::join(lanes[k], lanes[k + kLanes / 4]);
    for (k = 0; k < kLanes / 8; ++k) lanes[k] = Op::join(lanes[k], lanes[k + kLanes / 8]);
    const Block a = Op::join(Op::join(lanes[0], lanes[4]), Op::join(lanes[2], lanes[6]));
    const Block b = Op::join(Op::join(lanes[1], lanes[5]), Op::join(lanes[3], lanes[7]));
    return Op::join(a, b);
}

}  // namespace
}  // namespace clew::kernels
