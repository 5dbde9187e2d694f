// Copies, casts and fills.
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

// Note [Conversions]
// Between any two dtypes there is a path of at most four loops: a storage type by way of its compute dtype, a real
// dtype to and from a complex one by way of the dtype of its parts. One loop does it for most pairs.
struct Conversion {
    Loop loops[4];
    std::int64_t sizes[4];  // of the elements that each loop writes
    int count = 0;
    Conversion() = default;
    Conversion(DType from, DType to);
    // At most kConverted elements; strides in bytes.
    void run(char* to, std::int64_t to_stride, const char* from, std::int64_t from_stride, std::int64_t count) const;
};
inline constexpr std::int64_t kConverted = 256;

// `in` has the sizes of `out` (stride 0 along broadcast axes) and may have another dtype. Floating to integer truncates
// toward zero; NaN and what is out of range become the least int32 or int64; uint8 is the low byte of int64, int8 and
// int16 the low bytes of int32 or int64. To bool: nonzero. Of a complex number only the real part becomes a real one.
void copy(const View& out, const View& in);

void fill(const View& out, double value);
void fill(const View& out, Complex<double> value);
void fill(const View& out, std::int64_t value);

// out[i] = start + i * step; `out` has one axis.
void arange(const View& out, double start, double step);
void arange(const View& out, std::int64_t start, std::int64_t step);

// out[0] = start ... out[last] = stop exactly, counted from the nearer end as PyTorch does.
void linspace(const View& out, double start, double stop);

}  // namespace clew::kernels
