#include "core/kernels/layers/recurrent.h"

#include "core/kernels/elementwise/math_float32.h"

namespace clew::kernels {
namespace {

inline constexpr int64_t kWidth = kPadding;  // elements at a time

// Calls block(start, length, whole): length is kWidth, known to the compiler, but for the end of a row.
template <class Block>
CLEW_INLINE void along_row(int64_t count, Block block) {
    int64_t start = 0;
    for (; start + kWidth <= count; start += kWidth) block(start, kWidth);
    if (start < count) block(start, count - start);
}

// Short rows are padded: an element's arithmetic does not depend on where it lies (Note [Bitwise reproducible
// elements]).
template <class T>
CLEW_INLINE void fetch(T* out, const T* in, int64_t length) {
    for (int64_t i = 0; i < length; ++i) out[i] = in[i];
    for (int64_t i = length; i < kWidth; ++i) out[i] = T(0);
}
template <class T>
CLEW_INLINE void fetch_or_zero(T* out, const T* in, int64_t start, int64_t length) {
    if (in != nullptr)
        fetch(out, in + start, length);
    else
        for (int64_t i = 0; i < kWidth; ++i) out[i] = T(0);
}
template <class T>
CLEW_INLINE void put(T* out, const T* in, int64_t length) {
    for (int64_t i = 0; i < length; ++i) out[i] = in[i];
}

template <class T>
CLEW_INLINE void fetch_gate(T* out, const T* gates, const T* bias_input, const T* bias_hidden, int64_t start,
                            int64_t length) {
    T added[kWidth], more[kWidth];
    fetch(out, gates + start, length);
    fetch_or_zero(added, bias_input, start, length);
    fetch_or_zero(more, bias_hidden, start, length);
    for (int64_t i = 0; i < kWidth; ++i) out[i] += added[i] + more[i];
}

template <class T>
void lstm_cell(const LstmCell& call) {
    const int64_t hidden = call.hidden;
    const T* bias_input = static_cast<const T*>(call.bias_input);
    const T* bias_hidden = static_cast<const T*>(call.bias_hidden);
    for (int64_t row = 0; row < call.batch; ++row) {
        T* gates = static_cast<T*>(call.gates) + row * 4 * hidden;
        const T* cell = static_cast<const T*>(call.cell) + row * hidden;
        T* next_hidden = static_cast<T*>(call.next_hidden) + row * hidden;
        T* next_cell = static_cast<T*>(call.next_cell) + row * hidden;
        along_row(hidden, [&](int64_t start, int64_t length) __attribute__((always_inline)) {
            T input[kWidth], forget[kWidth], update[kWidth], output[kWidth], before[kWidth], after[kWidth],
                result[kWidth];
            fetch_gate(input, gates, bias_input, bias_hidden, start, length);
            fetch_gate(forget, gates, bias_input, bias_hidden, start + hidden, length);
            fetch_gate(update, gates, bias_input, bias_hidden, start + 2 * hidden, length);
            fetch_gate(output, gates, bias_input, bias_hidden, start + 3 * hidden, length);
            fetch(before, cell + start, length);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) input[i] = math::sigmoid(input[i]);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) forget[i] = math::sigmoid(forget[i]);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) update[i] = math::tanh(update[i]);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) output[i] = math::sigmoid(output[i]);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) after[i] = forget[i] * before[i] + input[i] * update[i];
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) result[i] = output[i] * math::tanh(after[i]);
            put(gates + start, input, length);
            put(gates + start + hidden, forget, length);
            put(gates + start + 2 * hidden, update, length);
            put(gates + start + 3 * hidden, output, length);
            put(next_cell + start, after, length);
            put(next_hidden + start, result, length);
        });
    }
}

