// All steps of a recurrent layer, given the input's part of its gates.
#pragma once
#include <cstdint>

#include "core/kernels/view.h"

namespace clew::kernels {

enum class RecurrentKind : std::uint8_t { Lstm, Gru, Tanh, Relu };

// Gates of a row in memory (see recurrent.h), and of its weights.
constexpr std::int64_t gates_held(RecurrentKind kind) {
    return kind == RecurrentKind::Lstm || kind == RecurrentKind::Gru ? 4 : 1;
}
constexpr std::int64_t gates_weighed(RecurrentKind kind) { return kind == RecurrentKind::Gru ? 3 : gates_held(kind); }

// All arrays are contiguous and of one dtype; G is gates_held, W gates_weighed.
struct RecurrentLayer {
    DType dtype;
    RecurrentKind kind;
    bool reverse;  // the last step first
    std::int64_t steps, batch, hidden;
    void* gates;  // (steps, batch, G, hidden): the first W hold the input's part, without biases, then the gates
    const void* bias_input;     // (W, hidden), or null
    const void* bias_hidden;    // the same
    const void* weight_hidden;  // (W, hidden, hidden)
    const void* first_hidden;   // (batch, hidden)
    const void* first_cell;     // the same, for an LSTM
    void* output;               // (steps, batch, hidden); for Elman's kinds it is `gates`
    void* cells;                // the same, for an LSTM
};

void recurrent_layer(const RecurrentLayer& layer);

struct RecurrentGradients {
    const void* grad_output;  // null means 0, here and below
    const void* grad_hidden;  // of the last hidden state
    const void* grad_cell;
    void* grad_gates;  // (steps, batch, G, hidden): before their activations
    void* grad_first_hidden;
    void* grad_first_cell;
};
void recurrent_layer_backward(const RecurrentLayer& layer, const RecurrentGradients& gradients);

}  // namespace clew::kernels
