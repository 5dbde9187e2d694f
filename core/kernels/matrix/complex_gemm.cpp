#include "core/kernels/matrix/complex_gemm.h"

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/matrix/gemm.h"
#include "core/kernels/memory/iterate.h"
#include "core/kernels/memory/parts.h"
#include "core/kernels/memory/scratch.h"

namespace clew::kernels {
namespace {

// out = alpha * (real + i imag) + beta * out
template <class T>
void combine(const View& out, const View& real, const View& imag, Complex<T> alpha, Complex<T> beta) {
    const bool fresh = beta == Complex<T>(0);
    const auto body = [=](char* const* data, const std::int64_t* strides, std::int64_t count) {
        for (std::int64_t i = 0; i < count; ++i) {
            auto& to = *reinterpret_cast<Complex<T>*>(data[0] + i * strides[0]);
            const Complex<T> product(*reinterpret_cast<const T*>(data[1] + i * strides[1]),
                                     *reinterpret_cast<const T*>(data[2] + i * strides[2]));
            to = fresh ? alpha * product : alpha * product + beta * to;
        }
    };
    const View parts[] = {real, imag};
    elementwise(AnyLoop(body), out, parts);
}

}  // namespace

void complex_gemm(const View& out, const View& a, const View& b, Complex<double> alpha, Complex<double> beta) {
    CLEW_KERNEL();
    const DType dtype = real_dtype(out.dtype);
    const std::int64_t count = element_count(out);
    const Scratch memory(static_cast<std::size_t>(2 * count) * item_size(dtype));
    std::int64_t strides[3];
    for (std::int64_t axis = out.ndim - 1, step = 1; axis >= 0; step *= out.sizes[axis--]) strides[axis] = step;
    char* const first = memory.as<char>();
    const View real{first, dtype, out.ndim, out.sizes, strides};
    const View imag{first + count * static_cast<std::int64_t>(item_size(dtype)), dtype, out.ndim, out.sizes, strides};
    const Part ar(a, 0), ai(a, 1), br(b, 0), bi(b, 1);
    constexpr Number kOne{1.0, 1, 0}, kMinusOne{-1.0, -1, 0};
    bgemm(real, *ar, *br);
    bgemm(real, *ai, *bi, kMinusOne, kOne);
    bgemm(imag, *ar, *bi);
    bgemm(imag, *ai, *br, kOne, kOne);
    if (dtype == DType::Float32)
        combine(out, real, imag, Complex<float>(alpha), Complex<float>(beta));
    else
        combine(out, real, imag, alpha, beta);
}

void complex_dot(const View& out, const View& a, const View& b) {
    CLEW_KERNEL();
    const Part ar(a, 0), ai(a, 1), br(b, 0), bi(b, 1);
    const DType dtype = real_dtype(out.dtype);
    const auto dots = [&]<class T>() {
        T parts[4];
        const auto each = [&](T& to, const Part& x, const Part& y) { dot({&to, dtype, 0, nullptr, nullptr}, *x, *y); };
        each(parts[0], ar, br), each(parts[1], ai, bi), each(parts[2], ar, bi), each(parts[3], ai, br);
        *static_cast<Complex<T>*>(out.data) = {parts[0] - parts[1], parts[2] + parts[3]};
    };
    dtype == DType::Float32 ? dots.template operator()<float>() : dots.template operator()<double>();
}

}  // namespace clew::kernels