template <class T>
void lstm_cell_backward(const LstmCellBackward& call) {
    const int64_t hidden = call.hidden;
    for (int64_t row = 0; row < call.batch; ++row) {
        const T* gates = static_cast<const T*>(call.gates) + row * 4 * hidden;
        const T* cell = static_cast<const T*>(call.cell) + row * hidden;
        const T* next_cell = static_cast<const T*>(call.next_cell) + row * hidden;
        const T* grad_hidden = call.grad_hidden ? static_cast<const T*>(call.grad_hidden) + row * hidden : nullptr;
        const T* grad_next = call.grad_next ? static_cast<const T*>(call.grad_next) + row * hidden : nullptr;
        T* grad_gates = static_cast<T*>(call.grad_gates) + row * 4 * hidden;
        T* grad_cell = static_cast<T*>(call.grad_cell) + row * hidden;
        along_row(hidden, [&](int64_t start, int64_t length) __attribute__((always_inline)) {
            T input[kWidth], forget[kWidth], update[kWidth], output[kWidth], before[kWidth], after[kWidth],
                from_hidden[kWidth], from_next[kWidth];
            fetch(input, gates + start, length);
            fetch(forget, gates + start + hidden, length);
            fetch(update, gates + start + 2 * hidden, length);
            fetch(before, cell + start, length);
            // Read by the hidden state alone: without its gradient they have no part, and may be infinite.
            fetch_or_zero(output, grad_hidden ? gates + 3 * hidden : nullptr, start, length);
            fetch_or_zero(after, grad_hidden ? next_cell : nullptr, start, length);
            fetch_or_zero(from_hidden, grad_hidden, start, length);
            fetch_or_zero(from_next, grad_next, start, length);
            T by_input[kWidth], by_forget[kWidth], by_update[kWidth], by_output[kWidth], by_cell[kWidth];
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) {
                const T squashed = math::tanh(after[i]);
                const T through = from_next[i] + from_hidden[i] * output[i] * (T(1) - squashed * squashed);
                by_input[i] = through * update[i] * input[i] * (T(1) - input[i]);
                by_forget[i] = through * before[i] * forget[i] * (T(1) - forget[i]);
                by_update[i] = through * input[i] * (T(1) - update[i] * update[i]);
                by_output[i] = from_hidden[i] * squashed * output[i] * (T(1) - output[i]);
                by_cell[i] = through * forget[i];
            }
            put(grad_gates + start, by_input, length);
            put(grad_gates + start + hidden, by_forget, length);
            put(grad_gates + start + 2 * hidden, by_update, length);
            put(grad_gates + start + 3 * hidden, by_output, length);
            put(grad_cell + start, by_cell, length);
        });
    }
}

// next = new + update * (state - new) with new = tanh(new_input + reset * new_hidden)
template <class T>
void gru_cell(const PlainCell& call) {
    const int64_t hidden = call.hidden;
    const T* bias_input = static_cast<const T*>(call.bias_input);
    const T* bias_hidden = static_cast<const T*>(call.bias_hidden);
    for (int64_t row = 0; row < call.batch; ++row) {
        T* gates = static_cast<T*>(call.gates) + row * 4 * hidden;
        const T* state = static_cast<const T*>(call.state) + row * hidden;
        T* next_hidden = static_cast<T*>(call.next_hidden) + row * hidden;
        along_row(hidden, [&](int64_t start, int64_t length) __attribute__((always_inline)) {
            T reset[kWidth], update[kWidth], fresh[kWidth], inner[kWidth], before[kWidth], added[kWidth], more[kWidth];
            fetch_gate(reset, gates, bias_input, bias_hidden, start, length);
            fetch_gate(update, gates, bias_input, bias_hidden, start + hidden, length);
            fetch(fresh, gates + start + 2 * hidden, length);
            fetch(inner, gates + start + 3 * hidden, length);
            fetch_or_zero(added, bias_input, start + 2 * hidden, length);
            fetch_or_zero(more, bias_hidden, start + 2 * hidden, length);
            fetch(before, state + start, length);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) reset[i] = math::sigmoid(reset[i]);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) update[i] = math::sigmoid(update[i]);
            for (int64_t i = 0; i < kWidth; ++i) inner[i] += more[i];
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) fresh[i] = math::tanh(fresh[i] + added[i] + reset[i] * inner[i]);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) before[i] = fresh[i] + update[i] * (before[i] - fresh[i]);
            put(gates + start, reset, length);
            put(gates + start + hidden, update, length);
            put(gates + start + 2 * hidden, fresh, length);
            put(gates + start + 3 * hidden, inner, length);
            put(next_hidden + start, before, length);
        });
    }
}

