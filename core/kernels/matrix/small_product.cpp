#include "core/kernels/matrix/small_product.h"

#include "core/base/frame.h"
#include "core/kernels/matrix/products.h"
#include "core/kernels/matrix/small_gemm.h"

namespace clew::kernels {

SmallProduct::SmallProduct(const View& out, const View& a, const View& b, Number alpha, Number beta) {
    if (out.ndim != 2 || out.sizes[0] == 0 || out.sizes[1] == 0) return;
    if (out.dtype == DType::Float32)
        set<float>(out, a, b, alpha, beta);
    else if (out.dtype == DType::Float64)
        set<double>(out, a, b, alpha, beta);
}

template <class T>
void SmallProduct::set(const View& out, const View& a, const View& b, Number alpha, Number beta) {
    const Products<T> p = products_of<T>(out, a, b, alpha, beta);
    if (is_thin(p) || !is_small(p)) return;
    const auto strides = [](const auto& matrix) { return Strides{matrix.row_stride, matrix.column_stride}; };
    is_double_ = sizeof(T) == sizeof(double);
    m_ = p.m;
    n_ = p.n;
    k_ = p.k;
    out_ = strides(p.out.first);
    a_ = strides(p.a.first);
    b_ = strides(p.b.first);
    alpha_ = alpha.real;
    beta_ = beta.real;
}

template <class T>
void SmallProduct::run_as(void* out, const void* a, const void* b) const {
    CLEW_ASSERT_FRAME();
    small_gemm().of<T>()(m_, n_, k_, {static_cast<const T*>(a), a_.row, a_.column},
                         {static_cast<const T*>(b), b_.row, b_.column}, {static_cast<T*>(out), out_.row, out_.column},
                         static_cast<T>(alpha_), static_cast<T>(beta_));
}
template void SmallProduct::run_as<float>(void*, const void*, const void*) const;
template void SmallProduct::run_as<double>(void*, const void*, const void*) const;

}  // namespace clew::kernels
