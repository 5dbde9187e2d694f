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

//
// Note [Samples that are alike]
// jacfwd is a vmap over directions at one point. The point is expanded to the batch, since tangents belong to values,
// but nothing that is computed from it alone differs from sample to sample. This is followed from call to call, so that
// such a value may be read (`if x.sum() > 0`) and decide how large a result is (`x[x > 0]`). A tensor that the function
// made of nothing has no axis for directions: where such a value is written into one, jacfwd takes direction after
// direction instead (refused_writes() in batching.h).
struct Batched {
    std::int64_t batch;  // which vmap: those that began later have larger numbers
    Tensor value;        // axis 0 is the batch
    bool alike;          // all samples are the same, by what they were made from
};

inline const Batched& batched(const Tensor& tensor) {
    return *static_cast<const Batched*>(tensor->storage->foreign_context);
}
inline void set_alike(const Tensor& tensor, bool alike) {
    static_cast<Batched*>(tensor->storage->foreign_context)->alike = alike;
}
inline bool is_batched_by(const Tensor& tensor, std::int64_t batch) {
    return tensor && is_batched(tensor) && batched(tensor).batch == batch;
}

Tensor make_batched(const Tensor& value, std::int64_t batch, bool alike = false);
// `to`, which was computed from tensors like `from` alone, is alike in each batch in which all of them are alike, or of
// which they have no axis.
void carry_alike(std::span<const Tensor> from, const Tensor& to);
// `tensor`, which is batched, stands for another value from now on.
void set_batched(const Tensor& tensor, const Tensor& value);

[[noreturn]] void fail_outside_vmap(const char* what);
// Error(Runtime) if an input is batched: nobody unwrapped it.
void refuse_batched(const OpCall& call);

}  // namespace clew
