#include "core/kernels/reduction/reduce_loops.h"

#include "core/kernels/elementwise/math_float32.h"
#include "core/kernels/reduction/reduce_ops.h"

namespace clew::kernels {
namespace {

inline constexpr int64_t kRowGroup = 32;  // rows whose columns are added at once

// The accumulators as numbers or as integers. Integers need no `low`, and are unsigned where they may wrap.
template <class Op, class Block>
CLEW_INLINE void fold(Accumulator& high, double& low, Block value) {
    if constexpr (Block(0.5) != Block(0))
        Op::fold(high.number, low, double(value));
    else
        high.integer = int64_t(Op::template join<decltype(value)>(Block(high.integer), value));
}
template <class Op, class Block>
void start(Accumulator* high, double* low, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        if constexpr (Block(0.5) != Block(0))
            high[i].number = double(Op::template identity<Block>());
        else
            high[i].integer = int64_t(Op::template identity<Block>());
        low[i] = 0.0;
    }
}

// Note [Squares out of range]
// Squares of floats below 1e-19 or above 1e19 are no floats. A block of them whose sum is tiny, infinite or NaN is
// added again in double. Where a sum is not tiny, what it lacks of squares that are is nothing beside it.
template <class Op, class Block>
constexpr bool kGuarded = false;
template <>
constexpr bool kGuarded<Length, float> = true;
CLEW_INLINE bool in_range(float squares) { return (squares > 0x1p-80f) & (squares < 0x1p127f); }

template <class Op>
constexpr bool kTakesRoot = false;
template <>
constexpr bool kTakesRoot<Length> = true;
template <>
constexpr bool kTakesRoot<RootOfDeviations> = true;

template <class Op, class Block, class T>
[[gnu::noinline]] void fold_guarded(Accumulator& high, double& low, const T* block, int64_t length, double around) {
    if (reduce_block<SumAbs, Block>(block, length, around) == Block(0)) return fold<Op, Block>(high, low, Block(0));
    fold<Op, double>(high, low, reduce_block<Op, double>(block, length, around));
}
template <class Op, class Block, class T>
CLEW_INLINE void fold_block(Accumulator& high, double& low, const T* block, int64_t length, double around) {
    const Block value = reduce_block<Op, Block>(block, length, around);
    if constexpr (kGuarded<Op, Block>) {
        if (!in_range(value)) [[unlikely]]
            return fold_guarded<Op, Block>(high, low, block, length, around);
    }
    fold<Op, Block>(high, low, value);
}

// The sums of `rows` rows of columns, those in double that are out of range.
template <class Op, class T>
[[gnu::noinline]] void fold_guarded(Accumulator* high, double* low, const float* sums, const char* in,
                                    int64_t row_stride, int64_t rows, int64_t width) {
    double wide[kColumns];
    for (int64_t j = 0; j < width; ++j) wide[j] = 0.0;
    for (int64_t i = 0; i < rows; ++i) {
        const T* row = reinterpret_cast<const T*>(in + i * row_stride);
        CLEW_VECTORISE
        for (int64_t j = 0; j < width; ++j) wide[j] += double(row[j]) * double(row[j]);
    }
    CLEW_VECTORISE
    for (int64_t j = 0; j < width; ++j)
        fold<Op, double>(high[j], low[j], in_range(sums[j]) ? double(sums[j]) : wide[j]);
}

template <class Op, class Block, class T>
void row(Accumulator* high, double* low, const char* in, int64_t stride, int64_t count, const double* center) {
    T buffer[kBlock];
    const double around = center == nullptr ? 0.0 : *center;
    const bool at_once = kOfExtremes<Op> && stride == sizeof(T);  // nothing is rounded
    const int64_t most = at_once ? count : kBlock;
    for (int64_t begin = 0; begin < count; begin += most) {
        const int64_t length = count - begin < most ? count - begin : most;
        const T* block = reinterpret_cast<const T*>(in + begin * stride);
        if (stride != sizeof(T)) {
            gather(buffer, in + begin * stride, stride, length);
            block = buffer;
        }
        fold_block<Op, Block>(*high, *low, block, length, around);
    }
}

template <class Op, class Block, class T>
void columns(Accumulator* high, double* low, const char* in, int64_t row_stride, int64_t rows, int64_t width,
             const double* centers) {
    Block block[kColumns];
    double zeros[kColumns];
    if (centers == nullptr) {
        for (int64_t j = 0; j < width; ++j) zeros[j] = 0.0;
        centers = zeros;
    }
    for (int64_t begin = 0; begin < rows; begin += kRowGroup) {
        const int64_t end = rows - begin < kRowGroup ? rows : begin + kRowGroup;
        for (int64_t j = 0; j < width; ++j) block[j] = Op::template identity<Block>();
        int64_t i = begin;
        for (; i + 8 <= end; i += 8) {
            const auto row_at = [&](int64_t k) { return reinterpret_cast<const T*>(in + (i + k) * row_stride); };
            const T *a = row_at(0), *b = row_at(1), *c = row_at(2), *d = row_at(3);
            const T *e = row_at(4), *f = row_at(5), *g = row_at(6), *h = row_at(7);
            CLEW_VECTORISE
            for (int64_t j = 0; j < width; ++j) {
                const double center = centers[j];
                Block value = step<Op>(step<Op>(block[j], a[j], center), b[j], center);
                value = step<Op>(step<Op>(value, c[j], center), d[j], center);
                value = step<Op>(step<Op>(value, e[j], center), f[j], center);
                block[j] = step<Op>(step<Op>(value, g[j], center), h[j], center);
            }
        }
        for (; i < end; ++i) {
            const T* a = reinterpret_cast<const T*>(in + i * row_stride);
            CLEW_VECTORISE
            for (int64_t j = 0; j < width; ++j) block[j] = step<Op>(block[j], a[j], centers[j]);
        }
        if constexpr (kGuarded<Op, Block>) {
            int32_t unusual = 0;
            CLEW_VECTORISE
            for (int64_t j = 0; j < width; ++j) unusual |= in_range(block[j]) ? 0 : 1;
            if (unusual != 0) {
                fold_guarded<Op, T>(high, low, block, in + begin * row_stride, row_stride, end - begin, width);
                continue;
            }
        }
        CLEW_VECTORISE
        for (int64_t j = 0; j < width; ++j) fold<Op, Block>(high[j], low[j], block[j]);
    }
}

template <class Op, class Block>
void join(Accumulator* high, double* low, const Accumulator* other_high, const double* other_low, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        if constexpr (Block(0.5) != Block(0)) {
            Op::fold(high[i].number, low[i], other_high[i].number);
            low[i] += other_low[i];
        } else {
            fold<Op, Block>(high[i], low[i], Block(other_high[i].integer));
        }
    }
}

