#include "core/autograd/tangent.h"

#include <algorithm>
#include <utility>

namespace clew {

TangentCalls tangent_calls;

TangentsOfLevel::~TangentsOfLevel() {
    std::vector<Tensor> values;  // die when nothing refers to them any more: that may run Python
    std::vector<Ref<Tangent>> roots;
    for (Tangent* one = first; one; one = one->next_) {
        values.push_back(std::move(one->value));
        roots.push_back(std::move(one->root));
        one->level = nullptr;
    }
    first = nullptr;
}

Tangent::Tangent(TangentsOfLevel& of, const Tensor& tensor, Tensor value)
    : level(&of),
      value(std::move(value)),
      layout(tensor->layout),
      offset(tensor->offset),
      dtype(tensor->dtype),
      next_(of.first) {
    if (next_) next_->previous_ = this;
    of.first = this;
}

Tangent::~Tangent() {
    if (level == nullptr) return;
    if (next_) next_->previous_ = previous_;
    (previous_ ? previous_->next_ : level->first) = next_;
}

void release(Tangent* tangent) {
    if (--tangent->references == 0) delete tangent;
}

Tangent* tangent_along(const Tangents& tangents, const TangentsOfLevel& level) {
    const auto found = std::ranges::find(tangents, &level, [](const Ref<Tangent>& one) { return one->level; });
    return found == tangents.end() ? nullptr : found->get();
}

void put_tangent(Tangents& tangents, Ref<Tangent> tangent) {
    std::erase_if(tangents,
                  [&](const Ref<Tangent>& one) { return one->level == nullptr || one->level == tangent->level; });
    tangents.push_back(std::move(tangent));
}

}  // namespace clew
