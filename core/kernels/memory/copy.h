// Copies, casts and fills.
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

// `in` has the sizes of `out` (stride 0 along broadcast axes) and may have another dtype. Floating to integer truncates
// toward zero; NaN and what is out of range become the least int32 or int64; uint8 is the low byte of int64. To bool:
// nonzero.
void copy(const View& out, const View& in);

void fill(const View& out, double value);
void fill(const View& out, std::int64_t value);

// out[i] = start + i * step; `out` has one axis.
void arange(const View& out, double start, double step);
void arange(const View& out, std::int64_t start, std::int64_t step);

// out[0] = start ... out[last] = stop exactly, counted from the nearer end as PyTorch does.
void linspace(const View& out, double start, double stop);

}  // namespace clew::kernels
