// A recurrent layer as one node: one product for the input's part of all steps, the steps, and on the way back one
// product for each weight over all steps.
#include "core/kernels/layers/recurrent_layer.h"

#include <array>
#include <vector>

#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/error.h"
#include "core/kernels/matrix/tall_product.h"
#include "core/ops/differentiates.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"
#include "core/ops/layers/matrix_part.h"
#include "core/ops/layers/recurrent_composed.h"
#include "core/ops/operands.h"

namespace clew {
namespace {

using kernels::RecurrentKind;
using namespace recurrent;

enum Output { kAll, kLastHidden, kLastCell, kGates, kCells, kOutputs };

struct Sizes3 {
    std::int64_t steps, batch, features, hidden, held, weighed;
    std::int64_t rows() const { return steps * batch; }
};
Sizes3 sizes_of(const Tensor& x, const Tensor& hidden, const LayerAttrs& attrs) {
    const auto kind = static_cast<RecurrentKind>(attrs.kind);
    return {x.size(0), x.size(1), x.size(2), hidden.size(1), kernels::gates_held(kind), kernels::gates_weighed(kind)};
}

bool fit(const LayerAttrs& attrs, const std::array<Tensor, kInputs>& of) {
    const Tensor &x = of[kX], &hidden = of[kFirstHidden], &cell = of[kFirstCell];
    if (!x || !hidden || !of[kWeightInput] || !of[kWeightHidden]) return false;
    if (attrs.kind < 0 || attrs.kind > static_cast<int>(RecurrentKind::Relu) || x.ndim() != 3 || hidden.ndim() != 2)
        return false;
    const Sizes3 sizes = sizes_of(x, hidden, attrs);
    const std::int64_t rows = sizes.weighed * sizes.hidden;
    const bool lstm = static_cast<RecurrentKind>(attrs.kind) == RecurrentKind::Lstm;
    for (const Tensor& one : of)
        if (one && (one.dtype() != x.dtype() || !is_floating(one.dtype()))) return false;
    for (const int bias : {kBiasInput, kBiasHidden})
        if (of[static_cast<std::size_t>(bias)] && !has_sizes(of[static_cast<std::size_t>(bias)], {rows})) return false;
    return sizes.steps > 0 && hidden.size(0) == sizes.batch && bool(cell) == lstm && (!cell || is_like(cell, hidden)) &&
           has_sizes(of[kWeightInput], {rows, sizes.features}) && has_sizes(of[kWeightHidden], {rows, sizes.hidden});
}

kernels::RecurrentLayer layer_of(const LayerAttrs& attrs, const Sizes3& sizes, std::span<const Tensor> inputs,
                                 const Tensor& gates, const Tensor& output, const Tensor& cells) {
    return {output.dtype(),
            static_cast<RecurrentKind>(attrs.kind),
            attrs.reverse,
            sizes.steps,
            sizes.batch,
            sizes.hidden,
            gates ? gates.data() : output.data(),
            data_or_null(inputs[kBiasInput]),
            data_or_null(inputs[kBiasHidden]),
            inputs[kWeightHidden].data(),
            inputs[kFirstHidden].data(),
            data_or_null(inputs[kFirstCell]),
            output.data(),
            data_or_null(cells)};
}

// The gradients that need no steps: of the input, the weights and the biases.
class AroundSteps {
public:
    AroundSteps(BackwardCall& call, std::span<const Tensor> inputs, const Tensor& output, const Tensor& grad_gates,
                const LayerAttrs& attrs)
        : call_(call),
          inputs_(inputs),
          output_(output),
          grads_(grad_gates),
          sizes_(sizes_of(inputs[kX], inputs[kFirstHidden], attrs)),
          reverse_(attrs.reverse),
          gru_(static_cast<RecurrentKind>(attrs.kind) == RecurrentKind::Gru),
          row_(sizes_.held * sizes_.hidden) {}

