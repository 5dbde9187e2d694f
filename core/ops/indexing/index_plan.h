// x[i, :, mask]: how tensors as indices are made into what the index kernels take.
//
// Note [Advanced indexing]
// `given` has an entry for each axis of x, from the first on: an index, or an empty handle for a whole axis. A mask
// stands for as many axes as it has, and becomes one index for each of them. All indices are broadcast to one shape B.
// In the result, B stands where the indexed axes stood if these are neighbours, else in front; the whole axes keep
// their order.
#pragma once
#include <vector>

#include "core/ops/indexing/index_support.h"

namespace clew {

class IndexPlan {
public:
    // Fails, with an IndexError, on what does not fit or is out of range.
    IndexPlan(const Tensor& x, Tensors given);
    IndexPlan(const IndexPlan&) = delete;

    const Dims& sizes() const { return sizes_; }  // of the result
    LayoutRef result_layout() const;              // x decides, then the indices: Note [The layout of results]
    kernels::View moved() const {
        return {data_, dtype_, sizes_.size(), sizes_.values, strides_.values};
    }  // x, in that shape
    const kernels::AxisIndex* indices() const { return indices_; }
    int count() const { return static_cast<int>(held_.size()); }

private:
    void place(const Tensor& x, Tensors given);
    void add_mask(const Tensor& x, int axis, const Tensor& mask);
    void add_index(const Tensor& x, int axis, const Tensor& index);
    Dims broadcast_shape() const;
    void lay_out(const Tensor& x, const Dims& shape);
    Dims strides_in_result(const Tensor& index) const;

    void* data_;
    DType dtype_;
    Dims sizes_, strides_;
    int front_ = 0, rank_ = 0;  // of the axes that the indices have together
    std::vector<Tensor> held_;  // int64, one for each indexed axis
    std::vector<int> axes_;     // which axis that is
    kernels::AxisIndex indices_[kMaxDims];
    std::int64_t index_strides_[kMaxDims][kMaxDims];
};

// Is it one mask, over all of x?
bool is_whole_mask(const Tensor& x, Tensors given);

}  // namespace clew
