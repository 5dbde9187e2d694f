// How a loop will walk over several views at once; for the kernels that walk by themselves.
#pragma once
#include <cstdint>
#include <span>

#include "core/kernels/memory/iterate.h"
#include "core/kernels/view.h"

namespace clew::kernels {

inline constexpr int kMaxOperands = kMaxInputs + 1;

// What is left of the views once axes of size 1 are dropped, the rest is ordered and neighbours are joined. Axis 0 is
// innermost.
struct Plan {
    int ndim;
    int operands;
    std::int64_t sizes[kMaxDims];
    std::int64_t strides[kMaxDims][kMaxOperands];  // in bytes
    char* data[kMaxOperands];
    std::int64_t items[kMaxOperands];  // sizes of the elements, in bytes
};

// Returns the number of elements; if that is zero, the plan is not filled in.
std::int64_t make_plan(Plan& plan, const View& out, std::span<const View> inputs);

// Elements [begin, end) in the order of the plan.
template <class Inner>
void run(const Plan& plan, std::int64_t begin, std::int64_t end, const Inner& inner) {
    char* data[kMaxOperands];
    std::int64_t index[kMaxDims];
    std::int64_t rest = begin;
    for (int k = 0; k < plan.operands; ++k) data[k] = plan.data[k];
    for (int axis = 0; axis < plan.ndim; ++axis) {
        index[axis] = rest % plan.sizes[axis];
        rest /= plan.sizes[axis];
        for (int k = 0; k < plan.operands; ++k) data[k] += index[axis] * plan.strides[axis][k];
    }
    std::int64_t left = end - begin;
    while (true) {
        const std::int64_t row = plan.sizes[0] - index[0];
        const std::int64_t count = row < left ? row : left;
        inner(data, plan.strides[0], count);
        left -= count;
        if (left == 0) return;
        if (index[0] != 0) {  // of the first row
            for (int k = 0; k < plan.operands; ++k) data[k] -= index[0] * plan.strides[0][k];
            index[0] = 0;
        }
        for (int axis = 1; axis < plan.ndim; ++axis) {
            for (int k = 0; k < plan.operands; ++k) data[k] += plan.strides[axis][k];
            if (++index[axis] < plan.sizes[axis]) break;
            for (int k = 0; k < plan.operands; ++k) data[k] -= plan.sizes[axis] * plan.strides[axis][k];
            index[axis] = 0;
        }
    }
}

}  // namespace clew::kernels