    void run() {
        const std::int64_t columns = sizes_.weighed * sizes_.hidden, rows = sizes_.rows(), features = sizes_.features;
        const Tensor &x = inputs_[kX], &weight = inputs_[kWeightInput];
        if (call_.needs(kX)) {
            const Tensor& grad = result(kX) = empty(x.sizes(), x.dtype());
            multiply({grad, 0, rows, features, features}, {grads_, 0, rows, columns, row_},
                     {weight, 0, columns, features, features});
        }
        if (call_.needs(kWeightInput)) {
            const Tensor& grad = result(kWeightInput) = empty(weight.sizes(), x.dtype());
            weight_gradient(grad.data(), {grads_.data(), columns, row_}, {x.data(), features, features}, rows, false);
        }
        if (call_.needs(kWeightHidden)) hidden_weights();
        if (call_.needs(kBiasInput) || call_.needs(kBiasHidden)) biases();
    }

private:
    Tensor& result(Input i) { return call_.results[static_cast<std::size_t>(i)]; }

    static char* place(const Tensor& x, std::int64_t element) {
        return x.data() + element * static_cast<std::int64_t>(item_size(x.dtype()));
    }
    void weight_gradient(void* out, const kernels::TallMatrix& gates, const kernels::TallMatrix& source,
                         std::int64_t rows, bool more) const {
        kernels::tall_product(output_.dtype(), rows, gates, source, out, source.columns, more);
    }

    // Rows [begin, end) of the weights, whose gates begin at column `first`.
    void hidden_weights(const Tensor& grad, std::int64_t begin, std::int64_t end, std::int64_t first) {
        const std::int64_t hidden = sizes_.hidden, batch = sizes_.batch, later = (sizes_.steps - 1) * batch;
        const std::int64_t first_step = reverse_ ? later : 0, other_steps = reverse_ ? 0 : batch;
        const auto add = [&](const Tensor& states, std::int64_t state, std::int64_t row, std::int64_t rows, bool more) {
            weight_gradient(place(grad, begin * hidden), {place(grads_, row * row_ + first), end - begin, row_},
                            {place(states, state * hidden), hidden, hidden}, rows, more);
        };
        add(inputs_[kFirstHidden], 0, first_step, batch, false);
        if (later > 0) add(output_, reverse_ ? batch : 0, other_steps, later, true);
    }
    void hidden_weights() {
        const Tensor& grad = result(kWeightHidden) = empty(inputs_[kWeightHidden].sizes(), output_.dtype());
        const std::int64_t hidden = sizes_.hidden, rows = sizes_.weighed * hidden;
        hidden_weights(grad, 0, gru_ ? 2 * hidden : rows, 0);
        if (gru_) hidden_weights(grad, 2 * hidden, rows, 3 * hidden);
    }

    void biases() {
        const std::int64_t hidden = sizes_.hidden;
        const Tensor total = sum(grads_, Dims{0, 1}, false);
        if (!gru_) {
            for (const Input i : {kBiasInput, kBiasHidden})
                if (call_.needs(i)) result(i) = total;
            return;
        }
        if (call_.needs(kBiasInput)) result(kBiasInput) = clone(narrow(total, 0, 0, 3 * hidden));
        if (!call_.needs(kBiasHidden)) return;
        const Tensor parts[] = {narrow(total, 0, 0, 2 * hidden), narrow(total, 0, 3 * hidden, hidden)};
        result(kBiasHidden) = cat(parts, 0);
    }

