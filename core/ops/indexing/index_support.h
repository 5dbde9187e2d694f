// What operations that read and write at computed places share: checks, and tensors as their kernels want them.
#pragma once
#include "core/base/error.h"
#include "core/kernels/memory/index.h"
#include "core/ops/elementwise/elementwise.h"

namespace clew {

// The index as int64, without history; fails for what is no int64 or int32.
Tensor checked_index(const Tensor& index, const char* op);
// The same of gather and scatter, where an index without elements may have any dtype.
Tensor checked_places(const Tensor& index, const char* op);
// Fails if an index is outside [0, size), or with kFromEnd outside [-size, size).
enum Negative { kRefused, kFromEnd };
void check_bounds(const Tensor& index, std::int64_t size, int axis, const char* op, Negative negative = kRefused,
                  ErrorKind kind = ErrorKind::Index);
// The same once the position of the first such index is known, which is negative if there is none.
void fail_out_of_bounds(const kernels::View& index, std::int64_t position, std::int64_t size, int axis, const char* op,
                        ErrorKind kind);
// What an operation that changes some places of self writes to: its destination, or a copy of self that becomes its
// result: then it gives true.
enum class Lies { RowMajor, AsSelf };
bool start_from(const Tensor& self, Tensor& out, Lies how = Lies::RowMajor);
// `source`, or a copy of it if it shares memory with what is about to be written.
Tensor apart_from(const Tensor& out, const Tensor& source);
// Where index may not be larger than self: everywhere but along the axis.
void check_index_shape(const Tensor& index, const Tensor& self, int axis, const char* op);
// 1, 2, 3 ... in this shape.
Tensor numbered(Sizes sizes);
void check_mask(const Tensor& mask, const char* op);

// A tensor as a view with at least one axis.
class AtLeast1 {
public:
    AtLeast1(const Tensor& x) : view_(x.view()) {
        if (view_.ndim == 0) view_ = {x.data(), x.dtype(), 1, &one_, &one_};
    }
    operator const kernels::View&() const { return view_; }
    const kernels::View& operator*() const { return view_; }

private:
    static constexpr std::int64_t one_ = 1;
    kernels::View view_;
};

// A tensor seen in a shape that it broadcasts to.
class BroadcastView {
public:
    BroadcastView(const Tensor& x, Sizes sizes) {
        const int ndim = static_cast<int>(sizes.size()), lead = ndim - x.ndim();
        for (int i = 0; i < ndim; ++i) strides_[i] = i < lead || x.size(i - lead) == 1 ? 0 : x.stride(i - lead);
        view_ = {x.data(), x.dtype(), ndim, sizes.data(), strides_};
    }
    BroadcastView(const BroadcastView&) = delete;
    operator const kernels::View&() const { return view_; }

private:
    std::int64_t strides_[kMaxDims];
    kernels::View view_;
};

}  // namespace clew
