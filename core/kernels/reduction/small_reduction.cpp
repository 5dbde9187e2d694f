#include "core/kernels/reduction/small_reduction.h"

#include "core/base/error.h"
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

// Rows that are added at once, each column by itself: no more than one group of reduce_loops.isa.cpp.
CBlock SmallReduction::sum_block(bool wide) const {
    constexpr std::int64_t kGroup = 32, kMostWork = 1024;
    if (reduced_ > (columns_ ? kGroup : 1) || reduced_ * kept_ > kMostWork) return {};
    const std::int64_t item = wide ? 8 : 4;
    if (out_stride_ % item || kept_stride_ % item || reduced_stride_ % item) return {};
    const char* const type = wide ? "double" : "float";
    const auto number = [&](std::int64_t bytes) { return static_cast<long long>(bytes / item); };
    std::string text = format("const %s* a = $1;\n%s* __restrict o = $0;\n", type, type);
    text += format("for (int j = 0; j < %lld; ++j) {\n%s s = 0;\n", static_cast<long long>(kept_), type);
    text += format("for (int i = 0; i < %lld; ++i) s += a[i * %lld + j * %lld];\n", static_cast<long long>(reduced_),
                   number(reduced_stride_), number(kept_stride_));
    text += format("o[j * %lld] = %s;\n}\n", number(out_stride_),
                   divisor_ == 1 ? "s" : format("(%s)((double)s / %a)", type, divisor_).c_str());
    return {text, wide};
}

}  // namespace clew::kernels
