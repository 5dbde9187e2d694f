#include "core/kernels/memory/copy_loops.h"

#include "core/kernels/elementwise/wide.h"

namespace clew::kernels {
namespace {

// T is an unsigned integer of the size of the elements. Backwards, and every other one: g++ knows the shuffles for
// these.
template <int kStep, class T>
void copy_steps(char* const* data, int64_t count) {
    T* out = reinterpret_cast<T*>(data[0]);
    const T* in = reinterpret_cast<const T*>(data[1]);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = in[kStep * i];
}

template <class T>
void copy_loop(char* const* data, const int64_t* strides, int64_t count) {
    if (strides[0] == sizeof(T)) {
        if (strides[1] == sizeof(T)) {
            if (data[0] != data[1]) __builtin_memcpy(data[0], data[1], static_cast<uint64_t>(count) * sizeof(T));
            return;
        }
        if (strides[1] == 0) {
            T* out = reinterpret_cast<T*>(data[0]);
            const T value = load<T>(data[1]);
            CLEW_VECTORISE
            for (int64_t i = 0; i < count; ++i) out[i] = value;
            return;
        }
    }
    if (strides[0] == sizeof(T) && strides[1] == -int64_t(sizeof(T))) return copy_steps<-1, T>(data, count);
    if (strides[0] == sizeof(T) && strides[1] == 2 * sizeof(T)) return copy_steps<2, T>(data, count);
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        store<T>(data[0] + i * strides[0], load<T>(data[1] + i * strides[1]));
    }
}

template <class To>
struct Cast {
    template <class From>
    static CLEW_INLINE To apply(From x) {
        return To(x);
    }
};
// Out of range a conversion is undefined in C++; here it is what the x86 instruction gives.
template <>
struct Cast<int64_t> {
    template <class From>
    static CLEW_INLINE int64_t of_float(From x) {
        const bool fits = x >= From(-9223372036854775808.0) && x < From(9223372036854775808.0);
        return fits ? int64_t(x) : int64_t(uint64_t(1) << 63);
    }
    static CLEW_INLINE int64_t apply(float x) { return of_float(x); }
    static CLEW_INLINE int64_t apply(double x) { return of_float(x); }
    template <class From>
    static CLEW_INLINE int64_t apply(From x) {
        return int64_t(x);
    }
};
template <>
struct Cast<int32_t> {
    template <class From>
    static CLEW_INLINE int32_t of_float(From x) {
        const bool fits = x > From(-2147483649.0) && x < From(2147483648.0);
        return fits ? int32_t(x) : int32_t(uint32_t(1) << 31);
    }
    static CLEW_INLINE int32_t apply(float x) { return of_float(x); }
    static CLEW_INLINE int32_t apply(double x) { return of_float(x); }
    template <class From>
    static CLEW_INLINE int32_t apply(From x) {
        return int32_t(x);
    }
};
template <>
struct Cast<uint8_t> {
    static CLEW_INLINE uint8_t apply(float x) { return uint8_t(Cast<int64_t>::apply(x)); }
    static CLEW_INLINE uint8_t apply(double x) { return uint8_t(Cast<int64_t>::apply(x)); }
    template <class From>
    static CLEW_INLINE uint8_t apply(From x) {
        return uint8_t(x);
    }
};
struct ToBool {
    template <class From>
    static CLEW_INLINE uint8_t apply(From x) {
        return x != From(0);
    }
};

// Short rows by overlapping vectors, which a call of memcpy for each would take as long to begin.
void rows(char* out, int64_t out_stride, const char* in, int64_t in_stride, int64_t rows, int64_t bytes) {
    using Vector = VectorOf<uint8_t, kVectorBytes>::unaligned;
    const auto move = [](char* to, const char* from) {
        *reinterpret_cast<Vector*>(to) = *reinterpret_cast<const Vector*>(from);
    };
    if (bytes < kVectorBytes || bytes > 2048) {
        for (int64_t i = 0; i < rows; ++i)
            __builtin_memcpy(out + i * out_stride, in + i * in_stride, static_cast<uint64_t>(bytes));
        return;
    }
    for (int64_t i = 0; i < rows; ++i, out += out_stride, in += in_stride) {
        for (int64_t at = 0; at + kVectorBytes <= bytes; at += kVectorBytes) move(out + at, in + at);
        move(out + bytes - kVectorBytes, in + bytes - kVectorBytes);
    }
}

template <class T>
void progression(void* out, int64_t first, int64_t count, double start, double step) {
    T* to = static_cast<T*>(out);
    constexpr int64_t kPiece = 4096;  // counted in int32, which every level turns into double in vectors
    for (int64_t begin = 0; begin < count; begin += kPiece) {
        const int32_t length = int32_t(count - begin < kPiece ? count - begin : kPiece);
        const double before = double(first + begin);
        for (int32_t i = 0; i < length; ++i) to[begin + i] = T(start + (before + double(i)) * step);
    }
}

#define CLEW_CAST(from, to) unary_loop<Cast<to>, to, from>
#define CLEW_TO_BOOL(from) unary_loop<ToBool, uint8_t, from>

}  // namespace

CLEW_EXPORT_TABLE(CopyTable, copy_loops,
                  {
                      .cast =
                          {
                              {copy_loop<uint8_t>, copy_loop<uint8_t>, CLEW_CAST(uint8_t, int32_t),
                               CLEW_CAST(uint8_t, int64_t), CLEW_CAST(uint8_t, float), CLEW_CAST(uint8_t, double)},
                              {CLEW_TO_BOOL(uint8_t), copy_loop<uint8_t>, CLEW_CAST(uint8_t, int32_t),
                               CLEW_CAST(uint8_t, int64_t), CLEW_CAST(uint8_t, float), CLEW_CAST(uint8_t, double)},
                              {CLEW_TO_BOOL(int32_t), CLEW_CAST(int32_t, uint8_t), copy_loop<uint32_t>,
                               CLEW_CAST(int32_t, int64_t), CLEW_CAST(int32_t, float), CLEW_CAST(int32_t, double)},
                              {CLEW_TO_BOOL(int64_t), CLEW_CAST(int64_t, uint8_t), CLEW_CAST(int64_t, int32_t),
                               copy_loop<uint64_t>, CLEW_CAST(int64_t, float), CLEW_CAST(int64_t, double)},
                              {CLEW_TO_BOOL(float), CLEW_CAST(float, uint8_t), CLEW_CAST(float, int32_t),
                               CLEW_CAST(float, int64_t), copy_loop<uint32_t>, CLEW_CAST(float, double)},
                              {CLEW_TO_BOOL(double), CLEW_CAST(double, uint8_t), CLEW_CAST(double, int32_t),
                               CLEW_CAST(double, int64_t), CLEW_CAST(double, float), copy_loop<uint64_t>},
                          },
                      .rows = rows,
                      .progression = {progression<float>, progression<double>},
                  });

}  // namespace clew::kernels
