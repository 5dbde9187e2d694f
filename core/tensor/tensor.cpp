#include "core/tensor/tensor.h"

#include <cstring>
#include <new>

#include "core/base/error.h"
#include "core/base/frame.h"

namespace clew {

TensorObject* living_tensors = nullptr;

void construct(TensorObject* self) {
    new (&self->storage) StorageRef;
    new (&self->layout) LayoutRef;
    new (&self->grad_fn) NodeRef;
    new (&self->lost) Ref<HistoryBreak>;
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

[[gnu::hot]] void destruct(TensorObject* self) {
    if (self->extras) destroy(self->extras);
    self->storage.~StorageRef();
    self->layout.~LayoutRef();
    self->lost.~Ref<HistoryBreak>();
    self->base.~Ref<TensorObject>();
    self->grad_fn.~NodeRef();
}

[[gnu::hot]] TensorObject* new_tensor_object() {
    char* memory = static_cast<char*>(pool_take(kGcHead + sizeof(TensorObject)));
    std::memset(memory, 0, kGcHead);
    auto* self = reinterpret_cast<TensorObject*>(memory + kGcHead);
    self->references = 1;
    self->reserved = 0;
    self->type = runtime.tensor_type;
    construct(self);
    return self;
}

[[gnu::hot]] void free_tensor_object(TensorObject* self) {
    pool_give(reinterpret_cast<char*>(self) - kGcHead, kGcHead + sizeof(TensorObject));
}

namespace {
[[gnu::always_inline]] inline Tensor first_on(StorageRef storage, const LayoutRef& layout, DType dtype) {
    TensorObject* self = new_tensor_object();
    storage->owner = self;
    self->storage = std::move(storage);
    self->layout = layout;
    self->dtype = dtype;
    return Tensor::steal(self);
}
// It holds a number, whether kernels are skipped or not.
[[gnu::always_inline]] inline Tensor backed_scalar(DType dtype) {
    return first_on(Storage::make(static_cast<std::int64_t>(item_size(dtype)), true), Layout::scalar(), dtype);
}
}  // namespace

[[gnu::hot]] Tensor empty(const LayoutRef& layout, DType dtype) {
    constexpr std::int64_t kMost = std::int64_t{1} << 60;  // bytes; what the allocator rounds up to still fits 64 bits
    if (layout->numel > kMost / static_cast<std::int64_t>(sizeof(double))) [[unlikely]]
        fail(ErrorKind::Runtime, "empty: Storage size calculation overflowed with sizes=%s; make the tensor smaller",
             shape_text(layout->shape()).c_str());
    return first_on(Storage::make(layout->numel * static_cast<std::int64_t>(item_size(dtype))), layout, dtype);
}

[[gnu::hot]] Tensor empty(Sizes sizes, DType dtype) {
    for (auto size : sizes)
        if (size < 0)
            fail(ErrorKind::Runtime,
                 "empty: Trying to create tensor with negative dimension %lld: %s; sizes must be 0 or more",
                 static_cast<long long>(size), shape_text(sizes).c_str());
    return empty(Layout::make(sizes), dtype);
}

void check_inside_storage(const char* op, const Layout& layout, std::int64_t offset, DType dtype,
                          const Storage& storage) {
    const auto size = static_cast<std::int64_t>(item_size(dtype));
    const Extent reach = extent(layout);
    std::int64_t first, last, end;
    bool inside = offset >= 0 && offset <= INT64_MAX / size;
    // A step that nothing takes must still be one that can be counted in bytes.
    for (int i = 0; i < layout.ndim; ++i)
        inside = inside && layout.strides()[i] <= INT64_MAX / size && layout.strides()[i] >= INT64_MIN / size;
    if (inside && layout.numel)
        inside = !__builtin_add_overflow(offset, reach.low, &first) && first >= 0 &&
                 !__builtin_add_overflow(offset, reach.high, &last) && last < INT64_MAX &&
                 !__builtin_mul_overflow(last + 1, size, &end) && end <= storage.bytes;
    if (!inside)
        fail(ErrorKind::Runtime,
             "%s: sizes %s, strides %s, storage offset %lld are out of bounds for storage of %lld "
             "bytes; keep every element inside it",
             op, shape_text(layout.shape()).c_str(), shape_text(layout.strides()).c_str(),
             static_cast<long long>(offset), static_cast<long long>(storage.bytes));
}

[[gnu::hot]] Tensor alias(const Tensor& source, LayoutRef layout, std::int64_t offset) {
    TensorObject* self = new_tensor_object();
    self->storage = source->storage;
    self->layout = std::move(layout);
    self->offset = offset;
    self->dtype = source->dtype;
    return Tensor::steal(self);
}

[[gnu::hot]] Tensor scalar(double value, DType dtype) {
    Tensor result = backed_scalar(dtype);
    with_any_type(dtype, [&]<class T>() { *result.data_as<T>() = static_cast<T>(value); });
    return result;
}

Tensor scalar(Complex<double> value, DType dtype) {
    Tensor result = backed_scalar(dtype);
    with_any_type(dtype, [&]<class T>() {
        if constexpr (is_complex(dtype_of<T>::value))
            *result.data_as<T>() = T(value);
        else
            *result.data_as<T>() = static_cast<T>(value.real);
    });
    return result;
}

Tensor scalar_int(std::int64_t value, DType dtype) {
    Tensor result = backed_scalar(dtype);
    with_any_type(dtype, [&]<class T>() { *result.data_as<T>() = static_cast<T>(value); });
    return result;
}

namespace {
// A Python number is an argument like any other; a computed one is not there while kernels are skipped.
void need_number(const Tensor& t) {
    if (!t->has(TensorObject::kWrappedNumber)) need_values("a number in a tensor");
}
}  // namespace

double read_number(const Tensor& t) {
    need_number(t);
    return with_any_type(t.dtype(), [&]<class T>() { return to_real<double>(*t.data_as<T>()); });
}
Complex<double> read_complex(const Tensor& t) {
    need_number(t);
    return with_any_type(t.dtype(), [&]<class T>() -> Complex<double> {
        if constexpr (is_complex(dtype_of<T>::value))
            return Complex<double>(*t.data_as<T>());
        else
            return {static_cast<double>(*t.data_as<T>())};
    });
}
std::int64_t read_integer(const Tensor& t) {
    need_number(t);
    return with_any_type(t.dtype(), [&]<class T>() { return to_real<std::int64_t>(*t.data_as<T>()); });
}

}  // namespace clew
