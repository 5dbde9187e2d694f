// Operations that only rules and code of ours call get operands that fit each other. A file may give them others
// (core/program/files/check.h), so they look, too.
#pragma once
#include <algorithm>
#include <initializer_list>

#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace clew {

inline void need_fit(const char* op, bool fits) {
    if (!fits) fail(ErrorKind::Value, "%s: expected operands that fit each other", op);
}
// Of parts without a gradient between others: a node has room for the sizes of so many runs of them.
inline void need_few_runs(const char* op, int runs) {
    if (runs > kMaxDims)
        fail(ErrorKind::Runtime,
             "%s: expected at most %d runs of tensors without a gradient between those with one, got %d; join some "
             "first",
             op, kMaxDims, runs);
}
inline bool has_sizes(const Tensor& x, std::initializer_list<std::int64_t> sizes) {
    return same_sizes(x.sizes(), Sizes(sizes.begin(), sizes.size()));
}
inline bool are_sizes(Sizes sizes) {
    return std::ranges::none_of(sizes, [](std::int64_t size) { return size < 0; });
}
inline bool is_like(const Tensor& x, const Tensor& other) {
    return x.dtype() == other.dtype() && same_sizes(x.sizes(), other.sizes());
}
// In memory as kernels read it that are given a pointer.
inline bool is_packed(const Tensor& x, DType dtype, std::int64_t elements) {
    return x && x.dtype() == dtype && x.numel() == elements && x.contiguous();
}
// What a kernel takes for an operand that may be left out.
inline void* data_or_null(const Tensor& x) { return x ? x.data() : nullptr; }
// All that are there have this floating dtype.
inline bool all_floating(DType dtype, std::initializer_list<const Tensor*> tensors) {
    return is_floating(dtype) &&
           std::ranges::all_of(tensors, [dtype](const Tensor* one) { return !*one || one->dtype() == dtype; });
}

}  // namespace clew
