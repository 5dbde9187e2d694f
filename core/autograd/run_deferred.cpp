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

Deferred* Run::defer(std::uint32_t index) {
    Node& node = *entries_[index].node;
    Deferred& below = deferred_below(node);
    if (!runs_deferred_ || (node.flags & kOwnWays) || !below.can_run(node)) {
        make_below(node);
        return nullptr;
    }
    entries_[index].deferred = static_cast<std::int32_t>(deferred_.size());
    deferred_.emplace_back(&below);
    return &below;
}

// Where two edges lead to the same place, the first has what is there.
void Run::take_sums(const Deferred& below, std::span<Tensor> sums) {
    for (std::uint32_t i = 0; i < below.out.count; ++i)
        if (Node* const child = below.out.nodes[i])
            sums[i] = std::move(entries_[find(child) - 1].output(below.out.indices[i]));
}

void Run::put_sums(const Deferred& below, std::span<Tensor> sums, bool arrive) {
    for (std::uint32_t i = 0; i < below.out.count; ++i) {
        Node* const child = below.out.nodes[i];
        if (child == nullptr) continue;
        const std::uint32_t index = find(child) - 1;
        if (sums[i]) add_gradient(entries_[index].output(below.out.indices[i]), std::move(sums[i]));
        if (arrive) arrived(index);
    }
}

namespace {

// What has come along the edges of a graph.
class Sums {
public:
    explicit Sums(const Deferred& below) : all_(few_, below.out.count) {
        if (below.out.count > kFew) all_ = (many_.resize(below.out.count), many_);
    }
    std::span<Tensor> all() { return all_; }

private:
    static constexpr std::uint32_t kFew = 8;
    Tensor few_[kFew];
    std::vector<Tensor> many_;
    std::span<Tensor> all_;
};

}  // namespace

void Run::evaluate_whole(std::uint32_t index) {
    Node& root = *entries_[index].node;
    Deferred& below = *deferred_[static_cast<std::size_t>(entries_[index].deferred)];
    Tensor gradient = std::move(entries_[index].gradient);
    Sums sums(below);
    if (gradient) {
        run_tensor_hooks(root, {&gradient, 1});
        run_pre_hooks(root, {&gradient, 1});
        take_sums(below, sums.all());
        below.run(root, {&gradient, 1}, sums.all(), result_.release);
    }
    put_sums(below, sums.all(), true);
}

// The node's gradient is the only one that is still to come to the root of a graph that runs as a whole.
bool Run::run_from_head(Node& node, const Tensor& gradient) {
    if (node.edge_count != 1 || node.output_count != 1 || (node.flags & kOwnWays)) return false;
    Node* const root = node.edge_room()[0];
    if (!root || !root->has(Node::kDeferred) || root->extras || (node.extras && !node.extras->post_hooks.empty()))
        return false;
    Entry& entry = entries_[find(root) - 1];
    if (entry.deferred < 0 || entry.waiting != 1 || entry.gradient || entry.others) return false;
    Deferred& below = deferred_below(*root);
    if (below.head != node.sequence) return false;
    Sums sums(below);
    take_sums(below, sums.all());
    const bool ran = below.run_from(node, *root, gradient, sums.all(), result_.release);
    if (ran) entry.waiting = 0;
    put_sums(below, sums.all(), ran);
    return ran;
}

}  // namespace clew
