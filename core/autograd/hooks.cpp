#include "core/autograd/hooks.h"

#include "core/autograd/leaf.h"

namespace clew {

HookCalls hook_calls;

NodeExtras& extras_of(Node& node) {
    if (node.extras == nullptr) node.extras = new NodeExtras;
    return *node.extras;
}

std::uint64_t add_hook(Node& node, std::vector<Hook> NodeExtras::* list, int output, Handle callable) {
    const std::uint64_t id = tick();
    (extras_of(node).*list).push_back({id, output, std::move(callable)});
    mark_python(node);
    return id;
}

bool remove_hook(Node& node, std::uint64_t id) {
    if (node.extras == nullptr) return false;
    for (auto list :
         {&NodeExtras::tensor_hooks, &NodeExtras::pre_hooks, &NodeExtras::post_hooks, &NodeExtras::accumulate_hooks}) {
        auto& hooks = node.extras->*list;
        for (std::size_t i = 0; i < hooks.size(); ++i) {
            if (hooks[i].id != id) continue;
            const Handle donated = std::move(hooks[i].callable);  // released after the list is whole again
            hooks.erase(hooks.begin() + static_cast<std::ptrdiff_t>(i));
            return true;
        }
    }
    return false;
}

void run_tensor_hooks(Node& node, std::span<Tensor> incoming) {
    if (node.extras == nullptr) return;
    const auto hooks = node.extras->tensor_hooks;  // a copy: a hook may remove itself
    for (const Hook& hook : hooks) {
        Tensor& gradient = incoming[static_cast<std::size_t>(hook.output)];
        if (!gradient) continue;
        if (Tensor replaced = hook_calls.tensor(hook.callable, gradient)) gradient = std::move(replaced);
    }
    if (!node.extras->retains_grad) return;
    for (int i = 0; i < node.output_count; ++i) {
        TensorObject* tensor = node.outputs()[i].tensor;
        if (tensor == nullptr || !tensor->has(TensorObject::kRetainsGrad) || !incoming[static_cast<std::size_t>(i)])
            continue;
        const Tensor held(tensor);
        const Tensor before = grad_of(held);
        const Tensor& gradient = incoming[static_cast<std::size_t>(i)];
        // What is kept is row-major, and never what others hold.
        const auto copy = gradient.contiguous() ? engine_ops.clone : engine_ops.contiguous;
        set_grad(held, before ? engine_ops.add(before, gradient) : copy(gradient));
    }
}

void run_pre_hooks(Node& node, std::span<Tensor> incoming) {
    if (node.extras == nullptr) return;
    const auto hooks = node.extras->pre_hooks;
    for (const Hook& hook : hooks) hook_calls.pre(hook.callable, incoming);
}

void run_post_hooks(Node& node, std::span<Tensor> results, std::span<Tensor> incoming) {
    if (node.extras == nullptr) return;
    const auto hooks = node.extras->post_hooks;
    for (const Hook& hook : hooks) hook_calls.post(node, hook.callable, results, incoming);
}

}  // namespace clew