template <class Op>
CLEW_INLINE double finished(double quotient) {
    if constexpr (kTakesRoot<Op>) return __builtin_sqrt(quotient);
    return quotient;
}
template <class Op, class Block, class Out>
void finish(char* out, int64_t stride, const Accumulator* high, const double* low, int64_t count, double divisor) {
    for (int64_t i = 0; i < count; ++i) {
        if constexpr (Block(0.5) != Block(0))
            store<Out>(out + i * stride, Out(finished<Op>(Op::result(high[i].number, low[i]) / divisor)));
        else
            store<Out>(out + i * stride, Out(high[i].integer));
    }
}

// Whole rows of one length: what there is to do for each of many short ones is little beside calling it.
template <auto kStart, auto kRow, auto kFinish, class T>
void rows(char* out, int64_t out_stride, const char* in, int64_t row_stride, int64_t stride, int64_t rows,
          int64_t length, const char* centers, int64_t center_stride, double divisor) {
    for (int64_t i = 0; i < rows; ++i) {
        const double center = centers == nullptr ? 0.0 : double(load<T>(centers + i * center_stride));
        Accumulator high;
        double low;
        kStart(&high, &low, 1);
        kRow(&high, &low, in + i * row_stride, stride, length, &center);
        kFinish(out + i * out_stride, 0, &high, &low, 1, divisor);
    }
}

// log(sum(exp(x))), block by block: the largest so far is taken out of the sum.
struct LogSumExp {
    template <class T>
    static void row(Accumulator* high, double* low, const char* in, int64_t stride, int64_t count, const double*) {
        T buffer[kBlock];
        for (int64_t begin = 0; begin < count; begin += kBlock) {
            const int64_t length = count - begin < kBlock ? count - begin : kBlock;
            gather(buffer, in + begin * stride, stride, length);
            T largest = reduce_block<Max, T>(buffer, length, 0.0);
            if (T(high->number) > largest) largest = T(high->number);
            // Infinite or NaN: exp(x - largest) means nothing, and finish() looks at `high` alone.
            const bool usual = largest - largest == T(0);
            const int64_t padded = (length + kPadding - 1) & -kPadding;
            for (int64_t i = length; i < padded; ++i) buffer[i] = largest;
            CLEW_VECTORISE
            for (int64_t i = 0; i < (padded & -kPadding); ++i) buffer[i] = math::exp(buffer[i] - largest);
            const double rescaled = *low == 0.0 ? 0.0 : *low * math::exp(high->number - double(largest));
            *low = usual ? rescaled + double(reduce_block<Sum, T>(buffer, length, 0.0)) : 0.0;
            if (largest != largest || high->number == high->number) high->number = double(largest);
        }
    }
    static void join(Accumulator* high, double* low, const Accumulator* other_high, const double* other_low,
                     int64_t count) {
        for (int64_t i = 0; i < count; ++i) {
            const double a = high[i].number, b = other_high[i].number;
            const double largest = Max::join(a, b);
            const bool usual = largest - largest == 0.0;
            const double from_a = low[i] == 0.0 ? 0.0 : low[i] * math::exp(a - largest);
            const double from_b = other_low[i] == 0.0 ? 0.0 : other_low[i] * math::exp(b - largest);
            high[i].number = largest;
            low[i] = usual ? from_a + from_b : 0.0;
        }
    }
    template <class T>
    static void finish(char* out, int64_t stride, const Accumulator* high, const double* low, int64_t count, double) {
        for (int64_t i = 0; i < count; ++i) {
            const bool usual = high[i].number - high[i].number == 0.0;
            store<T>(out + i * stride, T(usual ? high[i].number + math::log(low[i]) : high[i].number));
        }
    }
};

