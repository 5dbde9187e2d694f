#include "core/kernels/matrix/gemm.h"

#include <algorithm>
#include <cstddef>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/matrix/complex_gemm.h"
#include "core/kernels/matrix/dots.h"
#include "core/kernels/matrix/integer_gemm.h"
#include "core/kernels/matrix/packed_product.h"
#include "core/kernels/matrix/products.h"
#include "core/kernels/matrix/small_gemm.h"
#include "core/kernels/matrix/small_product.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

template <class T>
void small_products(const Products<T>& p) {
    const SmallGemm<T> product = small_gemm().of<T>();
    const SmallGemmShape shape = shape_of(p);
    const Index grain = (1 << 18) / (p.m * p.n * p.k + 64);
    parallel_for(p.count, grain, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) product(shape, p.out[i].data, p.a[i].data, p.b[i].data, p.alpha, p.beta);
    });
}

template <class T>
void packed_products(const Products<T>& p, const T* row, const BlockWork* work) {
    const auto some = [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i)
            packed_product<T>(p.m, p.n, p.k, p.a[i], p.b[i], p.out[i], p.alpha, p.beta, row, work);
    };
    const Index each = p.m * p.n * p.k;
    if (each >= 8 * kTaskWork)
        some(0, p.count);  // each is enough for all threads
    else
        parallel_for(p.count, std::max<Index>(1, kTaskWork / each), some);
}

template <class T>
void thin_products(const Products<T>& p) {
    const auto loops = dots().of<T>();
    const bool by_rows = p.m >= p.n;
    const Index lines = by_rows ? p.m : p.n, work = p.m * p.n * p.k;
    const Index grain = std::max<Index>(16, (Index{1} << 18) / (work / lines)) / 4 * 4;
    const Index parts = parts_of(lines, grain);
    const auto some = [&](Index begin, Index end) {
        for (Index task = begin; task < end; ++task) {
            const Index i = task / parts, line = task % parts * grain, count = std::min(grain, lines - line);
            const T* a = p.a[i].data;
            const T* b = p.b[i].data;
            Matrix<T> out = p.out[i];
            (by_rows ? a : b) += line * (by_rows ? p.a.first.row_stride : p.b.first.column_stride);
            out.data += line * (by_rows ? out.row_stride : out.column_stride);
            loops(by_rows ? count : p.m, by_rows ? p.n : count, p.k, a, p.a.first.row_stride, b,
                  p.b.first.column_stride, out, p.alpha, p.beta);
        }
    };
    parallel_for(p.count * parts, parts > 1 ? 1 : std::max<Index>(1, (Index{1} << 18) / work), some);
}

template <class T>
bool is_packed(const Products<T>& p) {
    return !is_thin(p) && !is_small(p);
}

// `row` and `work` are of one product, whose result lies row by row.
template <class T>
void products(Products<T> p, const T* row, const BlockWork* work) {
    const Index a_rows = p.a.first.row_stride, out_rows = p.out.first.row_stride;
    if (p.count > 1 && p.b.stride == 0 && p.a.stride == p.m * a_rows && p.out.stride == p.m * out_rows) {
        p.m *= p.count;  // one b for all, and the rows of the others follow each other: one tall product
        p.count = 1;
    }
    if (is_packed(p)) {
        if (p.out.first.column_stride != 1 && p.out.first.row_stride == 1) p = p.transposed();
        return packed_products(p, row, work);
    }
    is_thin(p) ? thin_products(p) : small_products(p);
    if (work)
        parallel_for(p.m, std::max<Index>(1, kChunk / p.n),
                     [&](Index begin, Index end) { work->after(begin, end - begin, 0, p.n); });
}

void multiply(const View& out, const View& a, const View& b, Number alpha, Number beta, const void* row = nullptr,
              const BlockWork* work = nullptr) {
    for (int axis = 0; axis < out.ndim; ++axis)
        if (out.sizes[axis] == 0) return;
    if (is_complex(out.dtype)) return complex_gemm(out, a, b, {alpha.real, alpha.imag}, {beta.real, beta.imag});
    if (out.dtype == DType::Float32)
        products(products_of<float>(out, a, b, alpha, beta), static_cast<const float*>(row), work);
    else if (out.dtype == DType::Float64)
        products(products_of<double>(out, a, b, alpha, beta), static_cast<const double*>(row), work);
    else
        integer_gemm(out, a, b, alpha.integer, beta.integer);
}

constexpr auto kProduct = [](const View& out, const View& a, const View& b, const View& row, Number alpha,
                             Number beta) { multiply(out, a, b, alpha, beta, row.data); };
constexpr View kNoRow{nullptr, DType::Float32, 0, nullptr, nullptr};

class ProductCall final : public CallOf<1, decltype(kProduct), View, View, View, View, Number, Number> {
public:
    // `row`, unless it is kNoRow, as with_row() has it.
    ProductCall(const View& out, const View& a, const View& b, const View& row, Number alpha, Number beta)
        : CallOf(out, a, b, row, alpha, beta), small_(out, a, b, alpha, beta) {}
    std::size_t bytes() const override { return sizeof(*this); }
    void run() const override {
        small_ ? small_.run(argument<0>().data, argument<1>().data, argument<2>().data) : CallOf::run();
    }
    CBlock block() const override { return small_ ? small_.block() : CBlock(); }
    unsigned traits() const override { return kMultiplies; }
    std::optional<ProductShape> product() const override {
        const View& out = argument<0>();
        const bool plain = out.dtype == DType::Float32 || out.dtype == DType::Float64;
        if (!plain || out.ndim != 2 || out.strides[1] != 1 || out.strides[0] != out.sizes[1]) return std::nullopt;
        return ProductShape{out.sizes[0], out.sizes[1], static_cast<Index>(item_size(out.dtype))};
    }
    void run_with(const BlockWork& work) const override {
        CLEW_ASSERT_FRAME();
        multiply(argument<0>(), argument<1>(), argument<2>(), argument<4>(), argument<5>(), argument<3>().data, &work);
    }
    std::unique_ptr<KernelCall> with_row(char* row) const override {
        const View &out = argument<0>(), &a = argument<1>(), &b = argument<2>();
        const Number &alpha = argument<4>(), &beta = argument<5>();
        if (!product() || argument<3>().data) return nullptr;
        const bool packs = out.dtype == DType::Float32 ? is_packed(products_of<float>(out, a, b, alpha, beta))
                                                       : is_packed(products_of<double>(out, a, b, alpha, beta));
        if (!packs) return nullptr;
        return std::make_unique<ProductCall>(out, a, b, View{row, out.dtype, 1, out.sizes + 1, out.strides + 1}, alpha,
                                             beta);
    }

private:
    SmallProduct small_;
};

}  // namespace

void bgemm(const View& out, const View& a, const View& b, Number alpha, Number beta) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<ProductCall>(kProduct, out, a, b, kNoRow, alpha, beta)) return;
    multiply(out, a, b, alpha, beta);
}

void gemm(const View& out, const View& a, const View& b, Number alpha, Number beta) { bgemm(out, a, b, alpha, beta); }

}  // namespace clew::kernels
