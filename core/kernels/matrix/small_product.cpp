#include "core/kernels/matrix/small_product.h"

#include "core/base/error.h"
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
    is_double_ = sizeof(T) == sizeof(double);
    shape_ = shape_of(p);
    alpha_ = alpha.real;
    beta_ = beta.real;
}

template <class T>
void SmallProduct::run_as(void* out, const void* a, const void* b) const {
    CLEW_ASSERT_FRAME();
    small_gemm().of<T>()(shape_, static_cast<T*>(out), static_cast<const T*>(a), static_cast<const T*>(b),
                         static_cast<T>(alpha_), static_cast<T>(beta_));
}
template void SmallProduct::run_as<float>(void*, const void*, const void*) const;
template void SmallProduct::run_as<double>(void*, const void*, const void*) const;

// The loops of Note [Small matrix products] in short: an element's sum starts at zero and runs over k in order.
CBlock SmallProduct::block() const {
    constexpr std::int64_t kMostWork = 4096;
    const auto [m, n, k, a, b, out] = shape_;
    const bool plain = alpha_ == 1 && (beta_ == 0 || beta_ == 1);
    if (m * n * k > kMostWork || k > kShortSum || k == 0 || !plain) return {};
    const char* const type = is_double_ ? "double" : "float";
    const auto number = [](std::int64_t value) { return static_cast<long long>(value); };
    std::string text = format("const %s *a = $1, *b = $2;\n%s* __restrict o = $0;\n", type, type);
    text += format("for (int i = 0; i < %lld; ++i) {\n%s s[%lld];\n", number(m), type, number(n));
    text += format("for (int j = 0; j < %lld; ++j) s[j] = 0;\n", number(n));
    text += format("for (int q = 0; q < %lld; ++q)\nfor (int j = 0; j < %lld; ++j)\n", number(k), number(n));
    text += format("s[j] = FMA%d(b[q * %lld + j * %lld], a[i * %lld + q * %lld], s[j]);\n", is_double_ ? 64 : 32,
                   number(b.row), number(b.column), number(a.row), number(a.column));
    text += format("for (int j = 0; j < %lld; ++j) o[i * %lld + j * %lld] %s s[j];\n}\n", number(n), number(out.row),
                   number(out.column), beta_ == 0 ? "=" : "+=");
    return {text, is_double_};
}

}  // namespace clew::kernels
