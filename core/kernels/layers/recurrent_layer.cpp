#include "core/kernels/layers/recurrent_layer.h"

#include <algorithm>

#include "core/base/frame.h"
#include "core/base/threads.h"
#include "core/kernels/layers/recurrent.h"
#include "core/kernels/matrix/panels.h"
#include "core/kernels/memory/scratch.h"

// Note [Rows of a batch]
// A row of the batch never meets another one: so threads share rows, not steps, and meet once for a whole layer. The
// hidden weights are packed once for all steps (Note [Panels]).

namespace clew::kernels {
namespace {

using Index = std::int64_t;

constexpr Index kRows = 8;  // of the batch that go through all steps together

template <class T>
class Steps {
public:
    explicit Steps(const RecurrentLayer& layer)
        : layer_(layer),
          kind_(layer.kind),
          hidden_(layer.hidden),
          gates_row_(gates_held(layer.kind) * layer.hidden),
          together_(layer.kind == RecurrentKind::Gru ? 2 * layer.hidden : gates_row_) {}

protected:
    bool lstm() const { return kind_ == RecurrentKind::Lstm; }
    bool gru() const { return kind_ == RecurrentKind::Gru; }
    Index step(Index i) const { return layer_.reverse ? layer_.steps - 1 - i : i; }
    template <class P>
    static auto at(P* data, Index offset) {
        using Element = std::conditional_t<std::is_const_v<P>, const T, T>;
        return static_cast<Element*>(data) + offset;
    }
    Index state_place(Index step, Index row) const { return (step * layer_.batch + row) * hidden_; }
    Index gates_place(Index step, Index row) const { return (step * layer_.batch + row) * gates_row_; }
    // What came before the i-th step to be taken.
    const T* before(const void* all, const void* first, Index i, Index row) const {
        return i == 0 ? at(first, row * hidden_) : at<const void>(all, state_place(step(i - 1), row));
    }

    const RecurrentLayer& layer_;
    const RecurrentKind kind_;
    const Index hidden_, gates_row_;
    const Index together_;  // columns of gates that one product makes; a GRU's last gate needs another
    const PanelLoops<T>& panel_ = panels().of<T>();
    const RecurrentTable& cells_ = recurrent();
    const int dtype_ = static_cast<int>(layer_.dtype);
};

template <class T>
class Forward : Steps<T> {
public:
    explicit Forward(const RecurrentLayer& layer)
        : Steps<T>(layer),
          memory_(static_cast<std::size_t>(packed_size<T>(hidden_, together_) + packed_size<T>(hidden_, hidden_)) *
                  sizeof(T)),
          weights_(memory_.template as<T>()),
          last_weights_(weights_ + packed_size<T>(hidden_, together_)) {
        const T* weight = static_cast<const T*>(layer.weight_hidden);
        panel_.pack(hidden_, together_, {weight, 1, hidden_}, weights_);
        if (this->gru()) panel_.pack(hidden_, hidden_, {weight + together_ * hidden_, 1, hidden_}, last_weights_);
    }

    void run(Index row, Index rows) const {
        for (Index i = 0; i < layer_.steps; ++i) {
            T* const gates = this->at(layer_.gates, this->gates_place(this->step(i), row));
            const T* const state = this->before(layer_.output, layer_.first_hidden, i, row);
            panel_.multiply(rows, together_, hidden_, {state, hidden_, 1}, {weights_, hidden_}, gates, gates_row_, T(1),
                            true);
            if (this->gru())
                panel_.multiply(rows, hidden_, hidden_, {state, hidden_, 1}, {last_weights_, hidden_},
                                gates + 3 * hidden_, gates_row_, T(1), false);
            run_cell(i, row, rows, gates, state);
        }
    }

private:
    using Steps<T>::layer_, Steps<T>::hidden_, Steps<T>::gates_row_, Steps<T>::together_, Steps<T>::panel_;

    void run_cell(Index i, Index row, Index rows, T* gates, const T* state) const {
        const Index place = this->state_place(this->step(i), row);
        T* const next = this->at(layer_.output, place);
        const RecurrentTable& cells = this->cells_;
        if (this->lstm()) {
            cells.lstm_cell[this->dtype_]({rows, hidden_, gates, layer_.bias_input, layer_.bias_hidden,
                                           this->before(layer_.cells, layer_.first_cell, i, row), next,
                                           this->at(layer_.cells, place)});
            return;
        }
        const auto& table = this->gru()                          ? cells.gru_cell
                            : this->kind_ == RecurrentKind::Tanh ? cells.tanh_cell
                                                                 : cells.relu_cell;
        table[this->dtype_]({rows, hidden_, gates, layer_.bias_input, layer_.bias_hidden, state, next});
    }

