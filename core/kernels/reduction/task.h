// One reduction: which loops, over which axes.
#pragma once
#include "core/kernels/reduction/reduce_axes.h"
#include "core/kernels/reduction/reduce_loops.h"

namespace clew::kernels {

struct Task {
    // Not an aggregate, whose arrays would be zeroed first.
    Task(const Reducer& reducer, DType in_dtype, bool centered)
        : reducer(reducer),
          in_dtype(in_dtype),
          in_size(static_cast<std::int64_t>(item_size(in_dtype))),
          centered(centered) {}
    const Reducer& reducer;
    Axes kept;
    Axes reduced;
    Places start{};
    DType in_dtype;
    std::int64_t in_size;
    double divisor = 1;
    bool centered;

    // That pays where the kept elements lie side by side, and where the reduced ones are too few to make a row.
    bool goes_by_columns() const {
        const bool side_by_side = kept.in[0] == in_size && kept.sizes[0] >= 3;
        const bool short_rows = reduced.count < 24 && kept.sizes[0] >= 16;
        return reducer.columns != nullptr && (side_by_side || short_rows) && reduced.count > 0;
    }
};

// Whether so many rows of so few columns are taken as fewer, wider ones, if they follow one another.
inline bool fold_rows(std::int64_t rows, std::int64_t width) { return width < 64 && rows >= 4 * (kColumns / width); }

// `kind` is a ReduceKind, kDeviations or kRootOfDeviations.
Task task_of(int kind, const View& out, const View& in, std::uint32_t axes_mask, const View* centers = nullptr);

}  // namespace clew::kernels
