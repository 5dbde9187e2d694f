#include "core/autograd/leaf.h"

#include "core/autograd/hooks.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/base/error.h"
#include "core/tensor/packing.h"

namespace clew {

EngineOps engine_ops;
SparseCalls sparse_calls;

[[gnu::hot]] Extras& extras_of(TensorObject& tensor) {
    if (tensor.extras == nullptr) tensor.extras = new (pool_take(sizeof(Extras))) Extras;
    return *tensor.extras;
}

void mark_tracked(TensorObject& tensor) {
    if (tensor.has(TensorObject::kTracked)) return;
    tensor.set(TensorObject::kTracked, true);
    runtime.track(&tensor);
}

[[gnu::hot]] void destroy(Extras* extras) {
    if (extras->accumulator) {
        OutputRecord& record = extras->accumulator->outputs()[0];
        // A stand-in for a leaf that is gone has the same accumulator; only the leaf itself is in the record.
        if (record.tensor && record.tensor->extras == extras) record.tensor = nullptr;
    }
    extras->~Extras();
    pool_give(extras, sizeof(Extras));
}

namespace {

void accumulate_backward(BackwardCall& call) { accumulate(*call.node, std::move(call.incoming[0])); }

// Up to date: what was written through another view or the base may have changed this view's history.
void refresh_view(const Tensor& view) {
    const std::uint32_t version = version_of(*view.get());
    if (view->history_version == version) return;
    const Tensor base(view->base.get());
    if (!view->grad_fn && !base.requires_grad()) return;
    check_view_kind(*view.get(), nullptr);
    const Edge edge = gradient_edge(base);
    if (!edge) return;
    const bool retains = view->has(TensorObject::kRetainsGrad);
    const Tensor fresh = [&] {
        ModeGuard guard(kNoGrad | kTiming, false);
        const ViewGeometry place = geometry_in(view, base);
        return view_in(base, *place.layout, place.offset, view.dtype());
    }();
    unlink_output(view.get());
    unlink_output(fresh.get());
    view->grad_fn = fresh->grad_fn;
    view->output_index = fresh->output_index;
    view->grad_fn->outputs()[view->output_index].tensor = view.get();
    view->history_version = version;
    if (retains) extras_of(*view->grad_fn).retains_grad = true;
}

}  // namespace

const NodeKind accumulate_kind{.name = "accumulate_grad",
                               .node_name = "AccumulateGrad",
                               .full_name = "torch::autograd::AccumulateGrad",
                               .backward = accumulate_backward};

Node* accumulator_of(const Tensor& leaf) {
    if (is_batched(leaf)) [[unlikely]]
        fail(ErrorKind::Runtime,
             "vmap: a tensor that stands for a batch has no node of its own, so backward(), autograd.grad() and hooks "
             "are not supported inside of vmap; take clew.func.grad there, or call them outside");
    Extras& extras = extras_of(*leaf.get());
    if (!extras.accumulator) {
        NodeRef node = new_node(accumulate_kind, {0, 0, 1});
        node->set(Node::kAccumulate);
        node->sequence = 0xffffffffffff;
        set_output(*node, 0, leaf.get());
        extras.accumulator = std::move(node);
    }
    return extras.accumulator.get();
}

void check_shape_of_history(const Edge& edge, const Tensor& tensor) {
    const Layout& recorded = *edge.node->outputs()[edge.index].layout;
    if (same_sizes(recorded.shape(), tensor.sizes())) return;
    if (edge.node->has(Node::kAccumulate) && edge.node->references == 1) {  // no graph leads here
        set_output_shape(*edge.node, edge.index, tensor->layout, tensor->dtype);
        return;
    }
    fail(ErrorKind::Runtime,
         "data: expected the shape %s, with which this tensor was used in a graph that still lives, got %s since its "
         "`.data` was replaced; let go of that graph first (of its loss), or give the new data to a new tensor",
         shape_text(recorded.shape()).c_str(), shape_text(tensor.sizes()).c_str());
}

const NodeRef& grad_fn_of(const Tensor& tensor) {
    if (tensor->base && tensor.requires_grad()) refresh_view(tensor);
    return tensor->grad_fn;
}

Tensor grad_of(const Tensor& tensor) {
    if (mode(kInterpreted)) [[unlikely]]
        engine_ops.grad_read(tensor);
    return tensor->extras ? tensor->extras->grad : Tensor();
}

void set_grad(const Tensor& tensor, Tensor grad) {
    if (!grad && !tensor->extras && !mode(kInterpreted)) return;
    mode(kInterpreted) ? engine_ops.rebind_grad(tensor, grad) : assign_grad(tensor, std::move(grad));
}

void assign_grad(const Tensor& tensor, Tensor grad) {
    if (grad && grad->has(TensorObject::kTracked)) mark_tracked(*tensor.get());
    Extras& extras = extras_of(*tensor.get());
    std::swap(extras.grad, grad);  // the old one dies last: that may run Python
}

void set_requires_grad(const Tensor& tensor, bool on) {
    if (is_batched(tensor) && on != tensor.requires_grad())
        fail(ErrorKind::Runtime,
             "You are attempting to call Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs) "
             "inside of a function being transformed by vmap. This is unsupported, please attempt to use the "
             "transforms (e.g. func.grad, vjp, jacrev, jacfwd, hessian) or call requires_grad_() outside of it "
             "instead.");
    if (on && !is_inexact(tensor.dtype()))
        fail(ErrorKind::Runtime,
             "requires_grad: only Tensors of floating point and complex dtype can require gradients, got %s; cast it "
             "first",
             dtype_name(tensor.dtype()));
    if (on && tensor->has(TensorObject::kInference) && !mode(kInferenceMode))
        fail(ErrorKind::Runtime,
             "requires_grad: Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    // Whether it is a leaf as it stands: a view that may not be read since its base was written need not tell.
    if (tensor->grad_fn) {
        if (!on)
            fail(ErrorKind::Runtime,
                 "requires_grad: you can only change requires_grad flags of leaf variables. If you want to use a "
                 "computed variable in a "
                 "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
        return;
    }
    if (!on && tensor->has(TensorObject::kRequiresGrad) && !mode(kInBackward | kNoProvenance))
        tensor->lost = HistoryBreak::make("requires_grad=False");
    tensor->set(TensorObject::kRequiresGrad, on);
}

void retain_grad(const Tensor& tensor) {
    if (!tensor.requires_grad())
        fail(ErrorKind::Runtime, "retain_grad: can't retain_grad on Tensor that has requires_grad=False");
    if (tensor->view_kind != ViewKind::Default && !tensor->grad_fn)
        return;  // a leaf, and need not be brought up to date
    if (!grad_fn_of(tensor)) return;
    tensor->set(TensorObject::kRetainsGrad, true);
    extras_of(*tensor->grad_fn).retains_grad = true;
}

[[gnu::hot]] void set_history(const Tensor& tensor, const NodeRef& node, int output) {
    if (tensor->grad_fn) unlink_output(tensor.get());
    set_output(*node, output, tensor.get());
    tensor->output_index = static_cast<std::uint16_t>(output);
    tensor->grad_fn = node;
    tensor->lost = nullptr;
    tensor->set(TensorObject::kRequiresGrad, false);
    if (tensor->base) tensor->history_version = version_of(*tensor.get());
    if (tensor->has(TensorObject::kRetainsGrad)) extras_of(*node).retains_grad = true;
    if (node->has(Node::kPython)) mark_tracked(*tensor.get());
}

// Of no memory any strides are dense, and those of a fresh result are others.
bool is_unshared(const Tensor& t) {
    return t->references == 1 && t->storage->references == 1 && t->storage->bytes != 0 && is_dense(t.layout()) &&
           !t->base && !t->storage->foreign && !t->grad_fn;
}

namespace {

// A view of all of a memory that nobody else sees (a rule's product, transposed) is as good as the product itself.
bool is_sole_view(const Tensor& t) {
    return t->base && t->references == 1 && t->base->references == 1 && t->storage->references == 2 &&
           is_dense(t.layout()) && t->offset == 0 && !t->storage->foreign && !t->grad_fn && !t->base->grad_fn &&
           !t->base->extras && t->storage->bytes == t.numel() * static_cast<std::int64_t>(item_size(t.dtype()));
}

// The gradient of a dense leaf lies as the leaf does, axes of one element aside; that of any other leaf is contiguous.
bool lies_as_leaf(const Tensor& gradient, const Tensor& leaf) {
    if (!is_dense(leaf.layout())) return gradient.contiguous();
    if (gradient->layout == leaf->layout) return true;
    for (int axis = 0; axis < leaf.ndim(); ++axis)
        if (leaf.size(axis) != 1 && gradient.stride(axis) != leaf.stride(axis)) return false;
    return true;
}

// What `.grad` becomes when there was none: the gradient itself where nothing else holds it, else a copy.
Tensor first_gradient(Tensor gradient, const Tensor& leaf) {
    if (!grad_enabled() && lies_as_leaf(gradient, leaf)) {
        if (is_unshared(gradient)) return gradient;
        if (is_sole_view(gradient)) return alias(gradient, gradient.layout_ref(), 0);
    }
    return engine_ops.copy_for_leaf(gradient, leaf);
}

}  // namespace

void add_gradient(Tensor& into, Tensor gradient) {
    if (!into) {
        into = std::move(gradient);
    } else if (process_mode != 0 && (is_sparse(into) || is_sparse(gradient))) {
        into = sparse_calls.sum(into, gradient, false);
    } else if (is_batched(into) || is_batched(gradient)) {
        into = engine_ops.add(into, gradient);
    } else if (!grad_enabled() && is_unshared(into) && into.dtype() == gradient.dtype() && lie_alike(into, gradient)) {
        engine_ops.add_in_place(into, gradient);
    } else if (!grad_enabled() && is_unshared(gradient) && into.dtype() == gradient.dtype() &&
               lie_alike(into, gradient)) {
        engine_ops.add_in_place(gradient, into);
        into = std::move(gradient);
    } else {
        into = engine_ops.add(into, gradient);
    }
}

void check_device(const Tensor& gradient, const Tensor& of, const char* who) {
    if (!of->storage || (gradient && is_sparse(gradient))) return;  // a stand-in for an edge, or values elsewhere
    if (gradient && is_meta(gradient) != is_meta(of))
        fail(ErrorKind::NotImplemented, "%s: Cannot copy out of meta tensor; no data! %s", who,
             is_meta(of) ? "The gradient has memory, what it belongs to is on the device 'meta'"
                         : "The gradient is on the device 'meta', what it belongs to has memory");
}

namespace {
[[noreturn, gnu::cold]] void fail_batched_gradient() {
    fail(ErrorKind::Runtime,
         "backward() called inside a vmap with a gradient for each sample. This is not supported, since a .grad is one "
         "tensor; take clew.func.grad, or call backward() outside");
}
}  // namespace

void accumulate(Node& accumulator, Tensor gradient) {
    if (!gradient || accumulator.outputs()[0].tensor == nullptr) return;
    const Tensor leaf(accumulator.outputs()[0].tensor);
    if (!leaf->has(TensorObject::kRequiresGrad)) return;  // it no longer asks: requires_grad_(False), detach_()
    if (gradient->layout != leaf->layout && !same_sizes(gradient.sizes(), leaf.sizes()))
        fail(ErrorKind::Runtime,
             "AccumulateGrad: expected a gradient of shape %s, which its leaf has since `.data` was replaced, got %s; "
             "ask for it by autograd.grad, or run the forward again",
             shape_text(leaf.sizes()).c_str(), shape_text(gradient.sizes()).c_str());
    check_device(gradient, leaf, "AccumulateGrad");
    if (is_batched(gradient) != is_batched(leaf)) fail_batched_gradient();
    // A .grad without history has no tangents, either.
    if (mode(kForwardMode) && !grad_enabled()) [[unlikely]]
        gradient = alias(gradient, gradient->layout, gradient->offset);
    const Tensor before = grad_of(leaf);
    if (process_mode != 0 && (is_sparse(gradient) || (before && is_sparse(before)))) [[unlikely]] {
        if (before && !grad_enabled() && !is_sparse(before)) check_in_place(before, "accumulate_grad", false);
        set_grad(leaf, sparse_calls.sum(before, gradient, !grad_enabled()));
        if (before && !grad_enabled() && !is_sparse(before)) bump_version(before, "accumulate_grad");
    } else if (!before) {
        Tensor kept = first_gradient(std::move(gradient), leaf);
        if (!kept->grad_fn && !grad_enabled())
            kept->lost = HistoryBreak::by_plain_backward();
        else if (!kept.requires_grad() && (!kept->lost || kept->lost->may_be_data))
            kept->lost = HistoryBreak::of_constant_gradient();
        set_grad(leaf, std::move(kept));
    } else if (grad_enabled()) {
        set_grad(leaf, engine_ops.add(before, gradient));
    } else {
        check_in_place(before, "accumulate_grad", false);
        engine_ops.add_in_place(before, gradient);
        bump_version(before, "accumulate_grad");
    }
    if (accumulator.extras == nullptr) return;
    const auto hooks = accumulator.extras->accumulate_hooks;
    for (const Hook& hook : hooks) hook_calls.accumulate(hook.callable, leaf);
}

}  // namespace clew
