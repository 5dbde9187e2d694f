// detect_anomaly(): finds the first gradient that is not finite, and the branch that it came through.
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/autograd/node.h"
#include "core/base/error.h"

namespace clew {

struct NonFinite : Error {
    NonFinite(std::string text, NodeRef node, NodeRef through_where, bool incoming_was_zero)
        : Error(ErrorKind::Runtime, std::move(text)),
          node(std::move(node)),
          through_where(std::move(through_where)),
          incoming_was_zero(incoming_was_zero) {}
    NodeRef node;
    NodeRef through_where;  // the where() that did not choose this branch, or null
    bool incoming_was_zero;
};

// Note [The branch that was not chosen]
// where(c, f(x), g(x)) sends a zero to the branch that it did not choose, and 0 times an infinite derivative is NaN. So
// when a node makes a NaN where a zero came in, the culprit is whoever put the zero there. While gradients are watched,
// each `where` that turned a gradient into zeros is remembered with the node that they went to; a node that fails is
// traced up to the nearest of them.
class AnomalyWatch {
public:
    // Call it after each rule: `results` are what it returned for `incoming`. Throws NonFinite.
    void look_at(Node& node, std::span<const Tensor> results, std::span<const Tensor> incoming);

private:
    Node* nearest_where_above(Node& node) const;

    std::vector<std::pair<Node*, Node*>> zeroed_;  // a where, and the node below it that got zeros; the run holds both
};

}  // namespace clew
