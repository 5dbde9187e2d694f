// The shapes of inner loops, shared by the elementwise families; for .isa.cpp files alone.
//
// Note [Bitwise reproducible elements]
// An element's bits must not depend on where it lies in an array, how the array is cut, or its strides. Simple
// operations are plain loops: without contraction a vector lane computes what the scalar tail does. Long formulas
// (math_loop) always run in whole blocks, a rest being copied to a padded block, which also keeps short arrays fast.
//
// Note [Aliasing]
// An output may be one of the inputs, element for element: `ivdep` is right then, because no element depends on
// another.
#pragma once
#include <stdint.h>

#include "core/kernels/elementwise/complex.h"
#include "core/kernels/view.h"

#define CLEW_INLINE inline __attribute__((always_inline))
#ifdef __clang__
#define CLEW_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define CLEW_VECTORISE _Pragma("GCC ivdep")
#endif
// In the body of a loop: keep it scalar. Gathers are no faster and each would be compiled several times over.
#define CLEW_KEEP_SCALAR asm volatile("")

namespace clew::kernels {
namespace {

// Of lerp: below it, a result is counted from the first operand.
namespace math {
template <class T>
CLEW_INLINE bool is_small_weight(T weight) {
    return weight < T(0.5) && weight > T(-0.5);
}
template <class T>
CLEW_INLINE bool is_small_weight(Complex<T> weight) {
    return weight.real * weight.real + weight.imag * weight.imag < T(0.25);
}
}  // namespace math

template <class T>
CLEW_INLINE T load(const char* address) {
    return *reinterpret_cast<const T*>(address);
}
template <class T>
CLEW_INLINE void store(char* address, T value) {
    *reinterpret_cast<T*>(address) = value;
}

// Op::apply(In) -> Out
template <class Op, class Out, class In = Out>
void unary_loop(char* const* data, const int64_t* strides, int64_t count) {
    if (strides[0] == sizeof(Out) && strides[1] == sizeof(In)) {
        Out* out = reinterpret_cast<Out*>(data[0]);
        const In* in = reinterpret_cast<const In*>(data[1]);
        CLEW_VECTORISE
        for (int64_t i = 0; i < count; ++i) out[i] = Op::apply(in[i]);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        store<Out>(data[0] + i * strides[0], Op::apply(load<In>(data[1] + i * strides[1])));
    }
}

template <class Op, class Out, class In>
[[gnu::noinline]] void long_binary_loop(char* const* data, const int64_t* strides, int64_t count) {
    if (strides[0] == sizeof(Out)) {
        Out* out = reinterpret_cast<Out*>(data[0]);
        const In* a = reinterpret_cast<const In*>(data[1]);
        const In* b = reinterpret_cast<const In*>(data[2]);
        if (strides[1] == sizeof(In) && strides[2] == sizeof(In)) {
            CLEW_VECTORISE
            for (int64_t i = 0; i < count; ++i) out[i] = Op::apply(a[i], b[i]);
            return;
        }
        if (strides[1] == sizeof(In) && strides[2] == 0) {
            const In scalar = *b;
            CLEW_VECTORISE
            for (int64_t i = 0; i < count; ++i) out[i] = Op::apply(a[i], scalar);
            return;
        }
        if (strides[1] == 0 && strides[2] == sizeof(In)) {
            const In scalar = *a;
            CLEW_VECTORISE
            for (int64_t i = 0; i < count; ++i) out[i] = Op::apply(scalar, b[i]);
            return;
        }
    }
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        const In a = load<In>(data[1] + i * strides[1]), b = load<In>(data[2] + i * strides[2]);
        store<Out>(data[0] + i * strides[0], Op::apply(a, b));
    }
}

// Op::apply(In, In) -> Out. A loop over vectors takes longer to begin and to end than a few elements take.
template <class Op, class Out, class In = Out>
void binary_loop(char* const* data, const int64_t* strides, int64_t count) {
    constexpr int64_t kFew = 16, kFour = 4;
    if (count > kFew || strides[0] != sizeof(Out) || strides[1] != sizeof(In) || strides[2] != sizeof(In))
        return long_binary_loop<Op, Out, In>(data, strides, count);
    Out* out = reinterpret_cast<Out*>(data[0]);
    const In* a = reinterpret_cast<const In*>(data[1]);
    const In* b = reinterpret_cast<const In*>(data[2]);
    for (; count >= kFour; count -= kFour, out += kFour, a += kFour, b += kFour) {
        asm volatile("");  // four are a vector; of fours there are few
        Out made[kFour];
        for (int k = 0; k < kFour; ++k) made[k] = Op::apply(a[k], b[k]);
        for (int k = 0; k < kFour; ++k) out[k] = made[k];
    }
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        out[i] = Op::apply(a[i], b[i]);
    }
}

// The same where no vectors are to be had.
template <class Op, class T>
void scalar_binary_loop(char* const* data, const int64_t* strides, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        const T a = load<T>(data[1] + i * strides[1]), b = load<T>(data[2] + i * strides[2]);
        store<T>(data[0] + i * strides[0], Op::apply(a, b));
    }
}

// Long formulas of one to three inputs: contiguous blocks only; everything else goes through buffers in the first-level
// cache.
inline constexpr int64_t kPadding = 16;  // elements in the widest vector
inline constexpr int64_t kBuffer = 256;

