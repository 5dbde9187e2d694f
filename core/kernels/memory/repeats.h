// Walks in which a row is combined with every row of a matrix (X + row): short rows would spend their time in calls of
// the inner loop, and in what is left of each row when whole vectors have been taken.
//
// Note [Broadcast rows]
// The row is copied several times over, one copy behind the other, into a buffer that stays in the first-level cache.
// Several rows of the matrix, one behind the other in memory, are then one row to the inner loop.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/kernels/memory/plan.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels {

// Of each buffer. What streams by in a first-level cache of 48 KiB leaves no more alone: with 16 KiB the loop is
// slower.
inline constexpr std::int64_t kRepeatedBytes = 8 << 10;
inline constexpr std::int64_t kLeastAtOnce = 4;  // longer rows are as well taken one by one

// How operands step from row to row: the inner axis is `inner`, the one around it `outer`.
struct RowAxes {
    const Plan& plan;
    int inner, outer;

    std::int64_t width() const { return plan.sizes[inner]; }
    std::int64_t height() const { return plan.sizes[outer]; }
    bool continues(int k) const { return plan.strides[outer][k] == plan.strides[inner][k] * width(); }
    bool repeats(int k) const {
        for (int axis = 0; axis < plan.ndim; ++axis)
            if (axis != inner && plan.strides[axis][k] != 0) return false;
        return true;
    }
};

inline RowAxes row_axes(const Plan& plan) {
    const RowAxes transposed{plan, 1, 0};  // rows of a few elements: see make_plan()
    return plan.ndim > 1 && transposed.continues(0) ? transposed : RowAxes{plan, 0, 1};
}

// How many rows are one row to the inner loop; 0 where that is not possible.
inline std::int64_t rows_at_once(const RowAxes& axes) {
    const Plan& plan = axes.plan;
    if (plan.ndim < 2 || !axes.continues(0)) return 0;
    constexpr std::int64_t kLeast = 4;  // times that a copied row is used
    std::int64_t most = axes.height() / kLeast;
    for (int k = 1; k < plan.operands; ++k) {
        if (axes.continues(k)) continue;
        if (!axes.repeats(k)) return 0;
        most = std::min(most, kRepeatedBytes / (axes.width() * plan.items[k]));
    }
    return most;
}

// Puts `times` copies of a row one behind the other.
inline void repeat_row(char* to, const char* row, std::int64_t stride, std::int64_t item, std::int64_t width,
                       std::int64_t times) {
    const auto size = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes); };
    for (std::int64_t i = 0; i < width; ++i) std::memcpy(to + i * item, row + i * stride, size(item));
    const std::int64_t whole = times * width * item;
    for (std::int64_t done = width * item; done < whole; done *= 2)
        std::memcpy(to + done, to, size(std::min(done, whole - done)));
}

// body(plan, inner) with a plan in which the two innermost axes are one, and with an inner loop that belongs to it.
template <class Inner, class Body>
void with_repeated_rows(const RowAxes& axes, std::int64_t rows, const Inner& inner, const Body& body) {
    Plan plan = axes.plan;
    const std::int64_t width = axes.width(), length = rows * width;
    const Scratch memory(static_cast<std::size_t>(kRepeatedBytes * (plan.operands - 1)));
    const char* buffers[kMaxOperands] = {};
    std::int64_t along[kMaxOperands];
    for (int k = 0; k < plan.operands; ++k) {
        along[k] = plan.strides[axes.inner][k];
        plan.strides[0][k] = along[k];
        if (axes.continues(k)) continue;
        char* const buffer = memory.as<char>() + (k - 1) * kRepeatedBytes;
        repeat_row(buffer, plan.data[k], along[k], plan.items[k], width, rows);
        buffers[k] = buffer;
        along[k] = plan.items[k];
    }
    plan.sizes[0] = width * axes.height();
    --plan.ndim;
    for (int axis = 1; axis < plan.ndim; ++axis) {
        plan.sizes[axis] = plan.sizes[axis + 1];
        std::copy_n(plan.strides[axis + 1], plan.operands, plan.strides[axis]);
    }
    // Pieces begin where rows begin.
    body(plan, [&](char* const* data, const std::int64_t* strides, std::int64_t count) {
        char* at[kMaxOperands];
        for (std::int64_t begin = 0; begin < count; begin += length) {
            for (int k = 0; k < plan.operands; ++k)
                at[k] = buffers[k] ? const_cast<char*>(buffers[k]) : data[k] + begin * strides[k];
            inner(at, along, std::min(length, count - begin));
        }
    });
}

}  // namespace clew::kernels
