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

#ifdef __F16C__
using Floats = VectorOf<float, 32>::unaligned;
using Halves = VectorOf<int16_t, 16>::unaligned;

CLEW_INLINE VectorOf<float, 32>::type widened(VectorOf<int16_t, 16>::type halves) {
#ifdef __clang__
    typedef _Float16 Numbers __attribute__((vector_size(16)));
    return __builtin_convertvector((Numbers)halves, VectorOf<float, 32>::type);
#else
    return __builtin_ia32_vcvtph2ps256(halves);
#endif
}

void half_to_float(char* const* data, const int64_t* strides, int64_t count) {
    int64_t i = 0;
    if (strides[0] == 4 && strides[1] == 2)
        for (; i + 8 <= count; i += 8) {
            const auto in = *reinterpret_cast<const Halves*>(data[1] + 2 * i);
            *reinterpret_cast<Floats*>(data[0] + 4 * i) = widened(in);
        }
    char* const rest[] = {data[0] + i * strides[0], data[1] + i * strides[1]};
    unary_loop<Cast<float>, float, Float16>(rest, strides, count - i);
}
void float_to_half(char* const* data, const int64_t* strides, int64_t count) {
    int64_t i = 0;
    if (strides[0] == 2 && strides[1] == 4)
        for (; i + 8 <= count; i += 8) {
            const auto in = *reinterpret_cast<const Floats*>(data[1] + 4 * i);
            *reinterpret_cast<Halves*>(data[0] + 2 * i) = __builtin_ia32_vcvtps2ph256(in, 0);  // to the nearest
        }
    char* const rest[] = {data[0] + i * strides[0], data[1] + i * strides[1]};
    unary_loop<Cast<Float16>, Float16, float>(rest, strides, count - i);
}
#else
constexpr Loop half_to_float = unary_loop<Cast<float>, float, Float16>;
constexpr Loop float_to_half = unary_loop<Cast<Float16>, Float16, float>;
#endif

struct RealPart {
    template <class T>
    static CLEW_INLINE T apply(Complex<T> x) {
        return x.real;
    }
};

// Those that are worth a loop; others go by way of what these lead to (copy.h, Note [Conversions]).
template <class From, class To>
constexpr Loop cast_loop = unary_loop<Cast<To>, To, From>;
template <class From>
constexpr Loop to_bool = unary_loop<ToBool, uint8_t, From>;
template <class From>
consteval CastRow real_row(Loop boolean) {
    return {boolean,
            cast_loop<From, uint8_t>,
            cast_loop<From, int32_t>,
            cast_loop<From, int64_t>,
            cast_loop<From, float>,
            cast_loop<From, double>};
}

template <class From, class To>
consteval void join(CopyTable& table, Loop there = cast_loop<From, To>, Loop back = cast_loop<To, From>) {
    table.cast[int(dtype_of<From>::value)].to[int(dtype_of<To>::value)] = there;
    table.cast[int(dtype_of<To>::value)].to[int(dtype_of<From>::value)] = back;
}

consteval CopyTable table() {
    CopyTable made{};
    made.cast[int(DType::Bool)] = real_row<uint8_t>(copy_loop<uint8_t>);
    made.cast[int(DType::UInt8)] = real_row<uint8_t>(to_bool<uint8_t>);
    made.cast[int(DType::Int32)] = real_row<int32_t>(to_bool<int32_t>);
    made.cast[int(DType::Int64)] = real_row<int64_t>(to_bool<int64_t>);
    made.cast[int(DType::Float32)] = real_row<float>(to_bool<float>);
    made.cast[int(DType::Float64)] = real_row<double>(to_bool<double>);
    const Loop copies[] = {copy_loop<uint8_t>, copy_loop<uint16_t>, copy_loop<uint32_t>, copy_loop<uint64_t>,
                           copy_loop<Complex<double>>};
    for (int dtype = 0; dtype < kDTypes; ++dtype) {
        int slot = 0;
        while (1u << slot < item_size(DType(dtype))) ++slot;
        made.cast[dtype].to[dtype] = copies[slot];
    }
    made.cast[int(DType::Bool)].to[int(DType::UInt8)] = copy_loop<uint8_t>;
    made.cast[int(DType::Complex64)].to[int(DType::Bool)] = to_bool<Complex<float>>;
    made.cast[int(DType::Complex128)].to[int(DType::Bool)] = to_bool<Complex<double>>;
    join<Complex<float>, float>(made, unary_loop<RealPart, float, Complex<float>>);
    join<Complex<double>, double>(made, unary_loop<RealPart, double, Complex<double>>);
    join<Complex<float>, Complex<double>>(made);
    join<int8_t, int32_t>(made);
    join<int16_t, int32_t>(made);
    join<Float16, float>(made, half_to_float, float_to_half);
    join<BFloat16, float>(made);
    made.rows = rows;
    made.progression[0] = progression<float>;
    made.progression[1] = progression<double>;
    return made;
}

}  // namespace

CLEW_EXPORT_TABLE(CopyTable, copy_loops, table());

}  // namespace clew::kernels
