// The elementwise part of recurrent cells, between their matrix products; floating only.
//
// Gates lie in memory as (batch, 4, hidden): input, forget, cell and output gate of each element of the batch. All
// arrays of one call are contiguous and of one dtype.
#pragma once
#include <cstdint>

#include "core/kernels/isa.h"
#include "core/kernels/view.h"

namespace clew::kernels {

struct LstmCell {
    std::int64_t batch, hidden;
    // Forward. `gates` comes as sums of products and leaves as what the activations made of it.
    void* gates;
    const void* bias_input;   // (4, hidden), or null
    const void* bias_hidden;  // the same
    const void* cell;         // (batch, hidden): the state before
    void* next_hidden;
    void* next_cell;
};

struct LstmCellBackward {
    std::int64_t batch, hidden;
    const void* gates;  // after their activations
    const void* cell;
    const void* next_cell;
    const void* grad_hidden;  // of next_hidden; null means 0
    const void* grad_next;    // of next_cell; null means 0
    void* grad_gates;         // before their activations
    void* grad_cell;          // of cell
};

// Cells whose state is what they show: gated recurrent units, whose gates lie as (batch, 4, hidden): reset, update,
// new, and the hidden state's part of new; and Elman's, whose gates lie as (batch, hidden) where next_hidden does.
struct PlainCell {
    std::int64_t batch, hidden;
    void* gates;              // as for LstmCell
    const void* bias_input;   // (3, hidden) or (hidden), or null
    const void* bias_hidden;  // the same
    const void* state;        // (batch, hidden): the state before
    void* next_hidden;
};

struct PlainCellBackward {
    std::int64_t batch, hidden;
    const void* gates;  // after their activations
    const void* state;
    const void* next_hidden;
    void* grad_hidden;  // of next_hidden; leaves as what goes to `state` other than by the gates
    void* grad_gates;   // before their activations
};

struct RecurrentTable {
    void (*lstm_cell[kDTypes])(const LstmCell&);
    void (*lstm_cell_backward[kDTypes])(const LstmCellBackward&);
    void (*gru_cell[kDTypes])(const PlainCell&);
    void (*gru_cell_backward[kDTypes])(const PlainCellBackward&);
    void (*tanh_cell[kDTypes])(const PlainCell&);
    void (*tanh_cell_backward[kDTypes])(const PlainCellBackward&);
    void (*relu_cell[kDTypes])(const PlainCell&);
    void (*relu_cell_backward[kDTypes])(const PlainCellBackward&);
};

CLEW_DECLARE_TABLE(RecurrentTable, recurrent)

}  // namespace clew::kernels