template <class T>
void gru_cell_backward(const PlainCellBackward& call) {
    const int64_t hidden = call.hidden;
    for (int64_t row = 0; row < call.batch; ++row) {
        const T* gates = static_cast<const T*>(call.gates) + row * 4 * hidden;
        const T* state = static_cast<const T*>(call.state) + row * hidden;
        T* grad_hidden = static_cast<T*>(call.grad_hidden) + row * hidden;
        T* grad_gates = static_cast<T*>(call.grad_gates) + row * 4 * hidden;
        along_row(hidden, [&](int64_t start, int64_t length) __attribute__((always_inline)) {
            T reset[kWidth], update[kWidth], fresh[kWidth], inner[kWidth], before[kWidth], grad[kWidth];
            fetch(reset, gates + start, length);
            fetch(update, gates + start + hidden, length);
            fetch(fresh, gates + start + 2 * hidden, length);
            fetch(inner, gates + start + 3 * hidden, length);
            fetch(before, state + start, length);
            fetch(grad, grad_hidden + start, length);
            T by_reset[kWidth], by_update[kWidth], by_fresh[kWidth], by_inner[kWidth], by_state[kWidth];
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) {
                by_fresh[i] = grad[i] * (T(1) - update[i]) * (T(1) - fresh[i] * fresh[i]);
                by_update[i] = grad[i] * (before[i] - fresh[i]) * update[i] * (T(1) - update[i]);
                by_reset[i] = by_fresh[i] * inner[i] * reset[i] * (T(1) - reset[i]);
                by_inner[i] = by_fresh[i] * reset[i];
                by_state[i] = grad[i] * update[i];
            }
            put(grad_gates + start, by_reset, length);
            put(grad_gates + start + hidden, by_update, length);
            put(grad_gates + start + 2 * hidden, by_fresh, length);
            put(grad_gates + start + 3 * hidden, by_inner, length);
            put(grad_hidden + start, by_state, length);
        });
    }
}

struct Tanh {
    template <class T>
    static CLEW_INLINE T value(T x) {
        return math::tanh(x);
    }
    template <class T>
    static CLEW_INLINE T slope(T y) {
        return T(1) - y * y;
    }
};
struct Relu {
    template <class T>
    static CLEW_INLINE T value(T x) {
        return x <= T(0) ? T(0) : x;  // NaN stays
    }
    template <class T>
    static CLEW_INLINE T slope(T y) {
        return y <= T(0) ? T(0) : T(1);
    }
};

template <class T, class Activation>
void elman_cell(const PlainCell& call) {
    const T* bias_input = static_cast<const T*>(call.bias_input);
    const T* bias_hidden = static_cast<const T*>(call.bias_hidden);
    for (int64_t row = 0; row < call.batch; ++row) {
        const T* gates = static_cast<const T*>(call.gates) + row * call.hidden;
        T* next_hidden = static_cast<T*>(call.next_hidden) + row * call.hidden;
        along_row(call.hidden, [&](int64_t start, int64_t length) __attribute__((always_inline)) {
            T value[kWidth];
            fetch_gate(value, gates, bias_input, bias_hidden, start, length);
            CLEW_VECTORISE
            for (int64_t i = 0; i < kWidth; ++i) value[i] = Activation::value(value[i]);
            put(next_hidden + start, value, length);
        });
    }
}

template <class T, class Activation>
void elman_cell_backward(const PlainCellBackward& call) {
    const T* next_hidden = static_cast<const T*>(call.next_hidden);
    const T* grad_hidden = static_cast<const T*>(call.grad_hidden);
    T* grad_gates = static_cast<T*>(call.grad_gates);
    CLEW_VECTORISE
    for (int64_t i = 0; i < call.batch * call.hidden; ++i)
        grad_gates[i] = grad_hidden[i] * Activation::slope(next_hidden[i]);
}

#define CLEW_BOTH(...) {nullptr, nullptr, nullptr, nullptr, __VA_ARGS__}

}  // namespace

CLEW_EXPORT_TABLE(
    RecurrentTable, recurrent,
    {
        .lstm_cell = CLEW_BOTH(lstm_cell<float>, lstm_cell<double>),
        .lstm_cell_backward = CLEW_BOTH(lstm_cell_backward<float>, lstm_cell_backward<double>),
        .gru_cell = CLEW_BOTH(gru_cell<float>, gru_cell<double>),
        .gru_cell_backward = CLEW_BOTH(gru_cell_backward<float>, gru_cell_backward<double>),
        .tanh_cell = CLEW_BOTH(elman_cell<float, Tanh>, elman_cell<double, Tanh>),
        .tanh_cell_backward = CLEW_BOTH(elman_cell_backward<float, Tanh>, elman_cell_backward<double, Tanh>),
        .relu_cell = CLEW_BOTH(elman_cell<float, Relu>, elman_cell<double, Relu>),
        .relu_cell_backward = CLEW_BOTH(elman_cell_backward<float, Relu>, elman_cell_backward<double, Relu>),
    });

}  // namespace clew::kernels
