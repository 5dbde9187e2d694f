#include "core/kernels/index_loops.h"

namespace clew::kernels {
namespace {

using Index = std::int64_t;

// Integers are added unsigned, where overflow wraps.
template <class T>
void add(char* const* data, const Index* strides, Index count) {
    T* to = reinterpret_cast<T*>(data[0]);
    const T* from = reinterpret_cast<const T*>(data[1]);
    const Index to_step = strides[0] / static_cast<Index>(sizeof(T)), step = strides[1] / static_cast<Index>(sizeof(T));
    if (to_step == 1 && step == 1) {
#pragma GCC ivdep
        for (Index i = 0; i < count; ++i) to[i] = static_cast<T>(to[i] + from[i]);
    } else {
        for (Index i = 0; i < count; ++i) to[i * to_step] = static_cast<T>(to[i * to_step] + from[i * step]);
    }
}

void add_bool(char* const* data, const Index* strides, Index count) {
    for (Index i = 0; i < count; ++i) data[0][i * strides[0]] |= data[1][i * strides[1]];
}

template <class T>
void masked_fill(char* const* data, const Index* strides, Index count) {
    T* to = reinterpret_cast<T*>(data[0]);
    const unsigned char* mask = reinterpret_cast<const unsigned char*>(data[1]);
    const T value = *reinterpret_cast<const T*>(data[2]);
    const Index to_step = strides[0] / static_cast<Index>(sizeof(T)), step = strides[1];
    if (to_step == 1 && step == 1) {
#pragma GCC ivdep
        for (Index i = 0; i < count; ++i) to[i] = mask[i] ? value : to[i];
    } else {
        for (Index i = 0; i < count; ++i)
            if (mask[i * step]) to[i * to_step] = value;
    }
}

template <class T>
Index count_nonzero(const char* data, Index stride, Index count) {
    const T* from = reinterpret_cast<const T*>(data);
    const Index step = stride / static_cast<Index>(sizeof(T));
    Index total = 0;
    if (step == 1) {
        for (Index i = 0; i < count;) {
            const Index end = i + 4096 < count ? i + 4096 : count;
            std::uint32_t part = 0;  // narrow sums take fewer vectors
            for (; i < end; ++i) part += from[i] != 0;
            total += part;
        }
    } else {
        for (Index i = 0; i < count; ++i) total += from[i * step] != 0;
    }
    return total;
}

}  // namespace

CLEW_EXPORT_TABLE(IndexLoopsTable, index_loops,
                  {{add_bool, add<std::uint8_t>, add<std::uint32_t>, add<std::uint64_t>, add<float>, add<double>},
                   {masked_fill<std::uint8_t>, masked_fill<std::uint32_t>, masked_fill<std::uint64_t>},
                   {count_nonzero<std::uint8_t>, count_nonzero<std::uint8_t>, count_nonzero<std::uint32_t>,
                    count_nonzero<std::uint64_t>, count_nonzero<float>, count_nonzero<double>}});

}  // namespace clew::kernels
