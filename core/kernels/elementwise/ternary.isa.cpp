#include "core/kernels/elementwise/ternary.h"

#include "core/kernels/elementwise/loops.h"

namespace clew::kernels {
namespace {

// A step of 0 is that of one element for all. Both are read: a load under a condition would be masked.
template <class T, int step_a, int step_b>
void where_packed(T* out, const uint8_t* condition, const T* a, const T* b, int64_t count) {
    const T all_a = *a, all_b = *b;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) {
        const T x = step_a ? a[i] : all_a, y = step_b ? b[i] : all_b;
        out[i] = condition[i] != 0 ? x : y;
    }
}

// T is an unsigned integer of the size of the elements, which are only moved.
template <class T>
void where_loop(char* const* data, const int64_t* strides, int64_t count) {
    const auto packed_or_one = [&](int i) { return strides[i] == sizeof(T) || strides[i] == 0; };
    if (count && strides[0] == sizeof(T) && strides[1] == 1 && packed_or_one(2) && packed_or_one(3)) {
        constexpr auto run = [](int a, int b) {
            return a ? (b ? where_packed<T, 1, 1> : where_packed<T, 1, 0>)
                     : (b ? where_packed<T, 0, 1> : where_packed<T, 0, 0>);
        };
        run(strides[2] != 0, strides[3] != 0)(reinterpret_cast<T*>(data[0]), reinterpret_cast<const uint8_t*>(data[1]),
                                              reinterpret_cast<const T*>(data[2]), reinterpret_cast<const T*>(data[3]),
                                              count);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        const int chosen = load<uint8_t>(data[1] + i * strides[1]) != 0 ? 2 : 3;
        store<T>(data[0] + i * strides[0], load<T>(data[chosen] + i * strides[chosen]));
    }
}

template <class Op, class T>
void ternary_block(T* out, const T* const* inputs, int64_t count, const Number*) {
    const T *a = inputs[0], *b = inputs[1], *c = inputs[2];
    count &= -kPadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = Op::apply(a[i], b[i], c[i]);
}
template <class Op, class T>
void ternary_loop(char* const* data, const int64_t* strides, int64_t count) {
    in_blocks<T, 3>(ternary_block<Op, T>, data, strides, count, nullptr);
}

struct Clamp {
    template <class T>
    static CLEW_INLINE T apply(T x, T low, T high) {
        const T raised = x < low || low != low ? low : x;
        return raised > high || high != high ? high : raised;
    }
};
// From the nearer end, so that a weight of 1 gives b exactly.
struct Lerp {
    template <class T>
    static CLEW_INLINE T apply(T a, T b, T weight) {
        const T difference = b - a;
        const T from_a = a + weight * difference, from_b = b - difference * (T(1) - weight);
        return math::is_small_weight(weight) ? from_a : from_b;
    }
};

template <class T>
void div_mul_block(T* out, const T* const* inputs, int64_t count, const Number*) {
    const T *a = inputs[0], *b = inputs[1], *c = inputs[2], *quotient = inputs[3];
    for (int64_t start = 0; start < count; start += kBuffer) {
        const int64_t end = count - start < kBuffer ? count : start + kBuffer;
        if (all_moderate(quotient + start, end - start)) {
            CLEW_VECTORISE
            for (int64_t i = start; i < end; ++i) out[i] = a[i] * quotient[i];
        } else {
            CLEW_VECTORISE
            for (int64_t i = start; i < end; ++i) {
                const T by_parts = a[i] / b[i] * c[i], at_once = a[i] * quotient[i];
                out[i] = is_moderate(quotient[i]) ? at_once : by_parts;
            }
        }
    }
}
// One factor for all is the common case.
template <class T>
void div_mul_loop(char* const* data, const int64_t* strides, int64_t count) {
    if (strides[0] != sizeof(T) || strides[1] != sizeof(T) || strides[4] != 0 || !is_moderate(load<T>(data[4])))
        return in_blocks<T, 4>(div_mul_block<T>, data, strides, count, nullptr);
    T* out = reinterpret_cast<T*>(data[0]);
    const T* a = reinterpret_cast<const T*>(data[1]);
    const T quotient = load<T>(data[4]);
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = a[i] * quotient;
}
template <class T>
void complex_div_mul_loop(char* const* data, const int64_t* strides, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        const auto at = [&](int k) { return load<Complex<T>>(data[k] + i * strides[k]); };
        store(data[0] + i * strides[0], at(1) / at(2) * at(3));
    }
}

}  // namespace

CLEW_EXPORT_TABLE(TernaryTable, ternary,
                  {
                      .where = {where_loop<uint8_t>, where_loop<uint8_t>, where_loop<uint32_t>, where_loop<uint64_t>,
                                where_loop<uint32_t>, where_loop<uint64_t>, where_loop<uint64_t>,
                                where_loop<Complex<double>>},
                      .clamp = {nullptr, ternary_loop<Clamp, uint8_t>, ternary_loop<Clamp, int32_t>,
                                ternary_loop<Clamp, int64_t>, ternary_loop<Clamp, float>, ternary_loop<Clamp, double>},
                      .lerp = CLEW_INEXACT(ternary_loop, Lerp),
                      .div_mul = {nullptr, nullptr, nullptr, nullptr, div_mul_loop<float>, div_mul_loop<double>,
                                  complex_div_mul_loop<float>, complex_div_mul_loop<double>},
                  });

}  // namespace clew::kernels
