#include "core/kernels/pool_loops.h"

#include "core/kernels/loops.h"

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

}  // namespace

CLEW_EXPORT_TABLE(PoolTable, pool_loops,
                  {
                      {best_of<float, int32_t>, add_to<float>},
                      {best_of<double, int64_t>, add_to<double>},
                  });

}  // namespace clew::kernels
