#include <algorithm>
#include <vector>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/capture.h"
#include "core/kernels/matrix/complex_gemm.h"
#include "core/kernels/matrix/dots.h"
#include "core/kernels/matrix/gemm.h"
#include "core/kernels/matrix/small_product.h"
#include "core/kernels/matrix/transposed_product.h"
#include "core/kernels/memory/copy.h"

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

// A vector as a matrix of one column.
struct Column {
    Index sizes[2], strides[2];
    View view;
    explicit Column(const View& x)
        : sizes{x.sizes[0], 1}, strides{x.strides[0], 1}, view{x.data, x.dtype, 2, sizes, strides} {}
};

constexpr auto kProduct = [](const View& out, const View& a, const View& x, Number alpha, Number beta) {
    gemm(Column(out).view, a, Column(x).view, alpha, beta);
};
constexpr auto kCopy = [](const View& to, const View& from) { copy(to, from); };

class ProductCall final : public CallOf<1, decltype(kProduct), View, View, View, Number, Number>,
                          public TransposingProduct {
public:
    ProductCall(const View& out, const View& a, const View& x, Number alpha, Number beta)
        : CallOf(out, a, x, alpha, beta), small_(Column(out).view, a, Column(x).view, alpha, beta) {}
    std::size_t bytes() const override { return sizeof(*this); }
    void run() const override {
        small_ ? small_.run(argument<0>().data, argument<1>().data, argument<2>().data) : CallOf::run();
    }

    const TransposingProduct* transposing() const override { return transposed() ? this : nullptr; }
    unsigned traits() const override { return kTransposes; }
    // Fewer rows are not transposed, longer ones in parts, whose sums are added.
    const View* transposed() const override {
        constexpr Index kFewest = 16, kLongest = 64, kSmall = 4096;
        const View& a = argument<1>();
        const Index m = a.sizes[0], k = a.sizes[1];
        const bool plain = a.dtype == DType::Float32 || a.dtype == DType::Float64;
        const bool transposes = plain && a.strides[1] == 1 && a.strides[0] >= k && k > 1;
        return transposes && m >= kFewest && k <= kLongest && m * k <= kSmall ? &a : nullptr;
    }
    std::unique_ptr<KernelCall> transpose(char* to) const override {
        return std::make_unique<CallOf<1, decltype(kCopy), View, View>>(Transposed(argument<1>(), to).view,
                                                                        argument<1>());
    }
    std::unique_ptr<KernelCall> with_transposed(char* from) const override {
        return std::make_unique<ProductCall>(argument<0>(), Transposed(argument<1>(), from).view, argument<2>(),
                                             argument<3>(), argument<4>());
    }

private:
    struct Transposed {
        Index strides[2];
        View view;
        Transposed(const View& a, char* data) : strides{1, a.sizes[0]}, view{data, a.dtype, 2, a.sizes, strides} {}
    };
    SmallProduct small_;
};

}  // namespace

void gemv(const View& out, const View& a, const View& x, Number alpha, Number beta) {
    CLEW_ASSERT_FRAME();
    if (kernel_mode != KernelMode::Run) [[unlikely]]
        if (detour_as<ProductCall>(kProduct, out, a, x, alpha, beta)) return;
    kProduct(out, a, x, alpha, beta);
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
