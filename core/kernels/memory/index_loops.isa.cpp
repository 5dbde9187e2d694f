#include "core/kernels/memory/index_loops.h"

#include "core/kernels/elementwise/loops.h"

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
        CLEW_VECTORISE
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
        CLEW_VECTORISE
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
            for (; i < end; ++i) part += from[i] != T(0);
            total += part;
        }
    } else {
        for (Index i = 0; i < count; ++i) total += from[i * step] != T(0);
    }
    return total;
}

// Fixed and varying steps: where all are as usual (a gather along the last axis), they are constants.
template <class Step>
inline void each_place(char* const* data, const Index* strides, Index size, Index stride, Index count, Step step,
                       Index item) {
    const bool usual = strides[0] == item && strides[1] == 0 && strides[2] == sizeof(Index);
    if (usual && stride == item) {
        const Index* index = reinterpret_cast<const Index*>(data[2]);
        char *fixed = data[0], *moved = data[1];
        for (Index j = 0; j < count; ++j) {
            const Index place = index[j];
            step(fixed + j * item, moved + (place + (place >> 63 & size)) * item);
        }
        return;
    }
    for (Index j = 0; j < count; ++j) {
        const Index place = *reinterpret_cast<const Index*>(data[2] + j * strides[2]);
        step(data[0] + j * strides[0], data[1] + j * strides[1] + (place + (place >> 63 & size)) * stride);
    }
}
template <class T>
void get(char* const* data, const Index* strides, Index size, Index stride, Index count) {
    each_place(
        data, strides, size, stride, count,
        [](char* fixed, char* moved) { *reinterpret_cast<T*>(fixed) = *reinterpret_cast<const T*>(moved); }, sizeof(T));
}
template <class T>
void put(char* const* data, const Index* strides, Index size, Index stride, Index count) {
    each_place(
        data, strides, size, stride, count,
        [](char* fixed, char* moved) { *reinterpret_cast<T*>(moved) = *reinterpret_cast<const T*>(fixed); }, sizeof(T));
}
template <class T>
void put_add(char* const* data, const Index* strides, Index size, Index stride, Index count) {
    each_place(
        data, strides, size, stride, count,
        [](char* fixed, char* moved) {
            T& to = *reinterpret_cast<T*>(moved);
            to = static_cast<T>(to + *reinterpret_cast<const T*>(fixed));
        },
        sizeof(T));
}
void put_or(char* const* data, const Index* strides, Index size, Index stride, Index count) {
    each_place(data, strides, size, stride, count, [](char* fixed, char* moved) { *moved |= *fixed; }, 1);
}

bool in_bounds(const char* data, Index stride, Index count, std::uint64_t shift, std::uint64_t limit) {
    std::uint64_t outside = 0;
    if (stride == sizeof(Index)) {
        const Index* index = reinterpret_cast<const Index*>(data);
        for (Index i = 0; i < count; ++i) outside |= static_cast<std::uint64_t>(index[i]) + shift >= limit ? 1 : 0;
    } else {
        for (Index i = 0; i < count; ++i)
            outside |= *reinterpret_cast<const std::uint64_t*>(data + i * stride) + shift >= limit ? 1 : 0;
    }
    return outside == 0;
}

}  // namespace

// In the order of the list of dtypes, which is that of the table.
#define CLEW_SIZES(function)                                                                            \
    {function<std::uint8_t>, function<std::uint16_t>, function<std::uint32_t>, function<std::uint64_t>, \
     function<Complex<double>>}
#define CLEW_ADDED(function, boolean) \
    {boolean,                         \
     function<std::uint8_t>,          \
     function<std::uint32_t>,         \
     function<std::uint64_t>,         \
     function<float>,                 \
     function<double>,                \
     function<Complex<float>>,        \
     function<Complex<double>>,       \
     function<std::uint8_t>,          \
     function<std::uint16_t>,         \
     function<Float16>,               \
     function<BFloat16>}

CLEW_EXPORT_TABLE(IndexLoopsTable, index_loops,
                  {
                      .add = CLEW_ADDED(add, add_bool),
                      .masked_fill = CLEW_SIZES(masked_fill),
                      .count_nonzero = CLEW_ADDED(count_nonzero, count_nonzero<std::uint8_t>),
                      .in_bounds = in_bounds,
                      .get = CLEW_SIZES(get),
                      .put = CLEW_SIZES(put),
                      .put_add = CLEW_ADDED(put_add, put_or),
                  });

}  // namespace clew::kernels
