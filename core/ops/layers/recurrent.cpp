// One step of an LSTM (Hochreiter and Schmidhuber, 1997) as one node: two products and one pass over the gates.
#include "core/kernels/layers/recurrent.h"
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/matrix/gemm.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

// out = a' b' + beta out, where ' transposes what is asked to be.
struct Side {
    const Tensor& matrix;
    bool transposed = false;
};
class SideView {
public:
    explicit SideView(const Side& side) : view_(side.matrix.view()) {
        if (!side.transposed) return;
        for (int i = 0; i < 2; ++i) sizes_[i] = view_.sizes[1 - i], strides_[i] = view_.strides[1 - i];
        view_.sizes = sizes_;
        view_.strides = strides_;
    }
    SideView(const SideView&) = delete;
    operator const kernels::View&() const { return view_; }

private:
    std::int64_t sizes_[2], strides_[2];
    kernels::View view_;
};
void multiply_sides(const Tensor& out, const Side& a, const Side& b, double beta = 0) {
    kernels::gemm(out.view(), SideView(a), SideView(b), {1.0, 1}, {beta, 0});
}

// Output 2 holds the gates after their activations. It is there for the gradient, and has a history like the others: a
// second derivative that is made from it comes back to this node.
struct FusedLstmCell {
    enum Input { kX, kHidden, kCell, kWeightInput, kWeightHidden, kBiasInput, kBiasHidden };
    enum Output { kNextHidden, kNextCell, kGates };
    static constexpr OpText text{
        .schema =
            "_lstm_cell(Tensor input, Tensor hx, Tensor cx, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? b_hh)",
        .node = "LstmCellBackward0",
        .flags = clew::kHidden,
        .outputs = "hy cy gates",
        .domain =
            "input=real(a, b), hx=real(a, 2), cx=real(a, 2), w_ih=real(8, b), w_hh=real(8, 2), b_ih=real(8), "
            "b_hh=real(8)"};
    static void forward(const Tensor& x, const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
                        const Tensor& b_ih, const Tensor& b_hh, Tensor& hy, Tensor& cy, Tensor& gates) {
        need_fit("lstm_cell",
                 x.ndim() == 2 && hx.ndim() == 2 && all_floating(x.dtype(), {&hx, &cx, &w_ih, &w_hh, &b_ih, &b_hh}));
        const std::int64_t batch = x.size(0), hidden = hx.size(1), rows = 4 * hidden;
        need_fit("lstm_cell", hx.size(0) == batch && is_like(cx, hx) && has_sizes(w_ih, {rows, x.size(1)}) &&
                                  has_sizes(w_hh, {rows, hidden}) && (!b_ih || has_sizes(b_ih, {rows})) &&
                                  (!b_hh || has_sizes(b_hh, {rows})));
        gates = empty({batch, 4 * hidden}, x.dtype());
        const Tensor cell = as_contiguous(cx), bias_input = contiguous_or_null(b_ih),
                     bias_hidden = contiguous_or_null(b_hh);
        hy = empty(cell.layout_ref(), x.dtype());
        cy = empty(cell.layout_ref(), x.dtype());
        const WithoutGil released(batch * hidden * (x.size(1) + hidden) / 4);
        multiply_sides(gates, {x}, {w_ih, true});
        multiply_sides(gates, {hx}, {w_hh, true}, 1);
        if (kernels_skipped()) return;
        kernels::recurrent().lstm_cell[static_cast<int>(x.dtype())](
            {batch, hidden, gates.data(), data_or_null(bias_input), data_or_null(bias_hidden), cell.data(), hy.data(),
             cy.data()});
    }

    static Saves saves(std::uint64_t needs, const NoAttrs&) {
        const auto needed = [needs](Input input) { return needs >> input & 1; };
        Saves saves{.inputs = 0, .outputs = 1u << kNextCell | 1u << kGates};
        if (needs != 1u << kCell) saves.inputs |= 1u << kCell;
        if (needed(kX)) saves.inputs |= 1u << kWeightInput;
        if (needed(kHidden)) saves.inputs |= 1u << kWeightHidden;
        if (needed(kWeightInput)) saves.inputs |= 1u << kX;
        if (needed(kWeightHidden)) saves.inputs |= 1u << kHidden;
        return saves;
    }

