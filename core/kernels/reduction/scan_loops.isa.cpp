#include "core/kernels/reduction/scan_loops.h"

#include "core/kernels/reduction/reduce_ops.h"

namespace clew::kernels {
namespace {

// Whether `a` beats an earlier `b`.
struct Largest {
    using Reduce = Max;
    template <class T>
    static CLEW_INLINE bool beats(T a, T b) {
        return (a > b) | ((a != a) & (b == b));
    }
};
struct Smallest {
    using Reduce = Min;
    template <class T>
    static CLEW_INLINE bool beats(T a, T b) {
        return (a < b) | ((a != a) & (b == b));
    }
};

// The first element from `begin` on for which `holds`, or `count`; many that it does not hold for are skipped at once.
template <class T, class Holds>
CLEW_INLINE int64_t first_where(const char* in, int64_t step, int64_t begin, int64_t count, Holds holds) {
    int64_t i = begin;
    if (step == sizeof(T)) {
        constexpr int64_t kSkip = 64, kSkipLess = 16;
        for (; i + kSkip <= count; i += kSkip) {
            const T* x = reinterpret_cast<const T*>(in) + i;
            int seen = 0;
            for (int64_t k = 0; k < kSkip; ++k) seen |= holds(x[k]) ? 1 : 0;
            if (seen != 0) break;
        }
        for (; i + kSkipLess <= count; i += kSkipLess) {
            const T* x = reinterpret_cast<const T*>(in) + i;
            int seen = 0;
            for (int64_t k = 0; k < kSkipLess; ++k) seen |= holds(x[k]) ? 1 : 0;
            if (seen != 0) break;
        }
    }
    for (; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        if (holds(load<T>(in + i * step))) return i;
    }
    return count;
}

inline constexpr int64_t kBeyondCaches = int64_t(1) << 22;

// The largest of each block says which block to search.
template <class Order, class T>
int64_t find(const char* in, int64_t step, int64_t count) {
    T buffer[kBlock];
    const auto block_at = [&](int64_t begin, int64_t length) {
        if (step == sizeof(T)) return reinterpret_cast<const T*>(in + begin * step);
        gather(buffer, in + begin * step, step, length);
        return static_cast<const T*>(buffer);
    };
    T best = T();
    int64_t best_begin = 0;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
        const int64_t length = count - begin < kBlock ? count - begin : kBlock;
        // Processors fetch ahead on their own, but only to the end of a page.
        if (step == sizeof(T) && count >= kBeyondCaches)
            for (int64_t line = 0; line < length * step; line += 64)
                __builtin_prefetch(in + (begin + 2 * kBlock) * step + line);
        const T value = reduce_block<typename Order::Reduce, T>(block_at(begin, length), length, 0.0);
        if (begin != 0 && !Order::beats(value, best)) continue;
        best = value;
        best_begin = begin;
    }
    // NaN is looked for as what is not equal to itself.
    const int64_t i = best == best ? first_where<T>(in, step, best_begin, count, [best](T x) { return x == best; })
                                   : first_where<T>(in, step, best_begin, count, [](T x) { return x != x; });
    return i < count ? i : 0;
}

// Of adjacent elements, the first that comes before `bound` in the order of sorting, where NaN is greater than all
// numbers; or `count`.
template <class T>
int64_t first_greater(const char* in, int64_t count, const void* bound) {
    const T b = *static_cast<const T*>(bound);
    if (b != b) return count;
    return first_where<T>(in, sizeof(T), 0, count, [b](T x) { return !(x <= b); });
}
template <class T>
int64_t first_less(const char* in, int64_t count, const void* bound) {
    const T b = *static_cast<const T*>(bound);
    if (b != b) return first_where<T>(in, sizeof(T), 0, count, [](T x) { return x == x; });
    return first_where<T>(in, sizeof(T), 0, count, [b](T x) { return x < b; });
}

template <class Order, class T>
void find_columns(int64_t* found, const char* in, int64_t step, int64_t count, int64_t width) {
    T best[kScanColumns];
    int32_t places[kScanColumns];
    constexpr int64_t kMost = int64_t(1) << 30;  // rows that an int32 can count
    for (int64_t begin = 0; begin < count; begin += kMost) {
        const int64_t length = count - begin < kMost ? count - begin : kMost;
        if (begin == 0) {
            const T* first = reinterpret_cast<const T*>(in);
            for (int64_t j = 0; j < width; ++j) {
                best[j] = first[j];
                found[j] = 0;
            }
        }
        for (int64_t j = 0; j < width; ++j) places[j] = -1;
        for (int32_t i = 0; i < length; ++i) {
            const T* row = reinterpret_cast<const T*>(in + (begin + i) * step);
            CLEW_VECTORISE
            for (int64_t j = 0; j < width; ++j) {
                const T x = row[j], old = best[j];
                const bool better = Order::beats(x, old);
                best[j] = better ? x : old;
                places[j] = better ? i : places[j];
            }
        }
        for (int64_t j = 0; j < width; ++j)
            if (places[j] >= 0) found[j] = begin + places[j];
    }
}

template <class Op, class Running, class Out, class T>
void scan(char* out, int64_t out_step, const char* in, int64_t in_step, int64_t count, int64_t width) {
    if (width == 1) {
        Running running = Op::template identity<Running>();
        for (int64_t i = 0; i < count; ++i) {
            running = step<Op>(running, load<T>(in + i * in_step), 0.0);
            store<Out>(out + i * out_step, Out(running));
        }
        return;
    }
    Running running[kScanColumns];
    for (int64_t j = 0; j < width; ++j) running[j] = Op::template identity<Running>();
    for (int64_t i = 0; i < count; ++i) {
        const T* row = reinterpret_cast<const T*>(in + i * in_step);
        Out* to = reinterpret_cast<Out*>(out + i * out_step);
        CLEW_VECTORISE
        for (int64_t j = 0; j < width; ++j) {
            running[j] = step<Op>(running[j], row[j], 0.0);
            to[j] = Out(running[j]);
        }
    }
}

#define CLEW_FIND(find, Order)                                         \
    {find<Order, uint8_t>, find<Order, uint8_t>, find<Order, int32_t>, \
     find<Order, int64_t>, find<Order, float>,   find<Order, double>}
#define CLEW_FIRST(find) {find<uint8_t>, find<uint8_t>, find<int32_t>, find<int64_t>, find<float>, find<double>}
#define CLEW_SCAN(Op)                                                                                                  \
    {scan<Op, uint64_t, int64_t, uint8_t>, scan<Op, uint64_t, int64_t, uint8_t>, scan<Op, uint64_t, int64_t, int32_t>, \
     scan<Op, uint64_t, int64_t, int64_t>, scan<Op, double, float, float>,       scan<Op, double, double, double>}

}  // namespace

CLEW_EXPORT_TABLE(ScanTable, scan_loops,
                  {
                      .find = {CLEW_FIND(find, Smallest), CLEW_FIND(find, Largest)},
                      .find_columns = {CLEW_FIND(find_columns, Smallest), CLEW_FIND(find_columns, Largest)},
                      .first_better = {CLEW_FIRST(first_less), CLEW_FIRST(first_greater)},
                      .sum = CLEW_SCAN(Sum),
                      .product = CLEW_SCAN(Product),
                  });

}  // namespace clew::kernels
