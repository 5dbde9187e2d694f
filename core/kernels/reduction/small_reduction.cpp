#include "core/kernels/reduction/small_reduction.h"

#include "core/base/frame.h"

namespace clew::kernels {

SmallReduction::SmallReduction(const Task& task) {
    constexpr std::int64_t kMost = 4096;  // elements, which one thread reduces
    if (task.kept.ndim > 1 || task.reduced.ndim > 1 || task.centered) return;
    if (task.kept.count == 0 || task.reduced.count == 0 || task.kept.count * task.reduced.count > kMost) return;
    columns_ = task.goes_by_columns();
    const bool gathers = task.kept.in[0] != task.in_size;
    const bool folds = fold_rows(task.reduced.count, task.kept.count);
    if (columns_ && (gathers || folds || task.kept.count > kColumns)) return;
    reducer_ = &task.reducer;
    kept_ = task.kept.count;
    reduced_ = task.reduced.count;
    out_stride_ = task.kept.out[0];
    kept_stride_ = task.kept.in[0];
    reduced_stride_ = task.reduced.in[0];
    divisor_ = task.divisor;
}

void SmallReduction::run(void* to, const void* from) const {
    CLEW_ASSERT_FRAME();
    auto* const out = static_cast<char*>(to);
    const auto* const in = static_cast<const char*>(from);
    if (!columns_)
        return reducer_->rows(out, out_stride_, in, kept_stride_, reduced_stride_, kept_, reduced_, nullptr, 0,
                              divisor_);
    Accumulator high[kColumns];
    double low[kColumns];
    reducer_->start(high, low, kept_);
    reducer_->columns(high, low, in, reduced_stride_, reduced_, kept_, nullptr);
    reducer_->finish(out, out_stride_, high, low, kept_, divisor_);
}

}  // namespace clew::kernels
