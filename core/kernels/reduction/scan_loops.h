// The inner loops of cumulative sums and products, and of searches for the largest or smallest element.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

inline constexpr std::int64_t kScanColumns = 256;  // at most so many lines side by side

struct ScanTable {
    // [0]: smallest, [1]: largest. Where the first such element is; NaN wins.
    std::int64_t (*find[2][kDTypes])(const char* in, std::int64_t step, std::int64_t count);
    // The same for `width` lines side by side, whose elements are `step` apart.
    void (*find_columns[2][kDTypes])(std::int64_t* found, const char* in, std::int64_t step, std::int64_t count,
                                     std::int64_t width);
    // Of `count` adjacent elements the first that sorts before `bound` ([1]: after it), or `count`. Here NaN sorts
    // after all numbers.
    std::int64_t (*first_better[2][kDTypes])(const char* in, std::int64_t count, const void* bound);
    // Running results of `width` lines side by side (or of one), with steps between the elements of a line. Floating
    // ones are kept in double.
    using Scan = void (*)(char* out, std::int64_t out_step, const char* in, std::int64_t in_step, std::int64_t count,
                          std::int64_t width);
    Scan sum[kDTypes];
    Scan product[kDTypes];
};

CLEW_DECLARE_TABLE(ScanTable, scan_loops)

}  // namespace clew::kernels