    const Scratch memory_;
    T* const weights_;
    T* const last_weights_;
};

template <class T>
class Backward : Steps<T> {
public:
    Backward(const RecurrentLayer& layer, const RecurrentGradients& gradients)
        : Steps<T>(layer),
          gradients_(gradients),
          memory_(static_cast<std::size_t>(packed_size<T>(together_, hidden_) + packed_size<T>(hidden_, hidden_)) *
                  sizeof(T)),
          weights_(memory_.template as<T>()),
          last_weights_(weights_ + packed_size<T>(together_, hidden_)) {
        const T* weight = static_cast<const T*>(layer.weight_hidden);
        panel_.pack(together_, hidden_, {weight, hidden_, 1}, weights_);
        if (this->gru()) panel_.pack(hidden_, hidden_, {weight + together_ * hidden_, hidden_, 1}, last_weights_);
    }

    void run(Index row, Index rows) const {
        T* const grad_hidden = this->at(gradients_.grad_first_hidden, row * hidden_);
        T* const grad_cell = this->lstm() ? this->at(gradients_.grad_first_cell, row * hidden_) : nullptr;
        begin(grad_hidden, gradients_.grad_hidden, row, rows);
        if (grad_cell != nullptr) begin(grad_cell, gradients_.grad_cell, row, rows);
        for (Index i = layer_.steps - 1; i >= 0; --i) {
            const Index step = this->step(i);
            if (gradients_.grad_output != nullptr) {
                const T* const more = this->at(gradients_.grad_output, this->state_place(step, row));
                for (Index k = 0; k < rows * hidden_; ++k) grad_hidden[k] += more[k];
            }
            T* const grad_gates = this->at(gradients_.grad_gates, this->gates_place(step, row));
            run_cell(i, row, rows, grad_hidden, grad_cell, grad_gates);
            panel_.multiply(rows, hidden_, together_, {grad_gates, gates_row_, 1}, {weights_, together_}, grad_hidden,
                            hidden_, T(1), this->gru());
            if (this->gru())
                panel_.multiply(rows, hidden_, hidden_, {grad_gates + 3 * hidden_, gates_row_, 1},
                                {last_weights_, hidden_}, grad_hidden, hidden_, T(1), true);
        }
    }

private:
    using Steps<T>::layer_, Steps<T>::hidden_, Steps<T>::gates_row_, Steps<T>::together_, Steps<T>::panel_;

    void begin(T* into, const void* gradient, Index row, Index rows) const {
        if (gradient != nullptr)
            std::copy_n(this->at(gradient, row * hidden_), rows * hidden_, into);
        else
            std::fill_n(into, rows * hidden_, T(0));
    }

    void run_cell(Index i, Index row, Index rows, T* grad_hidden, T* grad_cell, T* grad_gates) const {
        const Index step = this->step(i), place = this->state_place(step, row);
        const T* const gates = this->template at<const void>(layer_.gates, this->gates_place(step, row));
        const RecurrentTable& cells = this->cells_;
        if (this->lstm()) {
            cells.lstm_cell_backward[this->dtype_](
                {rows, hidden_, gates, this->before(layer_.cells, layer_.first_cell, i, row),
                 this->at(layer_.cells, place), grad_hidden, grad_cell, grad_gates, grad_cell});
            return;
        }
        const auto& table = this->gru()                          ? cells.gru_cell_backward
                            : this->kind_ == RecurrentKind::Tanh ? cells.tanh_cell_backward
                                                                 : cells.relu_cell_backward;
        table[this->dtype_]({rows, hidden_, gates, this->before(layer_.output, layer_.first_hidden, i, row),
                             this->at(layer_.output, place), grad_hidden, grad_gates});
    }

    const RecurrentGradients& gradients_;
    const Scratch memory_;
    T* const weights_;
    T* const last_weights_;
};

template <class Work>
void for_rows(const RecurrentLayer& layer, const Work& work) {
    const Index cost = kRows * layer.steps * layer.hidden * gates_held(layer.kind) * (layer.hidden + 64);
    const Index grain = kRows * std::max<Index>(1, (1 << 18) / (cost + 1));
    parallel_for(layer.batch, grain, [&](Index begin, Index end) {
        for (Index row = begin; row < end; row += kRows) work.run(row, std::min(kRows, end - row));
    });
}

}  // namespace

void recurrent_layer(const RecurrentLayer& layer) {
    CLEW_KERNEL();
    if (layer.dtype == DType::Float32)
        for_rows(layer, Forward<float>(layer));
    else
        for_rows(layer, Forward<double>(layer));
}

void recurrent_layer_backward(const RecurrentLayer& layer, const RecurrentGradients& gradients) {
    CLEW_KERNEL();
    if (layer.dtype == DType::Float32)
        for_rows(layer, Backward<float>(layer, gradients));
    else
        for_rows(layer, Backward<double>(layer, gradients));
}

}  // namespace clew::kernels
