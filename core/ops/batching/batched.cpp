#include "core/ops/batching/batched.h"

#include <vector>

#include "core/base/error.h"

namespace clew {
namespace {

LayoutRef layout_of_sample(const Tensor& value) {
    return Layout::make(value.sizes().subspan(1), value.strides().subspan(1));
}

StorageRef storage_for(const Tensor& value, const Layout& layout, std::int64_t batch, bool alike) {
    const std::int64_t bytes =
        layout.numel ? (extent(layout).high + 1) * static_cast<std::int64_t>(item_size(value.dtype())) : 0;
    return Storage::unbacked_for(
        bytes, [](void* context) { delete static_cast<Batched*>(context); }, new Batched{batch, value, alike});
}

void point_to(const Tensor& tensor, const Tensor& value, std::int64_t batch, bool alike) {
    tensor->layout = layout_of_sample(value);
    tensor->storage = storage_for(value, *tensor->layout, batch, alike);
    tensor->dtype = value.dtype();
    tensor->set(TensorObject::kRequiresGrad, value.requires_grad());
}

}  // namespace

Tensor make_batched(const Tensor& value, std::int64_t batch, bool alike) {
    if (value.ndim() == 0) fail(ErrorKind::Runtime, "vmap: expected a value with an axis for the batch");
    Tensor made = Tensor::steal(new_tensor_object());
    point_to(made, value, batch, alike);
    return made;
}

void carry_alike(std::span<const Tensor> from, const Tensor& to) {
    std::vector<Tensor> sources(from.begin(), from.end());
    for (Tensor at = to; is_batched(at); at = batched(at).value) {
        bool alike = true;
        for (Tensor& source : sources) {
            if (!is_batched_by(source, batched(at).batch)) continue;
            alike = alike && batched(source).alike;
            source = Tensor(batched(source).value);
        }
        set_alike(at, alike);
    }
}

void set_batched(const Tensor& tensor, const Tensor& value) {
    point_to(tensor, value, batched(tensor).batch, batched(tensor).alike);
}

void fail_outside_vmap(const char* what) {
    fail(ErrorKind::Runtime,
         "%s: a tensor that stands for a batch is used outside the vmap() that made it; return it from the function "
         "that is vmapped instead",
         what);
}

void refuse_batched(const OpCall& call) {
    for (const Tensor& input : call.inputs)
        if (input && is_batched(input)) fail_outside_vmap(call.op.name);
}

}  // namespace clew