template <class T>
void gather(T* out, const char* in, int64_t stride, int64_t count) {
    if (stride == 0) {  // one number for all
        const T number = load<T>(in);
        for (int64_t i = 0; i < count; ++i) out[i] = number;
        return;
    }
    if (stride == sizeof(T)) {
        for (int64_t i = 0; i < count; ++i) out[i] = load<T>(in + i * int64_t(sizeof(T)));
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        out[i] = load<T>(in + i * stride);
    }
}
template <class T>
void scatter(char* out, int64_t stride, const T* in, int64_t count) {
    if (stride == sizeof(T)) {
        for (int64_t i = 0; i < count; ++i) store<T>(out + i * int64_t(sizeof(T)), in[i]);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        CLEW_KEEP_SCALAR;
        store<T>(out + i * stride, in[i]);
    }
}

// Runs `block(out, inputs, count, params)`, whose count is a multiple of kPadding, over any strides: where elements lie
// side by side it takes them as they lie.
template <class T, int kInputs, class Block>
CLEW_INLINE void in_blocks(Block block, char* const* data, const int64_t* strides, int64_t count,
                           const Number* params) {
    bool contiguous = true;
    for (int k = 0; k <= kInputs; ++k) contiguous &= strides[k] == sizeof(T);
    const int64_t whole = contiguous ? count & -kPadding : 0;
    const T* inputs[kInputs];
    if (whole > 0) {
        for (int k = 0; k < kInputs; ++k) inputs[k] = reinterpret_cast<const T*>(data[k + 1]);
        block(reinterpret_cast<T*>(data[0]), inputs, whole, params);
    }
    T buffers[kInputs + 1][kBuffer];
    for (int64_t start = whole, length; start < count; start += length) {
        const int64_t rest = count - start;
        length = rest >= kBuffer ? kBuffer : rest >= kPadding ? rest & -kPadding : rest;
        const int64_t padded = (length + kPadding - 1) & -kPadding;
        const auto lies_ready = [&](int k) { return strides[k] == sizeof(T) && length == padded; };
        for (int k = 1; k <= kInputs; ++k) {
            const char* const from = data[k] + start * strides[k];
            inputs[k - 1] = lies_ready(k) ? reinterpret_cast<const T*>(from) : buffers[k];
            if (lies_ready(k)) continue;
            gather(buffers[k], from, strides[k], length);
            for (int64_t i = length; i < padded; ++i) buffers[k][i] = T(1);
        }
        char* const to = data[0] + start * strides[0];
        block(lies_ready(0) ? reinterpret_cast<T*>(to) : buffers[0], inputs, padded, params);
        if (!lies_ready(0)) scatter(to, strides[0], buffers[0], length);
    }
}

template <class Op, class T>
void unary_block(T* out, const T* const* inputs, int64_t count, const Number*) {
    const T* in = inputs[0];
    count &= -kPadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = Op::apply(in[i]);
}
template <class Op, class T>
void math_loop(char* const* data, const int64_t* strides, int64_t count) {
    in_blocks<T, 1>(unary_block<Op, T>, data, strides, count, nullptr);
}

template <class Op, class T>
void binary_block(T* out, const T* const* inputs, int64_t count, const Number*) {
    const T *a = inputs[0], *b = inputs[1];
    count &= -kPadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = Op::apply(a[i], b[i]);
}
template <class Op, class T>
void binary_math_loop(char* const* data, const int64_t* strides, int64_t count) {
    in_blocks<T, 2>(binary_block<Op, T>, data, strides, count, nullptr);
}

// Op<T> is made from params once for each call, and applied to one, two or three inputs.
template <template <class> class Op, class T>
void unary_param_block(T* out, const T* const* inputs, int64_t count, const Number* params) {
    const T* in = inputs[0];
    const Op<T> op(params);
    count &= -kPadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = op(in[i]);
}
template <template <class> class Op, class T>
void unary_param_loop(char* const* data, const int64_t* strides, int64_t count, const Number* params) {
    in_blocks<T, 1>(unary_param_block<Op, T>, data, strides, count, params);
}
template <template <class> class Op, class T>
void binary_param_block(T* out, const T* const* inputs, int64_t count, const Number* params) {
    const T *a = inputs[0], *b = inputs[1];
    const Op<T> op(params);
    count &= -kPadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i]);
}
template <template <class> class Op, class T>
void binary_param_loop(char* const* data, const int64_t* strides, int64_t count, const Number* params) {
    in_blocks<T, 2>(binary_param_block<Op, T>, data, strides, count, params);
}
template <template <class> class Op, class T>
void ternary_param_block(T* out, const T* const* inputs, int64_t count, const Number* params) {
    const T *a = inputs[0], *b = inputs[1], *c = inputs[2];
    const Op<T> op(params);
    count &= -kPadding;
    CLEW_VECTORISE
    for (int64_t i = 0; i < count; ++i) out[i] = op(a[i], b[i], c[i]);
}
template <template <class> class Op, class T>
void ternary_param_loop(char* const* data, const int64_t* strides, int64_t count, const Number* params) {
    in_blocks<T, 3>(ternary_param_block<Op, T>, data, strides, count, params);
}

}  // namespace
}  // namespace clew::kernels

// An entry for each kernel dtype, in the order of the list in core/base/dtype.h: for floating ones, also for complex
// ones by the same loop, or by a function of complex.h.
#define CLEW_FLOATING(loop, op) {nullptr, nullptr, nullptr, nullptr, loop<op, float>, loop<op, double>}
#define CLEW_INEXACT(loop, op) \
    {nullptr,                  \
     nullptr,                  \
     nullptr,                  \
     nullptr,                  \
     loop<op, float>,          \
     loop<op, double>,         \
     loop<op, Complex<float>>, \
     loop<op, Complex<double>>}
#define CLEW_HOLOMORPHIC(loop, op, function)           \
    {nullptr,                                          \
     nullptr,                                          \
     nullptr,                                          \
     nullptr,                                          \
     loop<op, float>,                                  \
     loop<op, double>,                                 \
     complex_loop<complex_functions::function, float>, \
     complex_loop<complex_functions::function, double>}
