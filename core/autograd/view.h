// Views, and what happens to history when something is modified in place.
//
// Note [Writing through a view]
// A view knows its base, which is never a view itself. Writing in place to a view changes the base: the base's new
// history is a CopySlices node, which sends the gradient of the written part through the in-place operation's own node
// and the rest on to the old history. Other views of the base then look stale: each keeps the version at which its
// grad_fn was made, and when it is next asked for its history and the version has moved on, a new AsStridedBackward0
// from the base's history is made. Views whose kind forbids writing through them (made under no_grad, one of several of
// split, returned by a custom Function) can't be given one: they refuse to be written, and to be read once their base
// was.
//
// Note [Views that lead nowhere]
// A view made under no_grad, or before its base had a history, requires grad because its base does, but has no history
// of its own: its gradient edge is null. Operations on it are recorded, and what its gradient alone would read is not
// kept.
#pragma once
#include <string>

#include "core/autograd/leaf.h"
#include "core/base/error.h"

namespace clew {

// Marks `result` as a differentiable view of `source`, sharing its version counter.
void mark_view(const Tensor& result, const Tensor& source, ViewKind kind);
// Shares memory and version counter but is no view for autograd: detach().
void share_version(const Tensor& result, const Tensor& source);
// Gives the tensor a version counter of its own over the same memory: .data.
void own_version(const Tensor& result, std::uint32_t value);

// A leaf, or a view of one, is written where its history would be recorded.
struct LeafModified : Error {
    LeafModified(std::string text, Tensor leaf) : Error(ErrorKind::Runtime, std::move(text)), leaf(std::move(leaf)) {}
    Tensor leaf;
};

// Call it before memory is written where check_in_place is not called.
void announce_write(const Tensor& self);
// Fails where a view's kind forbids what happened: `op` is about to write to it, or (null) its base was written before.
void check_view_kind(const TensorObject& view, const char* op);
// Fails if an in-place write to `self` would be an error, before anything is changed.
void check_in_place(const Tensor& self, const char* op, bool records, bool writes_memory = true);
// Counts a write and notes it on the storage. Call it for every in-place write, after the data have changed.
void bump_version(const Tensor& self, const char* op, bool by_optimizer = false);
// The same for a part of the memory that `self` looks at, at a known place of the program.
struct WrittenPart {
    const LayoutRef& layout;
    std::int64_t offset;  // in elements
    DType dtype;
    Site site{};
};
void bump_version(const Tensor& self, const WrittenPart& part, const char* op, bool by_optimizer);
// Where a view lies in its base, and the view of a tensor laid out as the base that lies there: Note [Views of another
// dtype].
struct ViewGeometry {
    LayoutRef layout;
    std::int64_t offset;
};
ViewGeometry geometry_in(const Tensor& view, std::int64_t offset_of_base, DType dtype_of_base);
inline ViewGeometry geometry_in(const Tensor& view, const Tensor& base) {
    return geometry_in(view, base->offset, base.dtype());
}
Tensor view_in(const Tensor& base, const Layout& layout, std::int64_t offset, DType dtype);
// `base` with `value` at that place.
Tensor view_scatter(const Tensor& base, const Tensor& value, const Layout& layout, std::int64_t offset);
// What belongs to a base (its gradient, a tangent), laid out as the base's memory is, so that a view's geometry fits
// it.
struct LaidOut {
    Tensor memory;
    std::int64_t shift;  // of offsets
};
LaidOut lay_out(const Tensor& value, const Layout& base);
// Makes `node` the new history of `self` after an in-place operation.
void rebase_history(const Tensor& self, const NodeRef& node);

extern const NodeKind copy_slices_kind;

}  // namespace clew