// Block is the type of partial results within a block, Out that of the result.
#define CLEW_REDUCER(Op, Block, T, Out)                                                                              \
    {start<Op, Block>,      row<Op, Block, T>, rows<start<Op, Block>, row<Op, Block, T>, finish<Op, Block, Out>, T>, \
     columns<Op, Block, T>, join<Op, Block>,   finish<Op, Block, Out>}
#define CLEW_TO_INT64(Op)                                                                       \
    CLEW_REDUCER(Op, uint64_t, uint8_t, int64_t), CLEW_REDUCER(Op, uint64_t, uint8_t, int64_t), \
        CLEW_REDUCER(Op, uint64_t, int32_t, int64_t), CLEW_REDUCER(Op, uint64_t, int64_t, int64_t)
#define CLEW_SAME(Op)                                                                             \
    CLEW_REDUCER(Op, uint8_t, uint8_t, uint8_t), CLEW_REDUCER(Op, uint8_t, uint8_t, uint8_t),     \
        CLEW_REDUCER(Op, int32_t, int32_t, int32_t), CLEW_REDUCER(Op, int64_t, int64_t, int64_t), \
        CLEW_REDUCER(Op, float, float, float), CLEW_REDUCER(Op, double, double, double)
#define CLEW_TO_BOOL(Op)                                                                          \
    CLEW_REDUCER(Op, uint8_t, uint8_t, uint8_t), CLEW_REDUCER(Op, uint8_t, uint8_t, uint8_t),     \
        CLEW_REDUCER(Op, uint8_t, int32_t, uint8_t), CLEW_REDUCER(Op, uint8_t, int64_t, uint8_t), \
        CLEW_REDUCER(Op, uint8_t, float, uint8_t), CLEW_REDUCER(Op, uint8_t, double, uint8_t)
#define CLEW_LOG_SUM_EXP(T)                                                                             \
    {start<Max, T>, LogSumExp::row<T>, rows<start<Max, T>, LogSumExp::row<T>, LogSumExp::finish<T>, T>, \
     nullptr,       LogSumExp::join,   LogSumExp::finish<T>}

}  // namespace

// In the order of ReduceKind.
CLEW_EXPORT_TABLE(
    ReduceTable, reduce_loops,
    {{
        {CLEW_TO_INT64(Sum), CLEW_REDUCER(Sum, float, float, float), CLEW_REDUCER(Sum, double, double, double)},
        {{}, {}, {}, {}, CLEW_REDUCER(Sum, double, float, float), CLEW_REDUCER(Sum, double, double, double)},
        {CLEW_TO_INT64(Product), CLEW_REDUCER(Product, double, float, float),
         CLEW_REDUCER(Product, double, double, double)},
        {CLEW_SAME(Max)},
        {CLEW_SAME(Min)},
        {CLEW_TO_BOOL(Any)},
        {CLEW_TO_BOOL(All)},
        {CLEW_TO_INT64(SumSquares), CLEW_REDUCER(SumSquares, float, float, float),
         CLEW_REDUCER(SumSquares, double, double, double)},
        {CLEW_TO_INT64(SumAbs), CLEW_REDUCER(SumAbs, float, float, float),
         CLEW_REDUCER(SumAbs, double, double, double)},
        {{}, {}, {}, {}, CLEW_LOG_SUM_EXP(float), CLEW_LOG_SUM_EXP(double)},
        {{}, {}, {}, {}, CLEW_REDUCER(Length, float, float, float), CLEW_REDUCER(Length, double, double, double)},
        {{},
         {},
         {},
         {},
         CLEW_REDUCER(Deviations, double, float, float),
         CLEW_REDUCER(Deviations, double, double, double)},
        {{},
         {},
         {},
         {},
         CLEW_REDUCER(RootOfDeviations, double, float, float),
         CLEW_REDUCER(RootOfDeviations, double, double, double)},
    }});

}  // namespace clew::kernels
