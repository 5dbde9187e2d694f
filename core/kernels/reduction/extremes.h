// The largest or smallest of a contiguous row of floats; for .isa.cpp files alone.
#pragma once
#include "core/kernels/elementwise/wide.h"

namespace clew::kernels {
namespace {

// Whether any lane of all vectors that it was shown was NaN; two at a time cost one comparison.
#if defined(__AVX512F__)
template <class T>
class NanWatch {
public:
    CLEW_INLINE void show(const Wide<T>& x, const Wide<T>& y) {
        if constexpr (sizeof(T) == 4)
            seen_ |= __builtin_ia32_cmpps512_mask(x.part[0], y.part[0], kUnordered, -1, kRounding);
        else
            seen_ |= __builtin_ia32_cmppd512_mask(x.part[0], y.part[0], kUnordered, -1, kRounding);
    }
    CLEW_INLINE bool any() const { return seen_ != 0; }

private:
    static constexpr int kUnordered = 3, kRounding = 4;
    uint32_t seen_ = 0;
};
#else
template <class T>
class NanWatch {
public:
    CLEW_INLINE void show(const Wide<T>& x, const Wide<T>& y) {
        for (int p = 0; p < Wide<T>::kParts; ++p) seen_ |= (x.part[p] != x.part[p]) | (y.part[p] != y.part[p]);
    }
    CLEW_INLINE bool any() const {
        bool any = false;
        for (int k = 0; k < Wide<T>::kLanesOfPart; ++k) any |= seen_[k] != 0;
        return any;
    }

private:
    typename Wide<T>::Mask seen_{};
};
#endif

template <class Op>
struct Picking {
    template <class Block>
    static CLEW_INLINE Block join(Block a, Block b) {
        return Op::pick(a, b);
    }
};

// The largest or smallest of kLanes or more. What a comparison with NaN gives is of no matter, so that an instruction
// for the larger of two will do; NaN is looked for beside it.
template <class Op, class T>
CLEW_INLINE T extreme_of(const T* in, int64_t count) {
    constexpr int64_t kLanes = Wide<T>::kLanes;
    Wide<T> best[4];
    for (Wide<T>& w : best) w = Wide<T>::all(Op::template identity<T>());
    NanWatch<T> nan;
    const auto take_two = [&](int k, int64_t at, int64_t other) __attribute__((always_inline)) {
        Wide<T> x = Wide<T>::load(in + at), y = Wide<T>::load(in + other);
        for (int p = 0; p < Wide<T>::kParts; ++p) {
#ifdef __x86_64__
            asm("" : "+v"(x.part[p]), "+v"(y.part[p]));  // loaded once: g++ would rather load them for each use
#endif
            best[k].part[p] = Op::pick(x.part[p], best[k].part[p]);
            best[k + 1].part[p] = Op::pick(y.part[p], best[k + 1].part[p]);
        }
        nan.show(x, y);
    };
    int64_t i = 0;
    CLEW_KEEP_ROLLED
    for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
        fetch_ahead(in + i, 4 * kLanes);
        take_two(0, i, i + kLanes);
        take_two(2, i + 2 * kLanes, i + 3 * kLanes);
    }
    const int64_t last = count - kLanes;  // may be taken for the second time
    for (; i < count; i += 2 * kLanes) take_two(0, i < last ? i : last, i + kLanes < last ? i + kLanes : last);
    if (nan.any()) return T(__builtin_nan(""));
    using Pick = Picking<Op>;
    return join_lanes<Pick>(join_wide<Pick>(join_wide<Pick>(best[0], best[1]), join_wide<Pick>(best[2], best[3])));
}

}  // namespace
}  // namespace clew::kernels
