#include "core/ops/indexing/index_support.h"

#include "core/kernels/capture.h"
#include "core/kernels/memory/copy.h"
#include "core/ops/functions.h"
#include "core/tensor/packing.h"

namespace clew {
namespace {

void need_bounds(const kernels::View& index, std::int64_t size, int axis, const char* op, Negative negative,
                 ErrorKind kind) {
    CLEW_CAPTURED_CHECKING(0, need_bounds, index, size, axis, op, negative, kind);
    fail_out_of_bounds(index, kernels::check_bounds(index, size, negative == kFromEnd), size, axis, op, kind);
}

}  // namespace

Tensor checked_index(const Tensor& index, const char* op) {
    if (index.dtype() != DType::Int64 && index.dtype() != DType::Int32)
        fail(ErrorKind::Runtime, "%s(): Expected dtype int32/int64 for index, got %s; cast it", op,
             dtype_name(index.dtype()));
    return converted(index, DType::Int64);
}

Tensor checked_places(const Tensor& index, const char* op) {
    return index.numel() == 0 ? converted(index, DType::Int64) : checked_index(index, op);
}

void check_bounds(const Tensor& index, std::int64_t size, int axis, const char* op, Negative negative, ErrorKind kind) {
    if (index.numel() != 0) need_bounds(index.view(), size, axis, op, negative, kind);
}

void fail_out_of_bounds(const kernels::View& index, std::int64_t position, std::int64_t size, int axis, const char* op,
                        ErrorKind kind) {
    if (position < 0) return;
    std::int64_t rest = position;
    const auto* place = static_cast<const std::int64_t*>(index.data);
    for (int i = index.ndim - 1; i >= 0; --i) {
        place += rest % index.sizes[i] * index.strides[i];
        rest /= index.sizes[i];
    }
    fail(kind, "%s%sindex %lld is out of bounds for dimension %d with size %lld", op, *op ? ": " : "",
         static_cast<long long>(*place), axis, static_cast<long long>(size));
}

bool start_from(const Tensor& self, Tensor& out, Lies how) {
    if (out) return false;
    out = empty(how == Lies::AsSelf ? like_layout(self) : Layout::make(self.sizes()), self.dtype());
    kernels::copy(out.view(), self.view());
    return true;
}

Tensor apart_from(const Tensor& out, const Tensor& source) {
    if (kernel_mode == KernelMode::Capture) note_uncaptured();  // next time they may lie elsewhere
    if (source->storage != out->storage) return source;
    Tensor copy;
    start_from(source, copy);
    return copy;
}

Tensor numbered(Sizes sizes) {
    const Tensor counted = cumsum(ones(Dims{count_elements(sizes)}, DType::Int64), 0);
    return reshape(counted, sizes);
}

void check_mask(const Tensor& mask, const char* op) {
    if (mask.dtype() != DType::Bool)
        fail(ErrorKind::Runtime,
             "%s only supports boolean masks, but got mask with dtype %s; compare it with a number first", op,
             dtype_name(mask.dtype()));
}

void check_index_shape(const Tensor& index, const Tensor& self, int axis, const char* op) {
    if (std::max(index.ndim(), 1) != std::max(self.ndim(), 1))
        fail(ErrorKind::Runtime,
             "%s: Index tensor must have the same number of dimensions as self tensor, got shapes %s and %s", op,
             shape_text(index.sizes()).c_str(), shape_text(self.sizes()).c_str());
    if (index.ndim() == 0 || self.ndim() == 0) return;
    for (int i = 0; i < index.ndim(); ++i)
        if (i != axis && index.size(i) > self.size(i))
            fail(ErrorKind::Runtime,
                 "%s: Size does not match at dimension %d expected index %s to be no larger than self %s apart from "
                 "dimension %d",
                 op, i, shape_text(index.sizes()).c_str(), shape_text(self.sizes()).c_str(), axis);
}

}  // namespace clew
