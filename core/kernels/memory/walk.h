// Walks over several views of one shape in row-major order, a row at a time: for kernels that care about order or that
// compute addresses. Where neither matters, elementwise (iterate.h) is faster.
#pragma once
#include <algorithm>
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

inline constexpr int kMaxWalked = kMaxDims + 2;

class Walk {
public:
    Walk(int ndim, const std::int64_t* sizes) : ndim_(ndim) {
        std::copy_n(sizes, ndim, sizes_);
        for (int axis = 0; axis < ndim; ++axis) count_ *= sizes[axis];
    }

    // The views are numbered in the order in which they are added.
    void add(const View& view) {
        const auto bytes = static_cast<std::int64_t>(item_size(view.dtype));
        data_[views_] = static_cast<char*>(view.data);
        for (int axis = 0; axis < ndim_; ++axis) strides_[axis][views_] = view.strides[axis] * bytes;
        ++views_;
    }

    // Joins neighbouring axes that all views step through evenly, so that rows are as long as can be; then there is an
    // axis.
    void merge() {
        int last = -1;  // the axis being grown
        for (int axis = 0; axis < ndim_; ++axis) {
            if (sizes_[axis] == 1) continue;
            if (last >= 0 && continues(last, axis)) {
                sizes_[last] *= sizes_[axis];
            } else {
                ++last;
                sizes_[last] = sizes_[axis];
            }
            std::copy_n(strides_[axis], views_, strides_[last]);
        }
        ndim_ = last + 1;
        if (ndim_ > 0) return;
        sizes_[0] = 1;
        std::fill_n(strides_[0], views_, 0);
        ndim_ = 1;
    }

    // Takes the last axis out of the walk, and gives its size.
    std::int64_t take_last_axis() {
        const std::int64_t size = sizes_[--ndim_];
        count_ = size == 0 ? 0 : count_ / size;
        return size;
    }

    std::int64_t count() const { return count_; }
    int ndim() const { return ndim_; }
    std::int64_t size(int axis) const { return sizes_[axis]; }
    std::int64_t stride(int axis, int view) const { return strides_[axis][view]; }  // in bytes

    // Calls body(addresses, length) for each row, or part of one, of the positions begin ... end; along it, view v
    // steps by stride(ndim() - 1, v).
    template <class Body>
    void run(std::int64_t begin, std::int64_t end, const Body& body) const {
        if (begin >= end) return;
        char* at[kMaxWalked];
        std::copy_n(data_, views_, at);
        if (ndim_ == 0) return body(at, std::int64_t{1});
        std::int64_t place[kMaxDims];
        std::int64_t rest = begin;
        for (int axis = ndim_ - 1; axis >= 0; --axis) {
            place[axis] = rest % sizes_[axis];
            rest /= sizes_[axis];
            step(at, axis, place[axis]);
        }
        const int inner = ndim_ - 1;
        for (std::int64_t left = end - begin;;) {
            const std::int64_t length = std::min(sizes_[inner] - place[inner], left);
            body(static_cast<char* const*>(at), length);
            left -= length;
            if (left == 0) return;
            if (place[inner] != 0) {  // of the first row
                step(at, inner, -place[inner]);
                place[inner] = 0;
            }
            for (int axis = inner - 1;; --axis) {
                step(at, axis, 1);
                if (++place[axis] < sizes_[axis]) break;
                step(at, axis, -sizes_[axis]);
                place[axis] = 0;
            }
        }
    }

private:
    bool continues(int axis, int next) const {
        for (int v = 0; v < views_; ++v)
            if (strides_[axis][v] != strides_[next][v] * sizes_[next]) return false;
        return true;
    }
    void step(char** at, int axis, std::int64_t by) const {
        for (int v = 0; v < views_; ++v) at[v] += by * strides_[axis][v];
    }

    int ndim_;
    int views_ = 0;
    std::int64_t count_ = 1;
    std::int64_t sizes_[kMaxDims];
    std::int64_t strides_[kMaxDims][kMaxWalked];
    char* data_[kMaxWalked];
};

}  // namespace clew::kernels
