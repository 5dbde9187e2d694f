// Matrix products that are large enough for Note [Packed panels].
#pragma once
#include "core/kernels/capture.h"
#include "core/kernels/matrix/matrix.h"

namespace clew::kernels {

inline std::int64_t parts_of(std::int64_t size, std::int64_t most) { return (size + most - 1) / most; }
inline constexpr std::int64_t kTaskWork = std::int64_t{1} << 20;  // multiplications that are worth another thread

// out (m x n) = alpha * a @ b + beta * out, for float and double. If they are not null: with `row` added to each row in
// place of what was there, where out lies row by row, and with `work` after its blocks.
template <class T>
void packed_product(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix<const T>& a, const Matrix<const T>& b,
                    const Matrix<T>& out, T alpha, T beta, const T* row, const BlockWork* work);

}  // namespace clew::kernels
