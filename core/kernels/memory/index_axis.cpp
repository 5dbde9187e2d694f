// Indices along one axis, as the general case of index.cpp sees them.
#include <algorithm>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/memory/index.h"
#include "core/kernels/memory/iterate.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// `view` with other strides; and one element, broadcast.
View restrided(const View& view, const View& shape, const Index* strides) {
    return {view.data, view.dtype, shape.ndim, shape.sizes, strides};
}
constexpr Index kNoStrides[kMaxDims] = {};
View broadcast_element(const void* value, DType dtype, const View& shape) {
    return {const_cast<void*>(value), dtype, shape.ndim, shape.sizes, kNoStrides};
}

// A view indexed along one axis as the general case sees it: stride 0 there, and an AxisIndex in its place.
struct AlongAxis {
    Index moved_strides[kMaxDims], index_strides[kMaxDims];
    View moved;
    AxisIndex index;

    // `shape` is what is walked over; `index` has either one dimension or shape's.
    AlongAxis(const View& shape, const View& view, int axis, const View& given) {
        std::copy_n(view.strides, view.ndim, moved_strides);
        moved_strides[axis] = 0;
        if (given.ndim == shape.ndim) {
            std::copy_n(given.strides, given.ndim, index_strides);
        } else {
            std::fill_n(index_strides, shape.ndim, 0);
            index_strides[axis] = given.strides[0];
        }
        moved = restrided(view, shape, moved_strides);
        index = {restrided(given, shape, index_strides), view.sizes[axis], view.strides[axis]};
    }
    AlongAxis(const AlongAxis&) = delete;
};

// Writes along one axis in the order of the index; what differs along another axis goes to other places, so there the
// work may be cut.
void scatter_along(const View& out, int axis, const View& index, const View& src, bool accumulate) {
    int other = axis == 0 ? 1 : 0;
    for (int i = other + 1; i < index.ndim; ++i)
        if (i != axis && index.sizes[i] > index.sizes[other]) other = i;
    const auto put = [&](const View& to, const View& at, const View& from) {
        const AlongAxis along(at, to, axis, at);
        index_put(along.moved, &along.index, 1, restrided(from, at, from.strides), accumulate);
    };
    const Index count = element_count(index);
    if (count < kChunk || other >= index.ndim) return put(out, index, src);
    const Index piece = std::max<Index>(1, kChunk / 2 / (count / index.sizes[other]));
    parallel_for(index.sizes[other], piece, [&](Index begin, Index end) {
        Index sizes[kMaxDims];
        std::copy_n(index.sizes, index.ndim, sizes);
        sizes[other] = end - begin;
        const auto part = [&](const View& view) {
            const Index bytes = view.strides[other] * begin * static_cast<Index>(item_size(view.dtype));
            return View{static_cast<char*>(view.data) + bytes, view.dtype, view.ndim, sizes, view.strides};
        };
        // The axis that is scattered along keeps the size it has in `out`.
        View to = part(out);
        to.sizes = out.sizes;
        put(to, part(index), part(src));
    });
}

}  // namespace

void gather(const View& out, const View& in, int axis, const View& index) {
    CLEW_CAPTURED_KERNEL(gather, out, in, axis, index);
    const AlongAxis along(out, in, axis, index);
    index_get(out, along.moved, &along.index, 1);
}
std::int64_t gather_checked(const View& out, const View& in, int axis, const View& index) {
    CLEW_KERNEL(-1);
    const AlongAxis along(out, in, axis, index);
    return index_get_checked(out, along.moved, along.index);
}
void index_select(const View& out, const View& in, int axis, const View& index) {
    CLEW_CAPTURED_KERNEL(index_select, out, in, axis, index);
    gather(out, in, axis, index);
}

void scatter(const View& out, int axis, const View& index, const View& src) {
    CLEW_CAPTURED_KERNEL(scatter, out, axis, index, src);
    scatter_along(out, axis, index, src, false);
}
void scatter_fill(const View& out, int axis, const View& index, const void* value) {
    CLEW_KERNEL();
    scatter(out, axis, index, broadcast_element(value, out.dtype, index));
}
void scatter_add(const View& out, int axis, const View& index, const View& src) {
    CLEW_CAPTURED_KERNEL(scatter_add, out, axis, index, src);
    scatter_along(out, axis, index, src, true);
}

void index_copy(const View& out, int axis, const View& index, const View& src) {
    CLEW_CAPTURED_KERNEL(index_copy, out, axis, index, src);
    const AlongAxis along(src, out, axis, index);
    index_put(along.moved, &along.index, 1, src, false);
}
void index_add(const View& out, int axis, const View& index, const View& src) {
    CLEW_CAPTURED_KERNEL(index_add, out, axis, index, src);
    const AlongAxis along(src, out, axis, index);
    index_put(along.moved, &along.index, 1, src, true);
}
void index_fill(const View& out, int axis, const View& index, const void* value) {
    CLEW_KERNEL();
    Index sizes[kMaxDims];
    std::copy_n(out.sizes, out.ndim, sizes);
    sizes[axis] = index.sizes[0];
    index_copy(out, axis, index, {const_cast<void*>(value), out.dtype, out.ndim, sizes, kNoStrides});
}

}  // namespace clew::kernels
