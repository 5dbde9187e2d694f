#include "core/kernels/layers/pool_loops.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

template <class T, class Place>
CLEW_INLINE void best_with_stride(T* best, Place* places, const T* in, Place place, int64_t stride, int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        const T value = in[i * stride];
        const bool better = (value > best[i]) | (value != value);  // the last NaN stays
        places[i] = better ? place + Place(i * stride) : places[i];
        best[i] = better ? value : best[i];
    }
}
template <class T, class Place>
void best_of(T* best, Place* places, const T* in, Place place, int64_t stride, int64_t count) {
    if (stride == 1)
        best_with_stride(best, places, in, place, 1, count);
    else if (stride == 2)
        best_with_stride(best, places, in, place, 2, count);
    else
        best_with_stride(best, places, in, place, stride, count);
}

template <class T>
CLEW_INLINE void add_with_stride(T* sums, const T* in, int64_t stride, int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) sums[i] += in[i * stride];
}
template <class T>
void add_to(T* sums, const T* in, int64_t stride, int64_t count) {
    if (stride == 1)
        add_with_stride(sums, in, 1, count);
    else if (stride == 2)
        add_with_stride(sums, in, 2, count);
    else
        add_with_stride(sums, in, stride, count);
}

template <int kSize, int kStride, class T, class Place>
void best_of_windows(T* best, int64_t* places, const T* in, Place place, int64_t width, int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        const T* window = in + i * kStride;
        T largest = window[0];
        Place found = 0;
#pragma GCC unroll 9
        for (int k = 1; k < kSize * kSize; ++k) {
            const T value = window[k / kSize * width + k % kSize];
            const bool better = (value > largest) | (value != value);
            found = better ? Place(k / kSize * width + k % kSize) : found;
            largest = better ? value : largest;
        }
        best[i] = largest;
        places[i] = place + Place(i * kStride) + found;
    }
}
template <int kSize, int kStride, class T>
void sum_of_windows(T* sums, const T* in, int64_t width, int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        const T* window = in + i * kStride;
        T sum = window[0];
#pragma GCC unroll 9
        for (int k = 1; k < kSize * kSize; ++k) sum += window[k / kSize * width + k % kSize];
        sums[i] = sum;
    }
}
template <class T>
void divide(T* sums, T divisor, const T* divisors, int64_t count) {
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) sums[i] /= divisor * divisors[i];
}

template <class T, class Place>
constexpr PoolLoops<T, Place> make_loops() {
    return {best_of<T, Place>,
            add_to<T>,
            {{best_of_windows<2, 1, T, Place>, best_of_windows<2, 2, T, Place>, best_of_windows<2, 3, T, Place>},
             {best_of_windows<3, 1, T, Place>, best_of_windows<3, 2, T, Place>, best_of_windows<3, 3, T, Place>}},
            {{sum_of_windows<2, 1, T>, sum_of_windows<2, 2, T>, sum_of_windows<2, 3, T>},
             {sum_of_windows<3, 1, T>, sum_of_windows<3, 2, T>, sum_of_windows<3, 3, T>}},
            divide<T>};
}

}  // namespace

CLEW_EXPORT_TABLE(PoolTable, pool_loops, {make_loops<float, int32_t>(), make_loops<double, int64_t>()});

}  // namespace clew::kernels
