#include "core/ops/indexing/index_plan.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/tensor/packing.h"

namespace clew {

namespace {

bool is_mask(const Tensor& index) { return index.dtype() == DType::Bool || index.dtype() == DType::UInt8; }

}  // namespace

bool is_whole_mask(const Tensor& x, Tensors given) {
    return given.size() == 1 && given[0] && given[0].dtype() == DType::Bool && x.ndim() > 0 &&
           same_sizes(given[0].sizes(), x.sizes());
}

IndexPlan::IndexPlan(const Tensor& x, Tensors given) : data_(x.data()), dtype_(x.dtype()) {
    place(x, given);
    const Dims shape = broadcast_shape();
    lay_out(x, shape);
    // An index into an axis without elements is wrong even if there is nothing to read; others are only if there is.
    for (std::size_t k = 0; k < held_.size(); ++k) {
        const std::int64_t size = x.size(axes_[k]);
        if (size == 0 && count_elements(shape) != 0)
            fail(ErrorKind::Index, "index is out of bounds for dimension with size 0");
        if (count_elements(sizes_) != 0) check_bounds(held_[k], size, axes_[k], "", kFromEnd);
    }
}

void IndexPlan::place(const Tensor& x, Tensors given) {
    int axis = 0;
    for (const Tensor& index : given) {
        const int spans = index && is_mask(index) ? index.ndim() : 1;
        if (axis + spans > x.ndim()) fail(ErrorKind::Index, "too many indices for tensor of dimension %d", x.ndim());
        if (!index) {
            // a whole axis
        } else if (is_mask(index)) {
            add_mask(x, axis, index);
        } else {
            add_index(x, axis, index);
        }
        axis += spans;
    }
    if (held_.empty()) fail(ErrorKind::Index, "index: expected at least one index tensor, got none");
}

void IndexPlan::add_mask(const Tensor& x, int axis, const Tensor& mask) {
    for (int i = 0; i < mask.ndim(); ++i)
        if (mask.size(i) != x.size(axis + i))
            fail(ErrorKind::Index,
                 "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d",
                 shape_text(mask.sizes()).c_str(), i, shape_text(x.sizes()).c_str(), axis + i);
    if (mask.ndim() == 0)
        fail(ErrorKind::Index, "index: a 0-dim mask can't be used here; unsqueeze the tensor and the mask");
    const std::int64_t chosen = kernels::count_nonzero(mask.view()), axes = mask.ndim();
    const Tensor all = empty({axes, chosen}, DType::Int64);
    const std::int64_t sizes[] = {chosen, axes}, strides[] = {1, chosen};
    if (chosen) kernels::nonzero({all.data(), DType::Int64, 2, sizes, strides}, mask.view());
    for (int i = 0; i < mask.ndim(); ++i) {
        held_.push_back(alias(all, Layout::make(Dims{chosen}), i * chosen));
        axes_.push_back(axis + i);
    }
}

void IndexPlan::add_index(const Tensor& x, int axis, const Tensor& index) {
    if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
        fail(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors, got %s",
             dtype_name(index.dtype()));
    held_.push_back(apart_from(x, converted(index, DType::Int64)));
    axes_.push_back(axis);
}

Dims IndexPlan::broadcast_shape() const {
    Dims shape;
    for (const Tensor& index : held_) {
        const Sizes own = index.sizes();
        while (shape.size() < index.ndim()) shape.insert(0, 1);
        for (int i = 0; i < index.ndim(); ++i) {
            std::int64_t& size = shape[shape.size() - 1 - i];
            const std::int64_t other = own[own.size() - 1 - static_cast<std::size_t>(i)];
            if (size == 1) size = other;
            if (other == 1 || other == size) continue;
            std::string shapes;
            for (const Tensor& each : held_) shapes += (shapes.empty() ? "" : ", ") + shape_text(each.sizes());
            fail(ErrorKind::Index, "shape mismatch: indexing tensors could not be broadcast together with shapes %s",
                 shapes.c_str());
        }
    }
    return shape;
}

void IndexPlan::lay_out(const Tensor& x, const Dims& shape) {
    const bool neighbours = axes_.back() - axes_.front() + 1 == count();
    const int front = neighbours ? axes_.front() : 0;  // where the broadcast shape goes
    front_ = front;
    rank_ = shape.size();
    const auto indexed = [&](int axis) { return std::find(axes_.begin(), axes_.end(), axis) != axes_.end(); };
    for (int axis = 0; axis < x.ndim(); ++axis) {
        if (indexed(axis)) continue;
        sizes_.push_back(x.size(axis));
        strides_.push_back(x.stride(axis));
    }
    for (int i = 0; i < shape.size(); ++i) {
        sizes_.insert(front + i, shape[i]);
        strides_.insert(front + i, 0);
    }
    for (int k = 0; k < count(); ++k) {
        const Tensor& index = held_[static_cast<std::size_t>(k)];
        const int axis = axes_[static_cast<std::size_t>(k)];
        std::fill_n(index_strides_[k], sizes_.size(), 0);
        const int lead = front + shape.size() - index.ndim();
        for (int i = 0; i < index.ndim(); ++i)
            if (index.size(i) != 1) index_strides_[k][lead + i] = index.stride(i);
        indices_[k] = {{index.data(), DType::Int64, sizes_.size(), sizes_.values, index_strides_[k]},
                       x.size(axis),
                       x.stride(axis)};
    }
}

// An index is seen with axes of size 1 before and behind its own, which continue its strides.
Dims IndexPlan::strides_in_result(const Tensor& index) const {
    Dims strides;
    const int lead = front_ + rank_ - index.ndim();
    for (int axis = 0; axis < sizes_.size(); ++axis) {
        const int own = axis - lead;
        const bool inside = own >= 0 && own < index.ndim();
        const bool repeats = sizes_[axis] != 1 && (!inside || index.size(own) == 1);
        if (repeats || index.ndim() == 0)
            strides.push_back(0);
        else if (inside)
            strides.push_back(index.stride(own));
        else
            strides.push_back(own < 0 ? index.size(0) * index.stride(0) : index.stride(index.ndim() - 1));
    }
    return strides;
}

LayoutRef IndexPlan::result_layout() const {
    std::vector<Dims> strides{strides_};
    for (const Tensor& index : held_) strides.push_back(strides_in_result(index));
    return dense_layout(sizes_, strides);
}

}  // namespace clew
