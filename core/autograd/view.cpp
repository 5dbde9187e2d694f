#include "core/autograd/view.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/autograd/hooks.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"

namespace clew {

void share_version(const Tensor& result, const Tensor& source) {
    if (!source->has(TensorObject::kAliasCounter)) return;
    extras_of(*result.get()).counter = source->extras->counter;
    result->set(TensorObject::kAliasCounter, true);
}

void own_version(const Tensor& result, std::uint32_t value) {
    auto* counter = new VersionCounter;
    counter->value = value;
    extras_of(*result.get()).counter = Ref<VersionCounter>::steal(counter);
    result->set(TensorObject::kAliasCounter, true);
}

[[gnu::hot]] void mark_view(const Tensor& result, const Tensor& source, ViewKind kind) {
    share_version(result, source);
    TensorObject* const base = source->base ? source->base.get() : source.get();
    result->base = Ref<TensorObject>(base);
    if (base->has(TensorObject::kTracked)) mark_tracked(*result.get());
    result->history_version = version_of(*result.get());
    result->view_kind = source->base && kind == ViewKind::Default ? source->view_kind : kind;
}

namespace {

void check_no_overlap(const Tensor& self, const char* op) {
    const Layout& layout = self.layout();
    if (layout.contiguous) return;
    for (int i = 0; i < layout.ndim; ++i)
        if (layout.sizes()[i] > 1 && layout.strides()[i] == 0)
            fail(ErrorKind::Runtime,
                 "%s: unsupported operation: more than one element of the written-to tensor refers to a single memory "
                 "location. "
                 "Please clone() the tensor before performing the operation.",
                 op);
}

}  // namespace

void announce_write(const Tensor& self) {
    if (mode(kWatchWrites)) saved_hooks.before_write(self);
}

void check_view_kind(const TensorObject& view, const char* op) {
    if (view.view_kind == ViewKind::Default) return;
    const std::string who = op ? format("%s: ", op) : std::string();
    const char* what =
        op ? "is being modified inplace" : "its base or another view of its base has been modified inplace";
    if (view.view_kind == ViewKind::NoGrad)
        fail(ErrorKind::Runtime,
             "%sA view was created in no_grad mode and %s%s. What its history should be is ambiguous. To do: make the "
             "view and write both inside no_grad, or both outside%s",
             who.c_str(), what, op ? " with grad mode enabled" : "",
             op ? "" : ", or make the view again after the write");
    const char* why = view.view_kind == ViewKind::MultiOutput
                          ? "This view is the output of a function that returns multiple views. Such functions do not "
                            "allow the output views to be modified inplace"
                          : "This view was created inside a custom Function (or because an input was returned as-is), "
                            "whose backward would be overridden. Clone the output of the custom Function";
    fail(ErrorKind::Runtime,
         "%sOutput %d of %s is a view and %s. %s. You should replace the inplace operation by an out-of-place one%s",
         who.c_str(), static_cast<int>(view.output_index), view.grad_fn ? view.grad_fn->kind->node_name : "a view",
         what, why, op ? "" : ", or make the view again after the write");
}

void check_in_place(const Tensor& self, const char* op, bool records, bool writes_memory) {
    if (writes_memory) check_no_overlap(self, op);
    announce_write(self);
    if (self->has(TensorObject::kInference) && !mode(kInferenceMode))
        fail(ErrorKind::Runtime,
             "%s: Inplace update to inference tensor outside InferenceMode is not allowed. You can make a clone to get "
             "a normal "
             "tensor before doing inplace update.",
             op);
    if (!grad_enabled()) return;
    const bool wants = self.requires_grad();
    if (self->base && (wants || records)) {
        check_view_kind(*self.get(), op);
        if (wants && !self->base->grad_fn)
            throw LeafModified(format("%s: a view of a leaf Variable that requires grad is being used in an in-place "
                                      "operation. To do: write under no_grad(), or to a clone()",
                                      op),
                               Tensor(self->base.get()));
    }
    if (wants && !self->grad_fn && self->has(TensorObject::kRequiresGrad))
        throw LeafModified(format("%s: a leaf Variable that requires grad is being used in an in-place operation. "
                                  "To do: write under no_grad(), or to a clone()",
                                  op),
                           self);
}

void bump_version(const Tensor& self, const char* op, bool by_optimizer) {
    bump_version(self, {.layout = self->layout, .offset = self->offset, .dtype = self.dtype()}, op, by_optimizer);
}

void bump_version(const Tensor& self, const WrittenPart& part, const char* op, bool by_optimizer) {
    if (self->has(TensorObject::kInference)) return;
    if (self->has(TensorObject::kAliasCounter))
        ++self->extras->counter->value;
    else
        ++self->storage->version;
    if (part.layout->numel == 0) return;
    // Writes through `.data` are seen by nothing else.
    if (mode(kNoProvenance) && !self->has(TensorObject::kAliasCounter)) return;
    const Extent reach = extent(*part.layout);
    const auto size = static_cast<std::int64_t>(item_size(part.dtype));
    if (part.site.code) runtime.retain(part.site.code);
    note_write(*self->storage, {.op = op,
                                .by_optimizer = by_optimizer,
                                .site = part.site,
                                .counter = counter_of(*self.get()),
                                .begin = (part.offset + reach.low) * size,
                                .end = (part.offset + reach.high + 1) * size,
                                .layout = part.layout,
                                .offset = part.offset,
                                .item_size = size});
}

// Note [Views of another dtype]
// view_as_real, real and imag look at complex memory in real numbers, view_as_complex the other way. Where a view is
// found in its base by geometry, both are seen in real numbers then.
ViewGeometry geometry_in(const Tensor& view, std::int64_t offset_of_base, DType dtype_of_base) {
    const auto scale = [](DType dtype) { return is_complex(dtype) ? 2 : 1; };
    if (view.dtype() == dtype_of_base) return {view.layout_ref(), view->offset - offset_of_base};
    const std::int64_t offset = scale(view.dtype()) * view->offset - scale(dtype_of_base) * offset_of_base;
    if (!is_complex(view.dtype())) return {view.layout_ref(), offset};
    Dims sizes(view.sizes()), strides;
    for (const std::int64_t stride : view.strides()) strides.push_back(2 * stride);
    sizes.push_back(2), strides.push_back(1);
    return {Layout::make(sizes, strides), offset};
}

namespace {

Tensor part_of(const Tensor& x, const Layout& layout, std::int64_t offset) {
    const bool whole = offset == 0 && same_shape(x.layout(), layout) && same_sizes(x.strides(), layout.strides());
    return whole ? x : engine_ops.as_strided(x, layout, offset);
}

// Whether a view in real numbers is view_as_real of complex ones, and no `real` or `imag`.
bool holds_pairs(const Layout& layout, std::int64_t offset) {
    const int last = layout.ndim - 1;
    if (last < 0 || layout.shape()[last] != 2 || layout.strides()[last] != 1 || offset % 2) return false;
    return std::ranges::all_of(layout.strides().first(last), [](std::int64_t stride) { return stride % 2 == 0; });
}

}  // namespace

Tensor view_in(const Tensor& base, const Layout& layout, std::int64_t offset, DType dtype) {
    if (base.dtype() == dtype) return engine_ops.as_strided(base, layout, offset);
    if (is_complex(dtype)) return engine_ops.view_as_complex(part_of(base, layout, offset));
    if (!holds_pairs(layout, offset)) return part_of(engine_ops.view_as_real(base), layout, offset);
    Dims sizes, strides;
    for (int axis = 0; axis + 1 < layout.ndim; ++axis) {
        sizes.push_back(layout.shape()[axis]);
        strides.push_back(layout.strides()[axis] / 2);
    }
    return engine_ops.view_as_real(part_of(base, *Layout::make(sizes, strides), offset / 2));
}

Tensor view_scatter(const Tensor& base, const Tensor& value, const Layout& layout, std::int64_t offset) {
    if (base.dtype() == value.dtype()) return engine_ops.as_strided_scatter(base, value, layout, offset);
    const Tensor parts = is_complex(base.dtype()) ? engine_ops.view_as_real(base) : base;
    const Tensor written = is_complex(value.dtype()) ? engine_ops.view_as_real(value) : value;
    const Tensor whole = engine_ops.as_strided_scatter(parts, written, layout, offset);
    return is_complex(base.dtype()) ? engine_ops.view_as_complex(whole) : whole;
}

LaidOut lay_out(const Tensor& value, const Layout& base) {
    if (base.contiguous) return {engine_ops.contiguous(value), 0};
    const Extent reach = extent(base);
    const Tensor memory = engine_ops.zeros(Dims{reach.high - reach.low + 1}, value.dtype());
    return {engine_ops.as_strided_scatter(memory, value, base, -reach.low), -reach.low};
}

namespace {

// A view of what CopySlices gives, where the in-place operation wrote: only its history matters. None where the
// operation's node keeps nothing that it wrote, or no graph is built.
Tensor written_view(Node& slices, const LaidOut& gradient) {
    Node& inner = *slices.extras->inner;
    const std::span<const SavedSlot> slots(inner.slots(), inner.slot_count);
    const auto is_output = [](const SavedSlot& slot) { return slot.source == SlotSource::Output; };
    if (!grad_enabled() || std::ranges::none_of(slots, is_output)) return {};
    const Tensor whole = alias(gradient.memory, LayoutRef(slices.outputs()[0].layout), gradient.shift);
    whole->grad_fn = NodeRef(&slices);
    const SavedSlot& where = slices.slots()[0];
    return view_in(whole, *where.layout, where.offset, where.dtype);
}

// Runs the wrapped node.
void run_wrapped(BackwardCall& inside, Edge of_written) {
    const Written here{*inside.node, of_written};
    const Written* const before = std::exchange(written, of_written ? &here : written);
    struct Restore {
        const Written* before;
        ~Restore() { written = before; }
    } restore{before};
    inside.node->kind->backward(inside);
}

// grad of base -> [grad of old base, grads of the other inputs of the in-place operation]
void copy_slices_backward(BackwardCall& call) {
    if (!call.incoming[0]) return;
    Node& inner = *call.node->extras->inner;
    const Layout& base = *call.node->outputs()[0].layout;
    const LaidOut gradient = lay_out(call.incoming[0], base);
    // Slot 0 of CopySlices keeps no data: only where the view lies in its base.
    const SavedSlot& where = call.node->slots()[0];
    const bool in_parts = where.dtype != gradient.memory.dtype() && is_complex(gradient.memory.dtype());
    const std::int64_t offset = where.offset + (in_parts ? 2 : 1) * gradient.shift;
    Tensor part[1] = {view_in(gradient.memory, *where.layout, offset, where.dtype)};
    std::vector<Tensor> results(inner.edge_count);
    BackwardCall inside{&inner, part, results, call.needed};
    const Tensor view = written_view(*call.node, gradient);
    run_wrapped(inside, view ? gradient_edge(view) : Edge{});
    if (call.needs(0)) {
        const Dims sizes(inner.outputs()[0].layout->shape());
        Tensor rest = results[0] ? results[0] : engine_ops.zeros(sizes, where.dtype);
        if (!same_sizes(rest.sizes(), sizes)) rest = engine_ops.sum_to(rest, sizes);
        const Tensor whole = view_scatter(gradient.memory, rest, *where.layout, offset);
        call.results[0] = base.contiguous ? whole : engine_ops.as_strided(whole, base, gradient.shift);
    }
    for (std::uint32_t i = 1; i < inner.edge_count; ++i) call.results[i] = std::move(results[i]);
}

}  // namespace

const NodeKind copy_slices_kind{.name = "copy_slices",
                                .node_name = "CopySlices",
                                .full_name = "torch::autograd::CopySlices",
                                .backward = copy_slices_backward};

void rebase_history(const Tensor& self, const NodeRef& node) {
    if (!self->base) {
        set_history(self, node, 0);
        return;
    }
    const Tensor base(self->base.get());
    NodeRef slices = new_node(copy_slices_kind, {node->edge_count, 1, 1});
    node->set(Node::kWrapped);
    set_edge(*slices, 0, gradient_edge(base));
    for (std::uint32_t i = 1; i < node->edge_count; ++i)
        set_edge(*slices, static_cast<int>(i), node->edge(static_cast<int>(i)));
    SavedSlot& where = slices->slots()[0];
    ViewGeometry geometry = geometry_in(self, base);
    where.layout = geometry.layout.detach();
    where.offset = geometry.offset;
    where.dtype = self.dtype();
    extras_of(*slices).inner = node;
    set_output_shape(*node, 0, self->layout, self->dtype);
    if (node->has(Node::kPython)) mark_python(*slices);
    set_history(base, slices, 0);
    // The view's own history is made from the base's when somebody asks: its version is behind now.
    unlink_output(self.get());
    self->grad_fn = nullptr;
    self->history_version = version_of(*self.get()) - 1;
    gradient_edge(self);
}

}  // namespace clew
