// What forward mode keeps beside a tensor: its tangents.
//
// Note [Tangents]
// A tensor has at most one tangent along each dual level (core/ops/forward/dual_level.h), in its extras. It is shared:
// the tensor that got it is its root, and views of that look at the root's. So a write replaces the root's value, and a
// view that was made before sees it when it is next asked; what a view has worked out, it keeps with the root's
// version. Tensors that a node saved have theirs in the slot, as it was then.
//
// A tangent may have a graph that leads back to the tensor. So a level that ends empties all tangents along it, and
// until then it knows them.
#pragma once
#include <vector>

#include "core/tensor/tensor.h"

namespace clew {

struct Tangent;
using Tangents = std::vector<Ref<Tangent>>;

struct TangentsOfLevel {
    std::int64_t number = 0;  // those that begin later have larger ones
    Tangent* first = nullptr;

    TangentsOfLevel() = default;
    TangentsOfLevel(const TangentsOfLevel&) = delete;
    TangentsOfLevel& operator=(const TangentsOfLevel&) = delete;
    ~TangentsOfLevel();
};

struct Tangent {
    Tangent(TangentsOfLevel& level, const Tensor& tensor, Tensor value);
    ~Tangent();
    Tangent(const Tangent&) = delete;
    Tangent& operator=(const Tangent&) = delete;

    std::uint32_t references = 0;
    std::uint32_t version = 0;         // of a root: counts writes; of a view: that of the root, when `value` was found
    TangentsOfLevel* level = nullptr;  // null once that has ended
    Tensor value;                      // of a root, null: zeros
    Ref<Tangent> root;                 // of a view
    // Of the root: where it lies in memory.
    LayoutRef layout;
    std::int64_t offset = 0;
    DType dtype;

private:
    friend TangentsOfLevel;
    Tangent *previous_ = nullptr, *next_ = nullptr;
};
inline void retain(Tangent* tangent) { ++tangent->references; }
void release(Tangent* tangent);

Tangent* tangent_along(const Tangents& tangents, const TangentsOfLevel& level);
// In place of the one along the same level, and of those whose level has ended.
void put_tangent(Tangents& tangents, Ref<Tangent> tangent);

// Set by ops/: the tangents of a tensor as they are now, to be kept with a slot; whether they are these; and `to`, the
// same value as another tensor, gets those of `from`.
struct TangentCalls {
    void (*keep)(const Tensor& value, Tangents& kept);
    bool (*are)(TensorObject* tensor, const Tangents& kept);
    void (*carry)(const Tensor& from, const Tensor& to);
};
extern TangentCalls tangent_calls;

}  // namespace clew
