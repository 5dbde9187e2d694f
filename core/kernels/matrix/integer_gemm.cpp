#include "core/kernels/matrix/integer_gemm.h"

#include "core/base/error.h"
#include "core/base/frame.h"
#include "core/base/threads.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// Arithmetic is done unsigned: it wraps as PyTorch's does, and is defined.
template <class T>
void product(Index row, const View& out, const View& a, const View& b, T alpha, T beta) {
    const int batched = out.ndim - 2;
    const Index m = out.sizes[batched], n = out.sizes[batched + 1], k = a.sizes[batched + 1];
    const auto start = [&](const View& view) {
        return static_cast<T*>(view.data) + (batched ? row / m * view.strides[0] : 0);
    };
    T* to = start(out) + row % m * out.strides[batched];
    const T* left = start(a) + row % m * a.strides[batched];
    const T* right = start(b);
    const Index step = out.strides[batched + 1], b_row = b.strides[batched], b_column = b.strides[batched + 1];
    for (Index j = 0; j < n; ++j) to[j * step] = beta == 0 ? T{0} : static_cast<T>(to[j * step] * beta);
    for (Index i = 0; i < k; ++i) {
        const T factor = static_cast<T>(alpha * left[i * a.strides[batched + 1]]);
        for (Index j = 0; j < n; ++j)
            to[j * step] = static_cast<T>(to[j * step] + factor * right[i * b_row + j * b_column]);
    }
}

template <class T>
void products(const View& out, const View& a, const View& b, Index alpha, Index beta) {
    const int batched = out.ndim - 2;
    const Index rows = (batched ? out.sizes[0] : 1) * out.sizes[batched];
    const Index work = out.sizes[batched + 1] * a.sizes[batched + 1];
    const T scale = static_cast<T>(alpha), keep = static_cast<T>(beta);
    parallel_for(rows, 1 + (1 << 16) / (work + 1), [&](Index begin, Index end) {
        for (Index row = begin; row < end; ++row) product<T>(row, out, a, b, scale, keep);
    });
}

}  // namespace

void integer_gemm(const View& out, const View& a, const View& b, Index alpha, Index beta) {
    CLEW_KERNEL();
    switch (out.dtype) {
        case DType::UInt8:
            return products<std::uint8_t>(out, a, b, alpha, beta);
        case DType::Int32:
            return products<std::uint32_t>(out, a, b, alpha, beta);
        case DType::Int64:
            return products<std::uint64_t>(out, a, b, alpha, beta);
        default:
            fail(ErrorKind::NotImplemented, "matmul: expected numbers, got %s; cast first", dtype_name(out.dtype));
    }
}

}  // namespace clew::kernels
