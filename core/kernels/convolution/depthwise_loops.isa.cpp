#include "core/kernels/convolution/depthwise_loops.h"

#include "core/kernels/elementwise/vectors.h"

// Here too a * b + c may be one fused instruction: see conv_loops.isa.cpp.
#ifdef __clang__
#pragma clang fp contract(fast)
#else
#pragma GCC optimize("fp-contract=fast")
#endif

namespace clew::kernels {
namespace {

using Index = std::int64_t;

template <class T>
[[gnu::always_inline]] inline typename VectorOf<T>::type load(const T* from) {
    return *reinterpret_cast<const typename VectorOf<T>::loose*>(from);
}

template <class T>
void gather(const DepthwiseRows<T>& g, T* out, const T* weights, T start) {
    using Vector = typename VectorOf<T>::type;
    for (Index r = 0; r < g.rows; ++r)
        for (Index c = 0; c < g.columns; c += kLanes<T>) {
            const T* from = g.in + r * g.row_step + c;
            Vector sum = Vector{} + start;
            for (Index tap = 0; tap < g.taps; ++tap) sum += load(from + g.offsets[tap]) * weights[tap];
            *reinterpret_cast<typename VectorOf<T>::loose*>(out + r * g.out_stride + c) = sum;
        }
}

template <class T>
void weight_gradient(const DepthwiseRows<T>& g, T* sums, const T* grad) {
    using Vector = typename VectorOf<T>::type;
    for (Index tap = 0; tap < g.taps; ++tap) {
        Vector sum = {};
        for (Index r = 0; r < g.rows; ++r) {
            const T* from = g.in + r * g.row_step + g.offsets[tap];
            for (Index c = 0; c < g.columns; c += kLanes<T>) sum += load(from + c) * load(grad + r * g.out_stride + c);
        }
        T total = 0;
        for (Index i = 0; i < kLanes<T>; ++i) total += sum[i];
        sums[tap] += total;
    }
}

template <class T>
constexpr DepthwiseLoops<T> make_loops() {
    return {static_cast<int>(kLanes<T>), gather<T>, weight_gradient<T>};
}

}  // namespace

CLEW_EXPORT_TABLE(DepthwiseTable, depthwise_loops, {make_loops<float>(), make_loops<double>()});

}  // namespace clew::kernels
