// Graphs that run as a whole: Note [Deferred graphs].
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/run.h"

namespace clew {

// A gradient that nobody but the engine sees can be computed for many nodes at once.
bool Run::can_run_deferred(const BackwardRequest& request) {
    constexpr std::uint32_t kWatched = kAnomaly | kInterpreted | kSavedHooks | kForwardMode | kWatchWrites;
    return request.inputs.empty() && !request.create_graph && !mode(kWatched) && process_mode == 0 &&
           !a_timeline_runs && !operation_times;
}

namespace {
constexpr std::uint16_t kOwnWays = Node::kPython | Node::kKept | Node::kCut | Node::kSpared | Node::kWrapped;
}  // namespace

void Run::defer(std::uint32_t index) {
    Node& node = *entries_[index].node;
    if (!runs_deferred_ || (node.flags & kOwnWays) || !deferred_below(node).can_run(node)) return make_below(node);
    entries_[index].deferred = static_cast<std::int32_t>(deferred_.size());
    deferred_.emplace_back(&deferred_below(node));
}

// Where two edges lead to the same place, the first has what is there.
void Run::take_sums(std::uint32_t from, std::span<Tensor> sums) {
    const Edges edges = edges_of(from);
    for (std::uint32_t i = 0; i < edges.count; ++i)
        if (Node* const child = edges.nodes[i]) sums[i] = std::move(entries_[find(child) - 1].output(edges.indices[i]));
}

void Run::put_sums(std::uint32_t from, std::span<Tensor> sums, bool arrive) {
    const Edges edges = edges_of(from);
    for (std::uint32_t i = 0; i < edges.count; ++i) {
        Node* const child = edges.nodes[i];
        if (child == nullptr) continue;
        const std::uint32_t index = find(child) - 1;
        if (sums[i]) add_gradient(entries_[index].output(edges.indices[i]), std::move(sums[i]));
        if (arrive) arrived(index);
    }
}

// The node's gradient is the only one that is still to come to the root of a graph that runs as a whole.
bool Run::run_from_head(Node& node, const Tensor& gradient) {
    if (node.edge_count != 1 || node.output_count != 1 || (node.flags & kOwnWays)) return false;
    Node* const root = node.edge_room()[0];
    if (!root || !root->has(Node::kDeferred) || root->extras || (node.extras && !node.extras->post_hooks.empty()))
        return false;
    const std::uint32_t index = find(root) - 1;
    Entry& entry = entries_[index];
    if (entry.deferred < 0 || entry.waiting != 1 || entry.gradient || entry.others) return false;
    Deferred& below = deferred_below(*root);
    if (below.head != node.sequence) return false;
    constexpr std::uint32_t kFew = 8;
    Tensor few[kFew];
    std::vector<Tensor> many;
    std::span<Tensor> sums(few, below.out.count);
    if (below.out.count > kFew) sums = (many.resize(below.out.count), many);
    take_sums(index, sums);
    const bool ran = below.run_from(node, *root, gradient, sums, result_.release);
    put_sums(index, sums, ran);
    if (ran) entry.waiting = 0;
    return ran;
}

}  // namespace clew
