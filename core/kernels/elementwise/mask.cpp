#include <atomic>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <vector>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/memory/index.h"
#include "core/kernels/memory/index_loops.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/memory/walk.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

Walk merged_walk(const View& shape, std::initializer_list<View> views) {
    Walk walk(shape.ndim, shape.sizes);
    for (const View& view : views) walk.add(view);
    walk.merge();
    return walk;
}

// Without a branch on the mask, which nobody could predict: each element is written, and overwritten if it was not
// chosen.
template <class T>
void select(const View& out, const View& in, const View& mask) {
    const Walk walk = merged_walk(in, {in, mask});
    const int last = walk.ndim() - 1;
    const Index step = walk.stride(last, 0) / static_cast<Index>(sizeof(T)), mask_step = walk.stride(last, 1);
    T* next = static_cast<T*>(out.data);
    T* const end = next + out.sizes[0] * out.strides[0];
    const Index out_step = out.strides[0];
    walk.run(0, walk.count(), [&](char* const* at, Index length) {
        const T* from = reinterpret_cast<const T*>(at[0]);
        const char* const chosen = at[1];
        T* to = next;
        for (Index i = 0; i < length && to != end; ++i) {
            *to = from[i * step];
            to += chosen[i * mask_step] * out_step;  // 0 or 1 times
        }
        next = to;
    });
}

template <class T>
Index is_nonzero(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof(T));
    return value != T(0);
}

// The positions from `begin` to `end`, written to the rows from `row` on, `count` of them. Without a branch, as above.
template <class T>
void positions(const View& out, const Walk& walk, const View& in, Index begin, Index end, Index* row, Index count) {
    Index place[kMaxDims] = {};
    Index rest = begin;
    for (int axis = in.ndim - 1; axis >= 0; --axis) {
        place[axis] = rest % in.sizes[axis];
        rest /= in.sizes[axis];
    }
    const int last = in.ndim - 1;
    const Index step = walk.stride(last, 0), row_step = out.strides[0], column = out.strides[1];
    Index* const stop = row + count * row_step;
    walk.run(begin, end, [&](char* const* at, Index length) {
        Index* const index = row + last * column;
        Index* to = index;
        Index* const full = stop + last * column;
        const Index first = place[last];
        for (Index i = 0; i < length && to != full; ++i) {
            *to = first + i;
            to += is_nonzero<T>(at[0] + i * step) * row_step;  // 0 or 1 times
        }
        for (Index written = (to - index) / row_step; written > 0; --written, row += row_step)
            for (int axis = 0; axis < last; ++axis) row[axis * column] = place[axis];
        place[last] = 0;
        for (int axis = last - 1; axis >= 0 && ++place[axis] == in.sizes[axis]; --axis) place[axis] = 0;
    });
}

// Pieces are counted first, so that each knows where its rows begin.
template <class T>
void all_positions(const View& out, const View& in) {
    Walk walk(in.ndim, in.sizes);
    walk.add(in);
    const Index count = walk.count();
    std::vector<Index> rows(static_cast<std::size_t>((count + kChunk - 1) / kChunk + 1));
    const auto loop = index_loops().count_nonzero[static_cast<int>(in.dtype)];
    const Index step = walk.stride(in.ndim - 1, 0);
    parallel_for(count, kChunk, [&](Index begin, Index end) {
        Index& total = rows[static_cast<std::size_t>(begin / kChunk + 1)];
        walk.run(begin, end, [&](char* const* at, Index length) { total += loop(at[0], step, length); });
    });
    std::partial_sum(rows.begin(), rows.end(), rows.begin());
    parallel_for(count, kChunk, [&](Index begin, Index end) {
        const auto piece = static_cast<std::size_t>(begin / kChunk);
        positions<T>(out, walk, in, begin, end, static_cast<Index*>(out.data) + rows[piece] * out.strides[0],
                     rows[piece + 1] - rows[piece]);
    });
}

}  // namespace

void masked_fill(const View& out, const View& mask, const void* value) {
    CLEW_KERNEL();
    constexpr Index no_strides[kMaxDims] = {};
    const View element{const_cast<void*>(value), out.dtype, out.ndim, out.sizes, no_strides};
    elementwise(index_loops().masked_fill[size_slot(out.dtype)], out, {mask, element});
}

void masked_select(const View& out, const View& in, const View& mask) {
    CLEW_KERNEL();
    with_size(out.dtype, [&]<class T>() { select<T>(out, in, mask); });
}

void masked_scatter(const View& out, const View& mask, const View& src) {
    CLEW_KERNEL();
    const auto size = item_size(out.dtype);
    const Walk walk = merged_walk(out, {out, mask});
    const int last = walk.ndim() - 1;
    const Index step = walk.stride(last, 0), mask_step = walk.stride(last, 1);
    const char* next = static_cast<const char*>(src.data);
    walk.run(0, walk.count(), [&](char* const* at, Index length) {
        for (Index i = 0; i < length; ++i) {
            if (at[1][i * mask_step] == 0) continue;
            std::memcpy(at[0] + i * step, next, size);
            next += src.strides[0] * static_cast<Index>(size);
        }
    });
}

std::int64_t count_nonzero(const View& in) {
    need_values("how many are not zero");
    CLEW_ASSERT_FRAME();
    const Walk walk = merged_walk(in, {in});
    const auto loop = index_loops().count_nonzero[static_cast<int>(in.dtype)];
    const Index step = walk.stride(walk.ndim() - 1, 0);
    std::atomic<Index> total{0};
    parallel_for(walk.count(), kChunk, [&](Index begin, Index end) {
        Index part = 0;
        walk.run(begin, end, [&](char* const* at, Index length) { part += loop(at[0], step, length); });
        total += part;
    });
    return total;
}

void nonzero(const View& out, const View& in) {
    CLEW_KERNEL();
    if (in.ndim == 0) return;  // its position has no coordinates
    with_any_type(in.dtype, [&]<class T>() { all_positions<T>(out, in); });
}

}  // namespace clew::kernels