    static void backward(BackwardCall& call) {
        // In operations where the derivative is to be differentiated, or already was: the gates have a gradient then.
        if (!differentiates() && !call.incoming[kGates]) return run_fused<FusedLstmCell>(call);
        around_gates(
            call, composed_gates(call), [](const Tensor& a, const Tensor& b) { return mm(a, b); },
            [](const Tensor& a, const Tensor& b) { return mm(t(a), b); });
    }
    static bool fit(BackwardCall& call) {
        const Tensor gates = saved_output(call, kGates), cy = saved_output(call, kNextCell);
        if (!gates || !cy || cy.ndim() != 2) return false;
        const std::int64_t batch = cy.size(0), rows = 4 * cy.size(1);
        const auto is_matrix = [&](Input input, std::int64_t size) {
            const Tensor x = saved_input(call, input);
            return x && x.dtype() == cy.dtype() && x.ndim() == 2 && x.size(0) == size;
        };
        const auto may_be = [&](const Tensor& x) { return !x || is_like(x, cy); };
        return all_floating(cy.dtype(), {&gates}) && has_sizes(gates, {batch, rows}) && gates.contiguous() &&
               cy.contiguous() && may_be(call.incoming[kNextHidden]) && may_be(call.incoming[kNextCell]) &&
               (call.needed == 1u << kCell || (saved_input(call, kCell) && is_like(saved_input(call, kCell), cy))) &&
               (!call.needs(kX) || is_matrix(kWeightInput, rows)) &&
               (!call.needs(kHidden) || is_matrix(kWeightHidden, rows)) &&
               (!call.needs(kWeightInput) || is_matrix(kX, batch)) &&
               (!call.needs(kWeightHidden) || is_matrix(kHidden, batch));
    }
    static void fused_backward(BackwardCall& call) {
        need_fit("lstm_cell", fit(call));
        around_gates(
            call, fused_gates(call), [](const Tensor& a, const Tensor& b) { return product({a}, {b}); },
            [](const Tensor& a, const Tensor& b) { return product({a, true}, {b}); });
    }

private:
    // The gradients of all but the cell state.
    template <class Times, class TransposedTimes>
    static void around_gates(BackwardCall& call, const Tensor& grad_gates, const Times& times,
                             const TransposedTimes& transposed_times) {
        if (call.needs(kX)) call.results[kX] = times(grad_gates, saved_input(call, kWeightInput));
        if (call.needs(kHidden)) call.results[kHidden] = times(grad_gates, saved_input(call, kWeightHidden));
        if (call.needs(kWeightInput)) call.results[kWeightInput] = transposed_times(grad_gates, saved_input(call, kX));
        if (call.needs(kWeightHidden))
            call.results[kWeightHidden] = transposed_times(grad_gates, saved_input(call, kHidden));
        if (!call.needs(kBiasInput) && !call.needs(kBiasHidden)) return;
        const Tensor of_bias = sum(grad_gates, Dims{0}, false);
        if (call.needs(kBiasInput)) call.results[kBiasInput] = of_bias;
        if (call.needs(kBiasHidden)) call.results[kBiasHidden] = of_bias;
    }
    static Tensor product(const Side& a, const Side& b) {
        const Tensor out = empty({a.matrix.size(a.transposed ? 1 : 0), b.matrix.size(1)}, a.matrix.dtype());
        const WithoutGil released(a.matrix.numel() * b.matrix.size(1) / 16);
        multiply_sides(out, a, b);
        return out;
    }

    // The gradient of the gates before their activations; puts that of the cell state into its place.
    static Tensor fused_gates(BackwardCall& call) {
        const Tensor gates = saved_output(call, kGates), cy = saved_output(call, kNextCell);
        const Tensor cx = call.needed == 1u << kCell ? cy : as_contiguous(saved_input(call, kCell));
        const Tensor grad_hidden = contiguous_or_null(call.incoming[kNextHidden]),
                     grad_next = contiguous_or_null(call.incoming[kNextCell]);
        const Tensor grad_gates = empty(gates.layout_ref(), gates.dtype()),
                     grad_cell = empty(cy.layout_ref(), cy.dtype());
        if (!kernels_skipped())
            kernels::recurrent().lstm_cell_backward[static_cast<int>(gates.dtype())](
                {cy.size(0), cy.size(1), gates.data(), cx.data(), cy.data(), data_or_null(grad_hidden),
                 data_or_null(grad_next), grad_gates.data(), grad_cell.data()});
        if (call.needs(kCell)) call.results[kCell] = grad_cell;
        return grad_gates;
    }

    static Tensor composed_gates(BackwardCall& call) {
        const Tensor gates = saved_output(call, kGates), cy = saved_output(call, kNextCell),
                     cx = saved_input(call, kCell);
        const std::int64_t hidden = cy.size(1);
        const auto gate = [hidden](const Tensor& all, int i) { return narrow(all, 1, i * hidden, hidden); };
        const Tensor input = gate(gates, 0), forget = gate(gates, 1), update = gate(gates, 2);
        const Tensor nothing = zeros(cy.sizes(), cy.dtype());
        // What had no part in what is differentiated may be infinite.
        const bool reads_output = call.incoming[kNextHidden] || call.incoming[kGates];
        const Tensor output = reads_output ? gate(gates, 3) : nothing, squashed = reads_output ? tanh(cy) : nothing;
        const auto incoming = [&](Output i) { return call.incoming[i] ? call.incoming[i] : nothing; };
        const Tensor from_hidden = incoming(kNextHidden);
        const auto slope = [](const Tensor& squashed_value) { return sub(one(), square(squashed_value)); };
        const Tensor through = add(incoming(kNextCell), mul(mul(from_hidden, output), slope(squashed)));
        if (call.needs(kCell)) call.results[kCell] = mul(through, forget);
        Tensor by_value[] = {mul(through, update), cx ? mul(through, cx) : nothing, mul(through, input),
                             mul(from_hidden, squashed)};
        if (call.incoming[kGates])
            for (int i = 0; i < 4; ++i) by_value[i] = add(by_value[i], gate(call.incoming[kGates], i));
        const auto logistic_slope = [](const Tensor& value) { return mul(value, sub(one(), value)); };
        const Tensor parts[] = {mul(by_value[0], logistic_slope(input)), mul(by_value[1], logistic_slope(forget)),
                                mul(by_value[2], slope(update)), mul(by_value[3], logistic_slope(output))};
        return cat(parts, 1);
    }
};

