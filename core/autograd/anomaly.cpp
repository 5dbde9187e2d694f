#include "core/autograd/anomaly.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"

namespace clew {
namespace {

// Calls visit(result, incoming) for each pair of elements until it gives true; false if the two do not correspond.
template <class T, class Visit>
bool any_pair_of(const Tensor& result, const Tensor& incoming, const Visit& visit) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    const Tensor left = engine_ops.contiguous(result), right = engine_ops.contiguous(incoming);
    const T *a = left.data_as<T>(), *b = right.data_as<T>();
    for (std::int64_t i = 0; i < left.numel(); ++i)
        if (visit(a[i], b[i])) return true;
    return false;
}
template <class Visit>
bool any_pair(const Tensor& result, const Tensor& incoming, const Visit& visit) {
    const DType dtype = result.dtype();
    if (is_complex(dtype)) return any_pair(engine_ops.view_as_real(result), engine_ops.view_as_real(incoming), visit);
    if (is_storage_type(dtype)) {
        const DType wide = compute_dtype(dtype);
        return any_pair(engine_ops.cast(result, wide), engine_ops.cast(incoming, wide), visit);
    }
    return result.dtype() == DType::Float32 ? any_pair_of<float>(result, incoming, visit)
                                            : any_pair_of<double>(result, incoming, visit);
}

bool correspond(const Tensor& result, const Tensor& incoming) {
    return incoming && incoming.dtype() == result.dtype() && is_inexact(result.dtype()) &&
           same_sizes(result.sizes(), incoming.sizes());
}

bool all_zero(const Tensor& tensor) {
    return !any_pair(tensor, tensor, [](auto value, auto) { return value != 0; });
}

// Did a zero come in wherever something went out that is not finite? Where elements do not correspond (a sum, a
// product of matrices), all that came in must have been zero.
bool zero_came_in(const Tensor& result, std::span<const Tensor> incoming) {
    for (const Tensor& gradient : incoming)
        if (correspond(result, gradient))
            return !any_pair(result, gradient, [](auto out, auto in) { return !std::isfinite(out) && in != 0; });
    for (const Tensor& gradient : incoming)
        if (gradient && (!is_inexact(gradient.dtype()) || !all_zero(gradient))) return false;
    return true;
}

bool leads_to(Node* from, const Node* target) {
    std::vector<Node*> stack{from};
    std::unordered_set<Node*> seen{from};
    while (!stack.empty()) {
        Node* node = stack.back();
        stack.pop_back();
        if (node == target) return true;
        for (std::uint32_t i = 0; i < node->edge_count; ++i) {
            Node* child = node->edge_nodes()[i];
            if (child && seen.insert(child).second) stack.push_back(child);
        }
    }
    return false;
}

std::string made_at(const Node& node) {
    return node.code ? saved_hooks.site_text(node.code, node.instruction) : std::string("an unknown line");
}

}  // namespace

Node* AnomalyWatch::nearest_where_above(Node& node) const {
    Node* nearest = nullptr;
    for (const auto& [where, below] : zeroed_)
        if ((nearest == nullptr || where->sequence < nearest->sequence) && leads_to(below, &node)) nearest = where;
    return nearest;
}

void AnomalyWatch::look_at(Node& node, std::span<const Tensor> results, std::span<const Tensor> incoming) {
    const auto any = [&](bool (*is)(const Tensor&)) {
        const auto found = [&](const Tensor& one) { return one && is(one); };
        return std::ranges::any_of(results, found) || std::ranges::any_of(incoming, found);
    };
    if (any(is_batched))
        fail(ErrorKind::NotImplemented,
             "%s: detect_anomaly can't look at gradients inside vmap, as of jacobian(vectorize=True); leave it out "
             "there, or take the gradients one by one",
             node.kind->node_name);
    if (any(is_meta)) return;
    for (std::size_t i = 0; i < results.size(); ++i) {
        const Tensor& result = results[i];
        if (!result || !is_inexact(result.dtype()) || engine_ops.all_finite(result)) continue;
        const bool zero = zero_came_in(result, incoming);
        Node* where = zero ? nearest_where_above(node) : nullptr;
        std::string text =
            format("Function '%s' returned nan or infinite values in its %zuth output. It was created at %s",
                   node.kind->node_name, i, made_at(node).c_str());
        if (where)
            text += format(
                ". The gradient that came in was zero there: it came through the branch that '%s' at %s did not "
                "choose, and zero times an infinite derivative is nan. To do: choose a safe input before the function, "
                "not only its result after it: f(where(ok, x, 1)) inside the outer where(ok, ..., other)",
                where->kind->name, made_at(*where).c_str());
        else if (zero)
            text +=
                ". The gradient that came in was zero there, and zero times an infinite derivative is nan. To do: keep "
                "the values that a later factor of zero removes from reaching it";
        else
            text +=
                ". To do: look at the values that went into it there; keep them away from where its derivative is "
                "infinite (clamp, or add a small number)";
        throw NonFinite(std::move(text), NodeRef(&node), NodeRef(where), zero);
    }
    if (!node.kind->chooses) return;
    for (std::uint32_t i = 0; i < node.edge_count; ++i) {
        Node* below = node.edge_nodes()[i];
        if (below && results[i] && !incoming.empty() && correspond(results[i], incoming[0]) &&
            any_pair(results[i], incoming[0], [](auto out, auto in) { return out == 0 && in != 0; }))
            zeroed_.emplace_back(&node, below);
    }
}

}  // namespace clew
