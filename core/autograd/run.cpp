#include "core/autograd/run.h"

#include <algorithm>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"

namespace clew {

Run* runs_under_way = nullptr;
thread_local constinit Run* this_threads_run = nullptr;

std::uint32_t Run::find(Node* node) {
    if (use_map_) {
        const auto it = map_.find(node);
        return it == map_.end() ? 0 : it->second + 1;
    }
    const std::uint32_t hint = node->visit;
    return hint < entries_.size() && entries_[hint].node == node ? hint + 1 : 0;
}

std::uint32_t Run::visit(Node* node) {
    const auto index = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back(Entry{.node = node});
    node->visit = index;
    if (use_map_) map_.emplace(node, index);
    return index;
}

void Run::use_map() {
    if (use_map_) return;
    use_map_ = true;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) map_.emplace(entries_[i].node, i);
}

void Run::seed_roots() {
    for (std::size_t i = 0; i < request_.roots.size(); ++i) {
        const Tensor& root = request_.roots[i];
        const Edge edge = gradient_edge(root);
        if (!edge)
            fail(ErrorKind::Runtime, "element %zu of tensors does not require grad and does not have a grad_fn", i);
        kept_.emplace_back(edge.node);
        std::uint32_t found = find(edge.node);
        const std::uint32_t index = found ? found - 1 : visit(edge.node);
        Tensor gradient = request_.gradients[i] ? request_.gradients[i] : engine_ops.ones_like(root);
        // The forward that the node stands for may have had another shape, if .data was replaced.
        const Layout& layout = *edge.node->outputs()[edge.index].layout;
        if (!edge.node->has(Node::kAccumulate) && !same_sizes(gradient.sizes(), layout.shape())) {
            if (!can_expand(layout.shape(), gradient.sizes()))
                fail(ErrorKind::Runtime, "invalid gradient at index %zu - got %s but expected shape compatible with %s",
                     i, shape_text(gradient.sizes()).c_str(), shape_text(layout.shape()).c_str());
            gradient = engine_ops.sum_to(gradient, layout.shape());
        }
        add_gradient(entries_[index].output(edge.index), std::move(gradient));
    }
}

void fail_age(const char* op, const Node& node, const Node& child) {
    fail(
        ErrorKind::Runtime,
        "%s: expected a graph of one run, but %s (created at %s) leads to %s (created at %s), which forward() or run() "
        "of a kept program has computed again since. Call forward() on this result, too, or make it again",
        op, node.kind->node_name, saved_hooks.site_text(node.code, node.instruction).c_str(), child.kind->node_name,
        saved_hooks.site_text(child.code, child.instruction).c_str());
}

void Run::discover() {
    std::vector<std::uint32_t> stack;
    stack.reserve(kSmallGraph);
    for (std::uint32_t i = 0; i < entries_.size(); ++i) stack.push_back(i);
    while (!stack.empty()) {
        const std::uint32_t at = stack.back();
        Node* node = entries_[at].node;
        stack.pop_back();
        Node* const* children = node->edge_room();
        std::uint32_t count = node->edge_count;
        if (node->has(Node::kDeferred)) [[unlikely]]
            if (const Deferred* const below = defer(at)) children = below->out.nodes, count = below->out.count;
        for (std::uint32_t i = 0; i < count; ++i) {
            Node* child = children[i];
            if (child == nullptr) continue;
            if (is_of_another_run(*node, *child)) [[unlikely]]
                fail_age("backward", *node, *child);
            if (const std::uint32_t found = find(child)) {
                ++entries_[found - 1].waiting;
            } else {
                const std::uint32_t index = visit(child);
                ++entries_[index].waiting;
                if (child->edge_count) stack.push_back(index);
            }
        }
    }
}

void Run::add_captures() {
    for (std::size_t i = 0; i < request_.inputs.size(); ++i) {
        const Edge edge = gradient_edge(request_.inputs[i]);
        if (!edge) continue;  // Note [Views that lead nowhere]: no graph uses it
        kept_.emplace_back(edge.node);
        const std::uint32_t found = find(edge.node);
        if (!found) continue;
        Entry& entry = entries_[found - 1];
        captures_.push_back({entry.capture, edge.index, i});
        entry.capture = static_cast<std::int32_t>(captures_.size()) - 1;
    }
}

// Children are older than parents, so one pass from old to new tells who leads to an input.
void Run::select_paths() {
    std::vector<std::uint32_t> order(entries_.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](auto a, auto b) { return entries_[a].node->sequence < entries_[b].node->sequence; });
    for (Entry& entry : entries_) {
        const bool leaf = entry.node->has(Node::kAccumulate);
        // A leaf that is asked for is only captured, unless its gradient is to go into .grad.
        entry.needed = leaf && entry.capture >= 0 && request_.accumulate_inputs;
    }
    for (const std::uint32_t index : order) {
        Entry& entry = entries_[index];
        Node* node = entry.node;
        for (std::uint32_t i = 0; i < node->edge_count && !entry.needed; ++i) {
            Node* child = node->edge_nodes()[i];
            if (child == nullptr) continue;
            const Entry& below = entries_[find(child) - 1];
            entry.needed = below.needed || below.capture >= 0;
        }
    }
}

void Run::push(std::uint32_t index) {
    ready_.push_back({entries_[index].node->sequence, index});
    std::push_heap(ready_.begin(), ready_.end());
}

std::uint32_t Run::pop() {
    if (ready_.size() > 1) std::pop_heap(ready_.begin(), ready_.end());
    const std::uint32_t index = ready_.back().index;
    ready_.pop_back();
    return index;
}

