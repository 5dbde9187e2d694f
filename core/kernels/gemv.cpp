#include <algorithm>
#include <climits>
#include <vector>

#include "core/base/threads.h"
#include "core/kernels/blas.h"
#include "core/kernels/gemm.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// Below this many terms a plain loop is done before a BLAS has looked at its arguments; and a BLAS wants positive
// 32-bit steps.
constexpr Index kPlain = 32;
bool blas_takes(Index step, Index size) { return size == 1 || (step >= 1 && step <= INT_MAX); }
int blas_step(Index step, Index size) { return size == 1 ? 1 : static_cast<int>(step); }

template <class T>
T plain_dot(Index count, const T* a, Index a_step, const T* b, Index b_step) {
    T sum = 0;
    for (Index i = 0; i < count; ++i) sum = static_cast<T>(sum + a[i * a_step] * b[i * b_step]);
    return sum;
}

template <class T>
void floating_dot(const View& out, const View& a, const View& b) {
    const Index count = a.sizes[0], a_step = a.strides[0], b_step = b.strides[0];
    const T* left = static_cast<const T*>(a.data);
    const T* right = static_cast<const T*>(b.data);
    T& result = *static_cast<T*>(out.data);
    if (count <= kPlain || !blas_takes(a_step, count) || !blas_takes(b_step, count)) {
        result = plain_dot(count, left, a_step, right, b_step);
        return;
    }
    constexpr Index chunk = 1 << 16;
    const auto dot = blas().of<T>().dot;
    const auto part = [&](Index begin, Index end) {
        return dot(static_cast<int>(end - begin), left + begin * a_step, static_cast<int>(a_step),
                   right + begin * b_step, static_cast<int>(b_step));
    };
    if (count <= chunk) {
        result = part(0, count);
        return;
    }
    std::vector<T> parts(static_cast<std::size_t>((count + chunk - 1) / chunk));
    parallel_for(count, chunk,
                 [&](Index begin, Index end) { parts[static_cast<std::size_t>(begin / chunk)] = part(begin, end); });
    double sum = 0;
    for (T each : parts) sum += each;
    result = static_cast<T>(sum);
}

template <class T>
void integer_dot(const View& out, const View& a, const View& b) {
    *static_cast<T*>(out.data) =
        plain_dot(a.sizes[0], static_cast<const T*>(a.data), a.strides[0], static_cast<const T*>(b.data), b.strides[0]);
}

// False when the strides are not for a BLAS.
template <class T>
bool blas_gemv(const View& out, const View& a, const View& x, T alpha, T beta) {
    const Index m = a.sizes[0], k = a.sizes[1], row = a.strides[0], column = a.strides[1];
    const bool by_rows = (column == 1 || k == 1) && (row >= k || m == 1);
    const bool by_columns = (row == 1 || m == 1) && (column >= m || k == 1);
    const Index leading = by_rows ? (m == 1 ? k : row) : (k == 1 ? m : column);
    if (!(by_rows || by_columns) || std::max({leading, m, k}) > INT_MAX) return false;
    if (!blas_takes(out.strides[0], m) || !blas_takes(x.strides[0], k)) return false;
    const auto gemv = blas().of<T>().gemv;
    const Index grain = std::max<Index>(64, (1 << 18) / k);
    parallel_for(m, grain, [&](Index begin, Index end) {
        const T* part = static_cast<const T*>(a.data) + begin * row;
        T* to = static_cast<T*>(out.data) + begin * out.strides[0];
        const int count = static_cast<int>(end - begin), terms = static_cast<int>(k);
        if (beta == 0)  // some builds multiply what was there by 0, and NaN stays NaN
            for (Index i = 0; i < count; ++i) to[i * out.strides[0]] = 0;
        gemv(kRowMajor, by_rows ? kNoTranspose : kTranspose, by_rows ? count : terms, by_rows ? terms : count, alpha,
             part, static_cast<int>(leading), static_cast<const T*>(x.data), blas_step(x.strides[0], k), beta, to,
             blas_step(out.strides[0], m));
    });
    return true;
}

}  // namespace

void gemv(const View& out, const View& a, const View& x, double alpha, double beta) {
    const Index m = a.sizes[0], k = a.sizes[1];
    if (is_floating(out.dtype) && m * k > kPlain * kPlain) {
        const bool done = out.dtype == DType::Float32
                              ? blas_gemv<float>(out, a, x, static_cast<float>(alpha), static_cast<float>(beta))
                              : blas_gemv<double>(out, a, x, alpha, beta);
        if (done) return;
    }
    const Index out_sizes[] = {m, 1}, out_strides[] = {out.strides[0], 1};
    const Index x_sizes[] = {k, 1}, x_strides[] = {x.strides[0], 1};
    gemm({out.data, out.dtype, 2, out_sizes, out_strides}, a, {x.data, x.dtype, 2, x_sizes, x_strides}, alpha, beta);
}

void dot(const View& out, const View& a, const View& b) {
    switch (out.dtype) {
        case DType::Float32:
            return floating_dot<float>(out, a, b);
        case DType::Float64:
            return floating_dot<double>(out, a, b);
        case DType::Int32:
            return integer_dot<std::uint32_t>(out, a, b);
        case DType::Int64:
            return integer_dot<std::uint64_t>(out, a, b);
        default:
            return integer_dot<std::uint8_t>(out, a, b);
    }
}

}  // namespace clew::kernels
