#include <algorithm>
#include <vector>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/matrix/complex_gemm.h"
#include "core/kernels/matrix/dots.h"
#include "core/kernels/matrix/gemm.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

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
    constexpr Index chunk = 1 << 16;
    const auto loops = dots().of<T>();
    const auto part = [&](Index begin, Index end) {
        T sum = 0;
        if (a_step == 1 && b_step == 1)
            loops(1, 1, end - begin, left + begin, 0, right + begin, 0, {&sum, 1, 1}, T(1), T(0));
        else
            sum = plain_dot(end - begin, left + begin * a_step, a_step, right + begin * b_step, b_step);
        return sum;
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

}  // namespace

void gemv(const View& out, const View& a, const View& x, Number alpha, Number beta) {
    CLEW_CAPTURED_KERNEL(gemv, out, a, x, alpha, beta);
    const Index m = a.sizes[0], k = a.sizes[1];
    const Index out_sizes[] = {m, 1}, out_strides[] = {out.strides[0], 1};
    const Index x_sizes[] = {k, 1}, x_strides[] = {x.strides[0], 1};
    gemm({out.data, out.dtype, 2, out_sizes, out_strides}, a, {x.data, x.dtype, 2, x_sizes, x_strides}, alpha, beta);
}

void dot(const View& out, const View& a, const View& b) {
    CLEW_CAPTURED_KERNEL(dot, out, a, b);
    if (is_complex(out.dtype)) return complex_dot(out, a, b);
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