void need_shape(const char* argument, const Tensor& x, std::initializer_list<std::int64_t> expected,
                const Tensor& like) {
    if (!x) return;
    const Dims sizes(expected);
    if (!same_sizes(x.sizes(), sizes))
        fail(ErrorKind::Runtime, "lstm_cell: expected %s of shape %s, got %s", argument, shape_text(sizes).c_str(),
             shape_text(x.sizes()).c_str());
    if (x.dtype() != like.dtype())
        fail(ErrorKind::Runtime, "lstm_cell: expected %s of dtype %s like the input, got %s; cast it", argument,
             dtype_name(like.dtype()), dtype_name(x.dtype()));
}

struct LstmCell {
    static constexpr OpText text{
        .schema =
            "lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)",
        .flags = kFunction | kComposite,
        .outputs = "hy cy",
        .domain =
            "input=real(a, b), hx=[real(a, 2), real(a, 2)], w_ih=real(8, b), w_hh=real(8, 2), b_ih=real(8), "
            "b_hh=real(8)",
        .doc =
            "One step of an LSTM: input (N, I), hx = (h, c) of shape (N, H) each, w_ih (4H, I), w_hh (4H, H), biases "
            "(4H,). The four parts of a = input @ w_ih.T + b_ih + h @ w_hh.T + b_hh are i, f, g, o: c' = sigmoid(f) * "
            "c + sigmoid(i) * tanh(g), h' = sigmoid(o) * tanh(c'). Gives (h', c').",
        .example =
            ">>> state = torch.zeros(1, 1), torch.ones(1, 1)\n"
            ">>> h, c = torch.lstm_cell(torch.ones(1, 1), state, torch.zeros(4, 1), torch.zeros(4, 1))\n"
            ">>> h, c\n"
            "(tensor([[0.2311]]), tensor([[0.5000]]))"};
    static void forward(const Tensor& x, Tensors state, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                        const Tensor& b_hh, Tensor& hy, Tensor& cy) {
        if (state.size() != 2)
            fail(ErrorKind::Runtime, "lstm_cell: expected hx to be (hidden, cell), got %zu tensors", state.size());
        if (x.ndim() != 2 || !is_floating(x.dtype()))
            fail(ErrorKind::Runtime, "lstm_cell: expected a floating input of shape (batch, features), got %s %s",
                 dtype_name(x.dtype()), shape_text(x.sizes()).c_str());
        if (w_ih.ndim() != 2 || w_hh.ndim() != 2)
            fail(ErrorKind::Runtime, "lstm_cell: expected weights to be matrices, got shapes %s and %s",
                 shape_text(w_ih.sizes()).c_str(), shape_text(w_hh.sizes()).c_str());
        const std::int64_t batch = x.size(0), hidden = w_hh.size(1);
        if (x.size(1) != w_ih.size(1))
            fail(ErrorKind::Runtime, "lstm_cell: input has inconsistent input_size: got %lld expected %lld",
                 static_cast<long long>(x.size(1)), static_cast<long long>(w_ih.size(1)));
        need_shape("hx[0]", state[0], {batch, hidden}, x);
        need_shape("hx[1]", state[1], {batch, hidden}, x);
        need_shape("w_ih", w_ih, {4 * hidden, x.size(1)}, x);
        need_shape("w_hh", w_hh, {4 * hidden, hidden}, x);
        need_shape("b_ih", b_ih, {4 * hidden}, x);
        need_shape("b_hh", b_hh, {4 * hidden}, x);
        const std::array<Tensor, 7> inputs{x, state[0], state[1], w_ih, w_hh, b_ih, b_hh};
        std::array<Tensor, 3> outputs;
        apply(definition<FusedLstmCell>(), inputs, nullptr, outputs);
        hy = outputs[FusedLstmCell::kNextHidden];
        cy = outputs[FusedLstmCell::kNextCell];
    }
};

}  // namespace

static const Register<FusedLstmCell, LstmCell> recurrent_operations;

}  // namespace clew