    BackwardCall& call_;
    std::span<const Tensor> inputs_;
    const Tensor& output_;
    const Tensor& grads_;
    const Sizes3 sizes_;
    const bool reverse_, gru_;
    const std::int64_t row_;
};

// Outputs 3 and 4 are for the gradient: the gates of an LSTM or GRU and the cell states of an LSTM, of all steps.
struct RecurrentLayer {
    using Attrs = LayerAttrs;
    static constexpr auto fields = std::tuple{&Attrs::kind, &Attrs::reverse};
    static constexpr OpText text{
        .schema =
            "_recurrent_layer(Tensor input, Tensor hx, Tensor? cx, Tensor w_ih, Tensor w_hh, Tensor? b_ih, Tensor? "
            "b_hh, int kind, bool reverse)",
        .node = "RecurrentLayerBackward0",
        .flags = kHidden,
        .outputs = "output hy cy gates cells",
        .domain = "unsampled, 'its later results are for its backward alone; nn.LSTM, nn.GRU and nn.RNN runs it'",
        .doc =
            "All steps of a layer: input (L, N, I), hx and cx (N, H). kind: 0 LSTM, 1 GRU, 2 tanh, 3 relu; cy, gates "
            "and cells only where there are any."};
    static void forward(const Tensor& x, const Tensor& hx, const Tensor& cx, const Tensor& w_ih, const Tensor& w_hh,
                        const Tensor& b_ih, const Tensor& b_hh, const Attrs& attrs, Tensor& output, Tensor& hy,
                        Tensor& cy, Tensor& gates, Tensor& cells) {
        need_fit("recurrent_layer", fit(attrs, {x, hx, cx, w_ih, w_hh, b_ih, b_hh}));
        const Sizes3 sizes = sizes_of(x, hx, attrs);
        const Tensor inputs[] = {as_contiguous(x),        as_contiguous(hx),   contiguous_or_null(cx),
                                 as_contiguous(w_ih),     as_contiguous(w_hh), contiguous_or_null(b_ih),
                                 contiguous_or_null(b_hh)};
        output = empty({sizes.steps, sizes.batch, sizes.hidden}, x.dtype());
        if (sizes.held > 1) gates = empty({sizes.steps, sizes.batch, sizes.held * sizes.hidden}, x.dtype());
        if (cx) cells = empty(output.layout_ref(), x.dtype());
        const std::int64_t columns = sizes.weighed * sizes.hidden, features = sizes.features;
        {
            const WithoutGil released(sizes.rows() * columns * (features + sizes.hidden) / 16);
            multiply({gates ? gates : output, 0, sizes.rows(), columns, sizes.held * sizes.hidden},
                     {inputs[kX], 0, sizes.rows(), features, features},
                     {inputs[kWeightInput], 0, columns, features, features, true});
            kernels::recurrent_layer(layer_of(attrs, sizes, inputs, gates, output, cells));
        }
        hy = last_of(output, attrs);
        if (cx) cy = last_of(cells, attrs);
    }

    static Saves saves(Tensors inputs, std::uint64_t, const Attrs& attrs) {
        Saves saves{.inputs = 0b1111011, .outputs = 1u << kAll};
        if (kernels::gates_held(static_cast<RecurrentKind>(attrs.kind)) > 1) saves.outputs |= 1u << kGates;
        if (inputs[kFirstCell]) saves.inputs |= 1u << kFirstCell, saves.outputs |= 1u << kCells;
        return saves;
    }
    static void backward(BackwardCall& call) {
        if (differentiates())
            composed_backward(call);
        else
            run_fused<RecurrentLayer>(call);
    }

