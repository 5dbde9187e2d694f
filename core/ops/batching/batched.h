// Tensors that stand for a batch of tensors, one sample for each index of an axis that their users do not see.
//
// Note [Batched tensors]
// What a function under vmap computes with has the sizes, strides and dtype of one sample, and no memory: its storage
// is unbacked and leads to the value, a tensor with one axis more in front, the batch. While the interpreter of that
// batch (batching.h) is on the stack, it replaces calls on such tensors by calls on their values, which are recorded by
// autograd as any others: the graph knows nothing of batches. A value may be a batched tensor itself, of a vmap further
// out. As for tensors on meta, process_mode takes every call to interpret() while one of them lives, so one that left
// its vmap is found wherever it is used.
#pragma once
#include "core/ops/registry.h"

namespace clew {

struct Batched {
    std::int64_t batch;  // which vmap: those that began later have larger numbers
    Tensor value;        // axis 0 is the batch
};

inline const Batched& batched(const Tensor& tensor) {
    return *static_cast<const Batched*>(tensor->storage->foreign_context);
}
inline bool is_batched_by(const Tensor& tensor, std::int64_t batch) {
    return tensor && is_batched(tensor) && batched(tensor).batch == batch;
}

Tensor make_batched(const Tensor& value, std::int64_t batch);
// `tensor`, which is batched, stands for another value from now on.
void set_batched(const Tensor& tensor, const Tensor& value);

[[noreturn]] void fail_outside_vmap(const char* what);
// Error(Runtime) if an input is batched: nobody unwrapped it.
void refuse_batched(const OpCall& call);

}  // namespace clew
