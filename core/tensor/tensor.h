// A tensor: storage seen through a layout, and its place in the graph. The object that Python holds is this one.
#pragma once
#include <cstdint>
#include <initializer_list>

#include "core/base/checked.h"
#include "core/base/object.h"
#include "core/kernels/view.h"
#include "core/tensor/layout.h"
#include "core/tensor/storage.h"

namespace clew {

struct Node;          // core/autograd/node.h
struct HistoryBreak;  // core/autograd/ledger.h: where history was lost
struct Extras;        // core/autograd/leaf.h: gradient, accumulator, hooks; most tensors have none
void retain(HistoryBreak*);
void release(HistoryBreak*);
void destroy(Extras*);
using NodeRef = Ref<Node>;
inline void retain(Node* node) { retain(reinterpret_cast<Object*>(node)); }
inline void release(Node* node) { release(reinterpret_cast<Object*>(node)); }

// May a view be written through in place while gradients are recorded? See core/autograd/view.h.
enum class ViewKind : std::uint8_t { Default, MultiOutput, CustomFunction, NoGrad };

struct TensorObject : Object {
    enum Flag : std::uint8_t {
        kRequiresGrad = 1,   // a leaf that asked for a gradient
        kWrappedNumber = 2,  // stands for a Python number in type promotion
        kInference = 4,      // made under inference_mode: outside autograd for good
        kRetainsGrad = 8,
        kAliasCounter = 16,  // the version counter is in extras, not in the storage
        kSubclass = 32,      // not exactly Tensor
        kTracked = 64,       // the garbage collector sees it
        kPreexisting = 128,  // it was there before the block that is being kept (core/program)
    };
    StorageRef storage;
    LayoutRef layout;
    std::int64_t offset;  // in elements
    DType dtype : 4;
    ViewKind view_kind : 4;
    std::uint8_t flags;
    std::uint16_t output_index;     // of grad_fn
    std::uint32_t history_version;  // a view: the version at which grad_fn was made (see view.h)
    NodeRef grad_fn;
    Ref<HistoryBreak> lost;
    Ref<TensorObject> base;  // a view: the tensor it looks at, never a view itself
    Extras* extras;
    // Python's part.
    void* dict;
    void* weak_references;
    TensorObject* previous;  // the list of all living tensors
    TensorObject* next;

    bool has(Flag flag) const { return (flags & flag) != 0; }
    void set(Flag flag, bool on) { flags = static_cast<std::uint8_t>(on ? flags | flag : flags & ~flag); }
};
inline void retain(TensorObject* t) { ++t->references; }
inline void release(TensorObject* t) { release(static_cast<Object*>(t)); }

// The list of all living tensors starts here.
extern TensorObject* living_tensors;

// Makes the C++ part of an object whose memory bind/ has allocated (or `new_tensor_object` has), and takes it down
// again. Before that, and before Python is told of its death, which may record or look at all tensors, it is unlinked:
// nothing finds it any more.
void construct(TensorObject* self);
inline void unlink(TensorObject* self) {
    (self->previous ? self->previous->next : living_tensors) = self->next;
    if (self->next) self->next->previous = self->previous;
    if (self->storage && self->storage->owner == self) self->storage->owner = nullptr;
}
void destruct(TensorObject* self);
TensorObject* new_tensor_object();  // exactly Tensor, from the pool, with room for the collector's head before it
void free_tensor_object(TensorObject* self);

inline constexpr std::size_t kGcHead = 16;  // what CPython keeps before an object that its collector may see

// A counted handle, what C++ code passes around; may be empty.
struct Tensor {
    Tensor() = default;
    explicit Tensor(Ref<TensorObject> object) : object_(std::move(object)) {}
    explicit Tensor(TensorObject* borrowed) : object_(borrowed) {}
    static Tensor steal(TensorObject* owned) { return Tensor(Ref<TensorObject>::steal(owned)); }

    explicit operator bool() const { return static_cast<bool>(object_); }
    TensorObject* get() const { return object_.get(); }
    TensorObject* operator->() const { return object_.get(); }
    TensorObject* detach() { return object_.detach(); }

    DType dtype() const { return object_->dtype; }
    const Layout& layout() const { return *object_->layout; }
    const LayoutRef& layout_ref() const { return object_->layout; }
    Sizes sizes() const { return object_->layout->shape(); }
    Sizes strides() const { return object_->layout->strides(); }
    int ndim() const { return object_->layout->ndim; }
    std::int64_t size(int axis) const { return object_->layout->sizes()[axis]; }
    std::int64_t stride(int axis) const { return object_->layout->strides()[axis]; }
    std::int64_t numel() const { return object_->layout->numel; }
    bool contiguous() const { return object_->layout->contiguous; }
    char* data() const {
        return object_->storage->data + object_->offset * static_cast<std::int64_t>(item_size(object_->dtype));
    }
    template <class T>
    T* data_as() const {
        return reinterpret_cast<T*>(data());
    }
    kernels::View view() const {
        const Layout& l = *object_->layout;
        return {data(), object_->dtype, l.ndim, l.sizes(), l.strides().data()};
    }
    bool requires_grad() const {
        const TensorObject* self = object_.get();
        if (self->grad_fn || self->has(TensorObject::kRequiresGrad)) return true;
        // A view made before its base got a history has it too.
        return self->base && (self->base->grad_fn || self->base->has(TensorObject::kRequiresGrad));
    }
    bool same(const Tensor& other) const { return get() == other.get(); }

private:
    Ref<TensorObject> object_;
};

// Without memory: Note [Meta tensors] in core/ops/meta.h; Note [Batched tensors] in core/ops/batching/batched.h.
inline bool has_memory(const Tensor& tensor) { return !tensor->storage->unbacked; }
inline bool is_batched(const Tensor& tensor) { return !has_memory(tensor) && tensor->storage->foreign_context; }
inline bool is_meta(const Tensor& tensor) { return !has_memory(tensor) && !tensor->storage->foreign_context; }
// Note [Sparse tensors] in core/autograd/leaf.h. Those that look for what has no memory find it by is_meta(), too.
inline bool is_sparse(const Tensor& tensor) { return tensor->storage && tensor->storage->sparse; }

// Fresh memory, not filled; none while kernels are skipped.
Tensor empty(Sizes sizes, DType dtype);
Tensor empty(const LayoutRef& contiguous, DType dtype);
inline Tensor empty(std::initializer_list<std::int64_t> sizes, DType dtype) {
    return empty(Sizes{sizes.begin(), sizes.size()}, dtype);
}
// Fails unless every element lies inside the storage. Whoever takes sizes, strides or an offset from outside asks here;
// what is worked out from a tensor's own geometry need not.
void check_inside_storage(const char* op, const Layout& layout, std::int64_t offset, DType dtype,
                          const Storage& storage);
// Other geometry on the same storage; no history, no base: autograd/view.h adds those.
Tensor alias(const Tensor& source, LayoutRef layout, std::int64_t offset);

// Numbers as tensors without axes.
Tensor scalar(double value, DType dtype);
Tensor scalar(Complex<double> value, DType dtype);
Tensor scalar_int(std::int64_t value, DType dtype);
double read_number(const Tensor& one_element);  // as double; of a complex one the real part
Complex<double> read_complex(const Tensor& one_element);
std::int64_t read_integer(const Tensor& one_element);  // exact for integers
// Of all elements, one by one: more than the storage has where a view repeats them.
inline std::int64_t bytes_of(const Tensor& t) {
    return clipped_product(t.numel(), static_cast<std::int64_t>(item_size(t.dtype())));
}

}  // namespace clew
