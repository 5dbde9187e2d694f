// Runs the derivatives of elementwise operations strip by strip.
//
// Note [Strips]
// The gradient of a large tensor that passes through ten elementwise operations would go through memory ten times. Each
// rule of such a run reads and writes elements that lie at the same place (whatever the order of the axes, if it is the
// same for all), so the engine lets all of them work on one strip of elements, then on the next: what they pass to each
// other stays in the caches, and no gradient between them is ever whole. The rules are the same and see strips as they
// would see small tensors: unpacking what was saved gives the strip's part of it. So do the results: an element's bits
// do not depend on where it lies.
//
// Only nodes that nobody watches take part: no hooks, no captured or retained gradients, no create_graph.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/autograd/node.h"

namespace clew {

// The part of large tensors that a rule sees.
struct Strip {
    LayoutRef layout;
    std::int64_t begin;
    std::int64_t whole;  // elements of the tensors that are cut

    Tensor of(const Tensor& tensor) const;
};
extern thread_local constinit const Strip* strip_under_way __attribute__((tls_model("initial-exec")));

inline Tensor in_strip(Tensor tensor) { return strip_under_way ? strip_under_way->of(tensor) : tensor; }

// A gradient that leaves the run.
struct StripExit {
    Node* child;
    std::uint32_t output;
    const Node* from;  // the first that sends there
    Tensor whole{}, strip{};
};

struct StripNode {
    Node* node;
    std::uint64_t wants;         // which inputs want their gradients
    std::vector<int> targets{};  // for each input: a node of the run, or -1 - an exit
    Tensor gradient{};
};

// Whether a gradient is large enough to be cut, and lies so that it can be.
bool can_be_cut(const Tensor& gradient);
// How all that is cut lies: as the gradient does, or, if that is one number all over, as what the first node made.
LayoutRef strip_order(Node& first, const Tensor& gradient);
// Whether a node may take part in a run over gradients like this one; its entry in the engine is not asked.
bool fits_strips(Node& node, const Tensor& gradient, const Layout& order);

// Runs all nodes, in the order in which they are given; `gradient` arrives at the first. Fills `exits[i].whole`.
void run_strips(std::span<StripNode> nodes, std::span<StripExit> exits, Tensor gradient);

}  // namespace clew