    static Tensor last_of(const Tensor& all, const Attrs& attrs) {
        const std::int64_t last = attrs.reverse ? 0 : all.size(0) - 1, size = all.size(1) * all.size(2);
        const Tensor copy = empty({all.size(1), all.size(2)}, all.dtype());
        if (size > 0) kernels::copy(copy.view(), alias(all, copy.layout_ref(), last * size).view());
        return copy;
    }
    static void fused_backward(BackwardCall& call) {
        const Attrs& attrs = attributes_of<Attrs>(call);
        std::array<Tensor, kInputs> inputs;
        for (int i = 0; i < kInputs; ++i)
            inputs[static_cast<std::size_t>(i)] = contiguous_or_null(saved_input(call, i));
        const Tensor output = saved_output(call, kAll), gates = saved_output(call, kGates),
                     cells = saved_output(call, kCells);
        const Tensor grad_output = contiguous_or_null(call.incoming[kAll]),
                     grad_hidden = contiguous_or_null(call.incoming[kLastHidden]),
                     grad_cell = contiguous_or_null(call.incoming[kLastCell]);
        need_fit("recurrent_layer", fit(attrs, inputs));
        const Sizes3 sizes = sizes_of(inputs[kX], inputs[kFirstHidden], attrs);
        const DType dtype = inputs[kX].dtype();
        const std::int64_t cells_of_all = sizes.rows() * sizes.hidden;
        const auto may_be = [](const Tensor& gradient, const Tensor& of) { return !gradient || is_like(gradient, of); };
        need_fit(
            "recurrent_layer",
            is_packed(output, dtype, cells_of_all) && has_sizes(output, {sizes.steps, sizes.batch, sizes.hidden}) &&
                (sizes.held > 1 ? is_packed(gates, dtype, cells_of_all * sizes.held) : !gates) &&
                (inputs[kFirstCell] ? is_packed(cells, dtype, cells_of_all) : !cells) && may_be(grad_output, output) &&
                may_be(grad_hidden, inputs[kFirstHidden]) && may_be(grad_cell, inputs[kFirstHidden]));
        const Tensor grad_gates =
            gates ? empty(gates.layout_ref(), gates.dtype()) : empty(output.layout_ref(), output.dtype());
        const Tensor grad_first_hidden = empty(inputs[kFirstHidden].layout_ref(), output.dtype());
        const Tensor grad_first_cell = cells ? empty(inputs[kFirstHidden].layout_ref(), output.dtype()) : Tensor();
        {
            const WithoutGil released(grad_gates.numel() * sizes.hidden / 16);
            kernels::recurrent_layer_backward(
                layer_of(attrs, sizes, inputs, gates, output, cells),
                {data_or_null(grad_output), data_or_null(grad_hidden), data_or_null(grad_cell), grad_gates.data(),
                 grad_first_hidden.data(), data_or_null(grad_first_cell)});
        }
        if (call.needs(kFirstHidden)) call.results[kFirstHidden] = grad_first_hidden;
        if (call.needs(kFirstCell)) call.results[kFirstCell] = grad_first_cell;
        AroundSteps(call, inputs, output, grad_gates, attrs).run();
    }

private:
    // The derivative of the composed layer, with a graph. Its inputs are seen through views of their own: what leads
    // from one of them to another is not this layer's business. In forward mode nobody else need ask for a graph.
    static void composed_backward(BackwardCall& call) {
        const bool records = grad_enabled();
        const ModeGuard recording(kNoGrad, false);
        std::array<Tensor, kInputs> inputs;
        std::vector<Tensor> wanted;
        for (int i = 0; i < kInputs; ++i) {
            Tensor& input = inputs[static_cast<std::size_t>(i)];
            if ((input = saved_input(call, i))) input = view_alias(input);
            if (!call.needs(i)) continue;
            if (!input.requires_grad()) set_requires_grad(input, true);
            wanted.push_back(input);
        }
        const Composed layer(inputs, attributes_of<Attrs>(call));
        const Tensor outputs[] = {layer.output(), layer.hidden(), layer.cell()};
        std::vector<Tensor> roots, gradients;
        for (std::size_t i = 0; i < 3; ++i) {
            if (!call.incoming[i]) continue;
            roots.push_back(outputs[i]);
            gradients.push_back(call.incoming[i]);
        }
        const BackwardResult result = run_backward(
            {.roots = roots, .gradients = gradients, .keep_graph = records, .create_graph = records, .inputs = wanted});
        std::size_t next = 0;
        for (int i = 0; i < kInputs; ++i)
            if (call.needs(i)) call.results[static_cast<std::size_t>(i)] = result.captured[next++];
    }
};

}  // namespace

static const Register<RecurrentLayer> recurrent_layer_operations;

}  // namespace clew
