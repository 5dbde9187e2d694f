// What few nodes have: hooks, Python attributes, the body of a Python node, the inner node of CopySlices.
#pragma once
#include <vector>

#include "core/autograd/leaf.h"
#include "core/autograd/node.h"

namespace clew {

struct Hook {
    std::uint64_t id;
    int output;  // tensor hooks: of which output
    Handle callable;
};

struct NodeExtras : Pooled {
    std::vector<Hook> tensor_hooks;      // before the node: may replace the gradient of one output
    std::vector<Hook> pre_hooks;         // before: see all incoming gradients
    std::vector<Hook> post_hooks;        // after: see both sides
    std::vector<Hook> accumulate_hooks;  // after a gradient was accumulated into the leaf
    Handle metadata;                     // node.metadata
    Handle attributes;                   // attributes that users set
    NodeRef inner;                       // CopySlices: the node of the in-place operation
    char* body = nullptr;
    std::size_t body_bytes = 0;
    bool retains_grad = false;  // some output's tensor asked for its gradient
};

NodeExtras& extras_of(Node& node);

// Those of the node where a tensor's gradient goes, list by list.
template <class Visit>
void each_hook(const TensorObject& tensor, const Visit& visit) {
    const Node* node = tensor.grad_fn.get();
    if (node == nullptr && tensor.extras) node = tensor.extras->accumulator.get();
    if (node == nullptr || node->extras == nullptr) return;
    for (const auto* list : {&node->extras->tensor_hooks, &node->extras->pre_hooks, &node->extras->post_hooks,
                             &node->extras->accumulate_hooks})
        for (const Hook& hook : *list) visit(hook);
}

std::uint64_t add_hook(Node& node, std::vector<Hook> NodeExtras::* list, int output, Handle callable);
bool remove_hook(Node& node, std::uint64_t id);

// Set by bind/: how a hook is called. An empty result means "unchanged".
struct HookCalls {
    Tensor (*tensor)(const Handle& hook, const Tensor& gradient);
    void (*pre)(const Handle& hook, std::span<Tensor> incoming);
    void (*post)(Node& node, const Handle& hook, std::span<Tensor> results, std::span<Tensor> incoming);
    void (*accumulate)(const Handle& hook, const Tensor& leaf);
};
extern HookCalls hook_calls;

void run_tensor_hooks(Node& node, std::span<Tensor> incoming);
void run_pre_hooks(Node& node, std::span<Tensor> incoming);
void run_post_hooks(Node& node, std::span<Tensor> results, std::span<Tensor> incoming);

}  // namespace clew
