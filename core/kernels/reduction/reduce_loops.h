// The inner loops of reductions.
//
// Note [Accumulators]
// A running result is one 8-byte word, `high`, and a double beside it, `low`. Sums add blocks of at most 1024 elements
// (or 32 rows) in the type of the elements, many lanes at once, and add the blocks' sums in double; for doubles, `low`
// gathers what those additions round away. LogSumExp keeps the largest element in `high` and the sum of exp(x - high)
// in `low`.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/reduction/reduce.h"

namespace clew::kernels {

union Accumulator {
    double number;
    std::int64_t integer;
};

inline constexpr std::int64_t kColumns = 512;  // at most so many columns at once

struct Reducer {
    // Sets `count` accumulators to the result of nothing.
    void (*start)(Accumulator* high, double* low, std::int64_t count);
    // Adds `count` elements, `stride` bytes apart, to one accumulator. `center` is for Deviations.
    void (*row)(Accumulator* high, double* low, const char* in, std::int64_t stride, std::int64_t count,
                const double* center);
    // start, row and finish for each of `rows` rows; centers, of the type of the elements, may be null.
    void (*rows)(char* out, std::int64_t out_stride, const char* in, std::int64_t row_stride, std::int64_t stride,
                 std::int64_t rows, std::int64_t length, const char* centers, std::int64_t center_stride,
                 double divisor);
    // Adds `rows` rows of `width` adjacent elements, to `width` accumulators. Null: rows are all there is.
    void (*columns)(Accumulator* high, double* low, const char* in, std::int64_t row_stride, std::int64_t rows,
                    std::int64_t width, const double* centers);
    void (*join)(Accumulator* high, double* low, const Accumulator* other_high, const double* other_low,
                 std::int64_t count);
    // Writes elements, `stride` bytes apart. Floating results are divided by `divisor`.
    void (*finish)(char* out, std::int64_t stride, const Accumulator* high, const double* low, std::int64_t count,
                   double divisor);
};

// Two more kinds, for moments(): the sum of squares of x - center, and its root, taken after the division.
inline constexpr int kDeviations = kReduceKinds, kRootOfDeviations = kReduceKinds + 1;

struct ReduceTable {
    Reducer reducers[kReduceKinds + 2][kDTypes];
};

CLEW_DECLARE_TABLE(ReduceTable, reduce_loops)

}  // namespace clew::kernels
