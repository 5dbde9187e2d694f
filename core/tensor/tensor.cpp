#include "core/tensor/tensor.h"

#include <cstring>
#include <new>

#include "core/base/error.h"

namespace clew {

TensorObject* living_tensors = nullptr;

void construct(TensorObject* self) {
    new (&self->storage) StorageRef;
    new (&self->layout) LayoutRef;
    new (&self->grad_fn) NodeRef;
    new (&self->lost) Ref<Lost>;
    new (&self->base) Ref<TensorObject>;
    self->offset = 0;
    self->dtype = DType::Float32;
    self->view_kind = ViewKind::Default;
    self->flags = 0;
    self->output_index = 0;
    self->history_version = 0;
    self->extras = nullptr;
    self->dict = nullptr;
    self->weak_references = nullptr;
    self->previous = nullptr;
    self->next = living_tensors;
    if (living_tensors) living_tensors->previous = self;
    living_tensors = self;
}

void destruct(TensorObject* self) {
    (self->previous ? self->previous->next : living_tensors) = self->next;
    if (self->next) self->next->previous = self->previous;
    if (self->storage && self->storage->owner == self) self->storage->owner = nullptr;
    if (self->extras) destroy(self->extras);
    self->storage.~StorageRef();
    self->layout.~LayoutRef();
    self->lost.~Ref<Lost>();
    self->base.~Ref<TensorObject>();
    self->grad_fn.~NodeRef();
}

TensorObject* new_tensor_object() {
    char* memory = static_cast<char*>(pool_take(kGcHead + sizeof(TensorObject)));
    std::memset(memory, 0, kGcHead);
    auto* self = reinterpret_cast<TensorObject*>(memory + kGcHead);
    self->references = 1;
    self->reserved = 0;
    self->type = runtime.tensor_type;
    construct(self);
    return self;
}

void free_tensor_object(TensorObject* self) {
    pool_give(reinterpret_cast<char*>(self) - kGcHead, kGcHead + sizeof(TensorObject));
}

Tensor empty(const LayoutRef& layout, DType dtype) {
    StorageRef storage = Storage::make(layout->numel * static_cast<std::int64_t>(item_size(dtype)));
    TensorObject* self = new_tensor_object();
    storage->owner = self;
    self->storage = std::move(storage);
    self->layout = layout;
    self->dtype = dtype;
    return Tensor::steal(self);
}

Tensor empty(Sizes sizes, DType dtype) {
    std::int64_t numel = 1;
    for (auto size : sizes) {
        if (size < 0)
            fail(ErrorKind::Runtime,
                 "empty: Trying to create tensor with negative dimension %lld: %s; sizes must be 0 or more",
                 static_cast<long long>(size), shape_text(sizes).c_str());
        if (__builtin_mul_overflow(numel, size, &numel) || numel > (std::int64_t{1} << 58))
            fail(ErrorKind::Runtime, "empty: a tensor of shape %s is too large for memory", shape_text(sizes).c_str());
    }
    return empty(Layout::make(sizes), dtype);
}

Tensor alias(const Tensor& source, LayoutRef layout, std::int64_t offset) {
    TensorObject* self = new_tensor_object();
    self->storage = source->storage;
    self->layout = std::move(layout);
    self->offset = offset;
    self->dtype = source->dtype;
    return Tensor::steal(self);
}

namespace {
template <class F>
auto with_type(DType dtype, F&& f) {
    switch (dtype) {
        case DType::Bool:
            return f(bool{});
        case DType::UInt8:
            return f(std::uint8_t{});
        case DType::Int32:
            return f(std::int32_t{});
        case DType::Int64:
            return f(std::int64_t{});
        case DType::Float32:
            return f(float{});
        default:
            return f(double{});
    }
}
}  // namespace

Tensor scalar(double value, DType dtype) {
    Tensor result = empty(Layout::scalar(), dtype);
    with_type(dtype, [&](auto zero) { *result.data_as<decltype(zero)>() = static_cast<decltype(zero)>(value); });
    return result;
}

Tensor scalar_int(std::int64_t value, DType dtype) {
    Tensor result = empty(Layout::scalar(), dtype);
    with_type(dtype, [&](auto zero) { *result.data_as<decltype(zero)>() = static_cast<decltype(zero)>(value); });
    return result;
}

double read_number(const Tensor& t) {
    return with_type(t.dtype(), [&](auto zero) { return static_cast<double>(*t.data_as<decltype(zero)>()); });
}
std::int64_t read_integer(const Tensor& t) {
    return with_type(t.dtype(), [&](auto zero) { return static_cast<std::int64_t>(*t.data_as<decltype(zero)>()); });
}

}  // namespace clew
