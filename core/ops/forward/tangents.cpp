// The tangents of tensors and of their views: Note [Tangents] in core/autograd/tangent.h.
#include <memory>
#include <span>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/ops/forward/dual_level.h"
#include "core/ops/functions.h"
#include "core/ops/views/geometry.h"
#include "core/tensor/packing.h"

namespace clew {

Tensor laid_as(Tensor tangent, const Layout& layout) {
    if (!tangent || lie_alike(tangent.layout(), layout)) return tangent;
    if (layout.contiguous || !is_dense(layout)) return contiguous(tangent);
    const Dims strides(layout.strides());
    const Dims innermost_first = memory_order(layout.shape(), std::span(&strides, 1));
    Dims there, back(layout.shape());
    for (int i = layout.ndim - 1; i >= 0; --i) {
        back[static_cast<int>(innermost_first[i])] = there.size();
        there.push_back(innermost_first[i]);
    }
    return permute(contiguous(permute(tangent, there)), back);
}

namespace {

Tangents* list_of(const Tensor& tensor) { return tensor->extras ? tensor->extras->tangents.get() : nullptr; }

void put(const Tensor& tensor, Ref<Tangent> tangent) {
    Extras& extras = extras_of(*tensor.get());
    if (!extras.tangents) extras.tangents = std::make_unique<Tangents>();
    put_tangent(*extras.tangents, std::move(tangent));
}

// What is written there replaces all of it. Where elements share places, views that are turned lie as the root does.
bool covers(const Tensor& tensor, const Tangent& root) {
    return is_dense(*root.layout) && root.dtype == tensor.dtype() && root.offset == tensor->offset &&
           same_sizes(root.layout->shape(), tensor.sizes()) && same_sizes(root.layout->strides(), tensor.strides());
}

Ref<Tangent> root_of(Tangent& tangent) { return tangent.root ? tangent.root : Ref<Tangent>(&tangent); }

void write_part(Tangent& root, const Tensor& tensor, const Tensor& tangent) {
    const auto [layout, offset] = geometry_in(tensor, root.offset, root.dtype);
    if (!root.value) root.value = zeros(root.layout->shape(), root.dtype);
    ++root.version;
    if (root.layout->contiguous && is_unshared(root.value))
        return copy_in_place(view_in(root.value, *layout, offset, tensor.dtype()), tangent);
    const LaidOut laid = lay_out(root.value, *root.layout);
    const std::int64_t scale = tensor.dtype() != root.dtype && is_complex(root.dtype) ? 2 : 1;
    const Tensor whole = view_scatter(laid.memory, tangent, *layout, offset + scale * laid.shift);
    root.value =
        root.layout->contiguous ? whole : as_strided(whole, root.layout->shape(), root.layout->strides(), laid.shift);
}

// Of `tensor`, whose memory is a part of that of something that lies so and has this tangent.
Tensor read_part(const Tensor& tangent, const Layout& lies, std::int64_t offset_of_it, DType dtype,
                 const Tensor& tensor) {
    const auto [layout, offset] = geometry_in(tensor, offset_of_it, dtype);
    // What is read first under no_grad() is read again elsewhere.
    const ModeGuard recording(kNoGrad, !grad_enabled() && !tangent.requires_grad());
    if (dtype != tensor.dtype()) {
        const LaidOut laid = lay_out(tangent, lies);
        const std::int64_t scale = is_complex(dtype) ? 2 : 1;
        return view_in(laid.memory, *layout, offset + scale * laid.shift, tensor.dtype());
    }
    const auto [whole, part, length] = in_one_block(lies, *layout, offset);
    if (is_dense(lies) && length == tangent.numel() && lie_alike(tangent.layout(), lies))
        return as_strided(tangent, part.sizes, part.strides, part.offset - whole.offset);
    const Tensor memory =
        as_strided_scatter(zeros(Dims{length}, tangent.dtype()), tangent, whole.sizes, whole.strides, whole.offset);
    return as_strided(memory, part.sizes, part.strides, part.offset);
}

Tensor read_part(const Tangent& root, const Tensor& tensor) {
    return read_part(root.value, *root.layout, root.offset, root.dtype, tensor);
}

bool lies_inside(const Tensor& view, const Tensor& source) {
    const Extent part = extent(view.layout()), whole = extent(source.layout());
    const std::int64_t shift = view->offset - source->offset;
    return view.dtype() == source.dtype() && shift + part.low >= whole.low && shift + part.high <= whole.high;
}

// What its node saved of a result had no tangent then.
void keep_in_slots(const Tensor& output) {
    const TensorObject& owner = output->base && !output->grad_fn ? *output->base.get() : *output.get();
    Node* node = owner.grad_fn.get();
    if (node && node->extras && node->extras->inner) node = node->extras->inner.get();
    if (node == nullptr) return;
    for (SavedSlot& slot : std::span(node->slots(), node->slot_count))
        if (slot.source == SlotSource::Output && slot.index == owner.output_index &&
            (slot.state == SlotState::Held || slot.state == SlotState::Packed))
            keep_tangents(slot, output);
}

}  // namespace

// Its own, or that of its base, whose part it is then.
Tangent* DualLevel::find(const Tensor& tensor) {
    if (const Tangents* own = list_of(tensor))
        if (Tangent* found = tangent_along(*own, tangents_)) return found;
    if (!tensor->base) return nullptr;
    const Tangents* of_base = list_of(Tensor(tensor->base.get()));
    Tangent* const found = of_base ? tangent_along(*of_base, tangents_) : nullptr;
    if (found == nullptr) return nullptr;
    Ref<Tangent> made(new Tangent(tangents_, tensor, {}));
    made->root = root_of(*found);
    made->version = made->root->version - 1;
    put(tensor, made);
    return made.get();
}

Tensor DualLevel::tangent_of(const Tensor& tensor) {
    if (!tensor->extras && !tensor->base) return {};
    Tangent* const found = find(tensor);
    if (found == nullptr || !found->root) return found ? found->value : Tensor();
    Tangent& root = *found->root;
    if (!root.value) return {};
    if (covers(tensor, root)) return root.value;
    if (found->version != root.version) {
        found->value = read_part(root, tensor);
        found->version = root.version;
    }
    return found->value;
}

void DualLevel::give_tangent(const Tensor& tensor, Tensor tangent) {
    put(tensor, saved(tensor, laid_as(std::move(tangent), tensor.layout())));
    keep_in_slots(tensor);
}

void DualLevel::give_output(const Tensor& output, Tensor tangent, Tensors inputs) {
    for (const Tensor& input : inputs) {
        if (input->storage != output->storage || !knows(input)) continue;
        const Tensor whole = tangent_of(input);
        if (whole && whole->storage != tangent->storage)
            fail(ErrorKind::Runtime,
                 "jvp: a custom Function's forward is returning a view (or an input as-is) but the jvp is not "
                 "returning a view; return the same view of the input's tangent, or a clone in forward");
        return share(input, output, std::move(tangent));
    }
    give_tangent(output, std::move(tangent));
}

Ref<Tangent> DualLevel::saved(const Tensor& tensor, Tensor tangent) {
    return Ref<Tangent>(new Tangent(tangents_, tensor, std::move(tangent)));
}

void DualLevel::write_tangent(const Tensor& tensor, Tensor tangent) {
    if (find(tensor) == nullptr) {
        if (!tangent) return;
        give_tangent(tensor->base ? Tensor(tensor->base.get()) : tensor, {});
    }
    Tangent& own = *find(tensor);
    Tangent& root = *root_of(own);
    if (&own != &root && !covers(tensor, root)) {
        write_part(root, tensor, tangent ? tangent : zeros_like(tensor));
        return keep_in_slots(tensor);
    }
    root.value = laid_as(std::move(tangent), *root.layout);
    ++root.version;
    keep_in_slots(tensor);
}

void DualLevel::share(const Tensor& source, const Tensor& view, Tensor tangent) {
    Tangent* const found = find(source);
    if (found == nullptr) return;
    Ref<Tangent> made(new Tangent(tangents_, view, std::move(tangent)));
    made->root = root_of(*found);
    made->version = made->root->version;
    put(view, std::move(made));
}

// A view that was made by naming places in memory. It is read from its source, if it looks at nothing else: where the
// root's elements share places, the source may be some of those that lie at one.
void DualLevel::share_part(const Tensor& source, const Tensor& view) {
    const Tensor tangent = tangent_of(source);
    if (!tangent) return share(source, view, {});
    share(source, view,
          lies_inside(view, source) ? read_part(tangent, source.layout(), source->offset, source.dtype(), view)
                                    : read_part(*root_of(*find(source)), view));
}

namespace {

void keep(const Tensor& value, Tangents& kept) {
    if (!value->extras && !value->base) return;
    for (const auto& level : open_levels())
        if (Tensor tangent = level->tangent_of(value)) kept.push_back(level->saved(value, std::move(tangent)));
}

bool are(TensorObject* tensor, const Tangents& kept) {
    const Tensor living(tensor);
    for (const auto& level : open_levels()) {
        const Tangent* const one = level->along(kept);
        if (one && !level->tangent_of(living).same(one->value)) return false;
    }
    return true;
}

const bool registered = [] {
    tangent_calls = {keep, are, carry_tangents};
    return true;
}();

}  // namespace

}  // namespace clew
