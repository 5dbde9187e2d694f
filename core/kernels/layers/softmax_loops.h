// The loops of softmax, for float32 and float64: of one line of any strides, and of lines side by side.
#pragma once
#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

inline constexpr std::int64_t kSoftmaxColumns = 128;  // at most so many lines side by side
inline constexpr std::int64_t kShortLine = 1024;      // elements of lines that are taken in groups, at most
inline constexpr std::int64_t kMostLines = 16;        // in a group

struct SoftmaxTable {
    // steps: bytes between the elements of a line, output first.
    using Line = void (*)(char* const* data, const std::int64_t* steps, std::int64_t count);
    using Columns = void (*)(char* const* data, const std::int64_t* steps, std::int64_t count, std::int64_t width);
    // Contiguous lines of at most kShortLine elements, `group` at a time; strides: bytes from line to line.
    using Lines = void (*)(char* const* data, const std::int64_t* strides, std::int64_t lines, std::int64_t count,
                           std::int64_t group);
    // [0]: softmax, [1]: log_softmax
    Line forward[2][kDTypes];  // out, in
    Lines forward_lines[2][kDTypes];
    Columns forward_columns[2][kDTypes];
    Line backward[2][kDTypes];  // out, grad, result
    Columns backward_columns[2][kDTypes];
    // backward of log_softmax for a contiguous line whose gradient is `value` at `place`, if that is not negative, and
    // else 0
    void (*backward_of_one[kDTypes])(char* out, const char* result, std::int64_t count, std::int64_t place,
                                     double value);
};

CLEW_DECLARE_TABLE(SoftmaxTable, softmax_loops)

}  // namespace clew::kernels
