// What is asked of a backward pass, checked; and what is handed out of it.
#include "core/autograd/engine.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/tangent.h"
#include "core/autograd/view.h"

namespace clew {

void (*explain_no_grad)(const Tensor& root, std::size_t index) = nullptr;

namespace {

void check_roots(std::span<const Tensor> roots, std::span<const Tensor> gradients) {
    for (std::size_t i = 0; i < roots.size(); ++i) {
        const Tensor& root = roots[i];
        const Tensor& gradient = gradients[i];
        if (is_sparse(root))
            fail(
                ErrorKind::NotImplemented,
                "backward: expected strided outputs, got a sparse tensor at index %zu; reduce it (sparse.sum), or take "
                "its to_dense()",
                i);
        if (!gradient_edge(root)) explain_no_grad(root, i);
        if (!gradient) {
            if (root.numel() != 1)
                fail(ErrorKind::Runtime,
                     "grad can be implicitly created only for scalar outputs; output %zu has shape %s: reduce it, or "
                     "pass its gradient",
                     i, shape_text(root.sizes()).c_str());
            if (is_complex(root.dtype()))
                fail(ErrorKind::Runtime,
                     "grad can be implicitly created only for real scalar outputs but got torch.%s; take abs() or "
                     "real, or pass its gradient",
                     dtype_name(root.dtype()));
            continue;
        }
        if (!same_sizes(gradient.sizes(), root.sizes()))
            fail(ErrorKind::Runtime,
                 "Mismatch in shape: grad_output[%zu] has a shape of torch.Size(%s) and output[%zu] has a shape of "
                 "torch.Size(%s).",
                 i, shape_text(gradient.sizes()).c_str(), i, shape_text(root.sizes()).c_str());
        if (!is_inexact(gradient.dtype()))
            fail(ErrorKind::Runtime, "backward: expected a floating gradient for output %zu, got dtype %s; cast it", i,
                 dtype_name(gradient.dtype()));
    }
}

// A view that a rule made is nobody's view outside. What was asked for twice stays one tensor.
void take_views_out(std::vector<Tensor>& gradients) {
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        const Tensor view = gradients[i];
        if (!view || !view->base) continue;
        const Tensor plain = alias(view, view->layout, view->offset);
        if (mode(kForwardMode)) tangent_calls.carry(view, plain);
        for (Tensor& gradient : gradients)
            if (gradient.get() == view.get()) gradient = plain;
    }
}

// A gradient without create_graph has no history: whoever differentiates it will ask why.
void note_plain_gradients(std::vector<Tensor>& gradients) {
    if (mode(kInBackward | kNoProvenance)) return;
    Ref<HistoryBreak> lost;
    for (Tensor& gradient : gradients) {
        if (!gradient || gradient.requires_grad() || gradient->references > 1) continue;  // the user's own
        if (!lost) lost = HistoryBreak::make("grad without create_graph");
        gradient->lost = lost;
    }
}

}  // namespace

// With create_graph: whoever differentiates a gradient that has no history will look for what is not wrong.
void note_constant_gradients(std::span<const Tensor> gradients) {
    if (mode(kInBackward | kNoProvenance)) return;
    Ref<HistoryBreak> constant;
    for (const Tensor& gradient : gradients) {
        if (!gradient || gradient.requires_grad() || gradient->references > 1) continue;
        if (gradient->lost && !gradient->lost->may_be_data) continue;
        if (!constant) constant = HistoryBreak::of_constant_gradient();
        gradient->lost = constant;
    }
}

void fit_to_roots(std::span<const Tensor> roots, std::vector<Tensor>& gradients) {
    if (gradients.empty()) gradients.resize(roots.size());
    if (gradients.size() != roots.size())
        fail(ErrorKind::Runtime, "got %zu tensors and %zu gradients", roots.size(), gradients.size());
    check_roots(roots, gradients);
    for (Tensor& gradient : gradients)
        if (gradient && is_sparse(gradient)) gradient = sparse_calls.to_dense(gradient);
    for (std::size_t i = 0; i < roots.size(); ++i) {
        if (!gradients[i] || !roots[i]->storage || is_meta(gradients[i]) == is_meta(roots[i])) continue;
        if (is_meta(gradients[i]) || gradients[i].ndim() != 0)
            fail(ErrorKind::Runtime, "invalid gradient at index %zu - expected device %s but got %s", i,
                 is_meta(roots[i]) ? "meta" : "cpu", is_meta(gradients[i]) ? "meta" : "cpu");
        gradients[i] = engine_ops.ones_like(roots[i]);  // a number; on meta all are alike
    }
    for (std::size_t i = 0; i < roots.size(); ++i)
        if (gradients[i] && gradients[i].dtype() != roots[i].dtype())
            gradients[i] = engine_ops.cast(gradients[i], roots[i].dtype());
}

void check_inputs(std::span<const Tensor> inputs, bool accumulate) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (!inputs[i].requires_grad())
            fail(ErrorKind::Runtime,
                 "One of the differentiated Tensors does not require grad: input %zu; set requires_grad=True before it "
                 "is used",
                 i);
    if (accumulate)  // the engine fills .grad of leaves, and of results that retain theirs
        for (const Tensor& input : inputs) retain_grad(input);
}

void make_plain(std::vector<Tensor>& gradients) {
    take_views_out(gradients);
    note_plain_gradients(gradients);
}

}  // namespace clew