void Run::send(Node& node, std::span<Tensor> results) {
    for (std::uint32_t i = 0; i < node.edge_count; ++i) {
        Node* child = node.edge_room()[i];
        if (child == nullptr) continue;
        const std::uint32_t index = find(child) - 1;
        Entry& entry = entries_[index];
        if (results[i] && (entry.needed || entry.capture >= 0)) {
            const std::uint32_t output = node.edge_indices()[i];
            if (process_mode != 0 && is_sparse(results[i]) && !child->has(Node::kAccumulate)) [[unlikely]]
                results[i] = sparse_calls.to_dense(results[i]);
            fit_gradient(results[i], *child->outputs()[output].layout, child->output_dtypes()[output],
                         node.kind->node_name, static_cast<int>(i));
            add_gradient(entry.output(output), std::move(results[i]));
        }
        arrived(index);
    }
}

std::uint64_t Run::wants(Node& node) {
    std::uint64_t wants = 0;
    for (std::uint32_t i = 0; i < node.edge_count; ++i) {
        Node* child = node.edge_room()[i];
        if (child == nullptr) continue;
        const Entry& entry = entries_[find(child) - 1];
        if (entry.needed || entry.capture >= 0) wants |= std::uint64_t{1} << std::min<std::uint32_t>(i, 63);
    }
    return wants;
}

void Run::evaluate(std::uint32_t index, BackwardStep* seen) {
    if (entries_[index].deferred >= 0) [[unlikely]]
        return evaluate_whole(index);
    Node& node = *entries_[index].node;
    const RuleGuard guard(node);
    constexpr int kInline = 6;
    Tensor few_in[kInline], few_out[kInline];
    std::vector<Tensor> many_in, many_out;
    std::span<Tensor> incoming(few_in, node.output_count), results(few_out, node.edge_count);
    if (node.output_count > kInline) incoming = (many_in.resize(node.output_count), many_in);
    if (node.edge_count > kInline) results = (many_out.resize(node.edge_count), many_out);
    const bool needed = entries_[index].needed;
    const std::int32_t capture = entries_[index].capture;
    {
        Entry& entry = entries_[index];
        incoming[0] = std::move(entry.gradient);
        if (entry.others)
            for (std::uint32_t i = 1; i < node.output_count; ++i) incoming[i] = std::move(entry.others[i - 1]);
        entry.others.reset();
    }
    bool any = false;
    for (const Tensor& gradient : incoming) any = any || gradient;
    // The hooks of an only root see its gradient even if nothing that it leads to is asked for, as in PyTorch.
    if (any && (needed || capture >= 0 || request_.roots.size() == 1)) {
        run_tensor_hooks(node, incoming);
        if (!request_.accumulate_inputs || !node.has(Node::kAccumulate))
            for (std::int32_t i = capture; i >= 0; i = captures_[static_cast<std::size_t>(i)].next) {
                const Capture& wanted = captures_[static_cast<std::size_t>(i)];
                check_device(incoming[wanted.output], request_.inputs[wanted.input], "grad");
                result_.captured[wanted.input] = incoming[wanted.output];
            }
    }
    // A Function is asked all the same, and gets zeros or None, as in PyTorch.
    if ((any || node.has(Node::kFunction)) && needed) {
        run_pre_hooks(node, incoming);
        std::vector<Tensor> shown;  // the rule may consume its gradients; hooks after it see them still
        const bool hooks_after = node.extras && !node.extras->post_hooks.empty();
        const bool watched = mode(kAnomaly);
        if (hooks_after || watched || seen) shown.assign(incoming.begin(), incoming.end());
        if (!deferred_.empty() && run_from_head(node, incoming[0])) [[unlikely]]
            return;
        BackwardCall call{&node, incoming, results, wants(node)};
        if (!node.has(Node::kCut)) call_rule(call);
        if (hooks_after) run_post_hooks(node, results, shown);
        if (watched) watch_.look_at(node, results, shown);
        if (!request_.keep_graph && !node.has(Node::kSpared)) release_saved(node, result_.release);
        if (seen) *seen = {NodeRef(&node), std::move(shown), {results.begin(), results.end()}};
    }
    for (Tensor& gradient : incoming) gradient = Tensor();
    send(node, results);
}

void Run::start() {
    result_.captured.resize(request_.inputs.size());
    if (!request_.keep_graph) result_.release = Release::make(request_.kind);
    seed_roots();
    const auto root_count = static_cast<std::uint32_t>(entries_.size());
    if (result_.release)
        for (const Entry& root : entries_)
            if (!root.node->has(Node::kAccumulate))
                result_.release->youngest = std::max<std::uint64_t>(result_.release->youngest, root.node->sequence);
    discover();
    if (!request_.inputs.empty()) {
        add_captures();
        select_paths();
    }
    for (std::uint32_t i = 0; i < root_count; ++i)
        if (entries_[i].waiting == 0) push(i);
}

bool Run::next(BackwardStep* seen) {
    if (ready_.empty()) return false;
    const std::uint32_t index = pop();
    if (seen || !evaluate_in_strips(index)) evaluate(index, seen);
    return true;
}

BackwardResult Run::go() {
    const ModeGuard guard(kNoGrad, !request_.create_graph);
    const ModeGuard inside(kInBackward, true);
    start();
    for (std::uint32_t count = 1; next(nullptr); ++count)
        if (count % 256 == 0) runtime.check_interrupt();
    return finish();
}

void RuleGuard::begin(const Node& node) {
    looked_at_ = true;
    before_ = running_node;
    sequence_ = node.sequence;
    start_ = operation_times ? now_ns() : 0;
    if (a_timeline_runs) running_node = {{node.code, node.instruction}, node.sequence, true};
}

void RuleGuard::end() const {
    running_node = before_;
    if (start_ && operation_times) note_operation_time({sequence_, now_ns() - start_, true});
}

}  // namespace clew
