#include "core/autograd/strips.h"

#include <algorithm>
#include <utility>

#include "core/autograd/engine.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/run.h"
#include "core/autograd/saved.h"
#include "core/base/threads.h"
#include "core/tensor/packing.h"

namespace clew {

thread_local constinit const Strip* strip_under_way = nullptr;

namespace {

constexpr std::int64_t kWorthIt = std::int64_t{4} << 20;  // bytes: more than stays in a cache from rule to rule
constexpr std::uint32_t kMostInputs = 4;
// Bytes of a strip. One thread keeps all in its second-level cache; several must have enough to share out.
std::int64_t strip_bytes() { return num_threads() == 1 ? 128 << 10 : std::int64_t{256 << 10} * num_threads(); }

bool is_one_number(const Tensor& tensor) {
    const Sizes strides = tensor.strides();
    return std::all_of(strides.begin(), strides.end(), [](std::int64_t stride) { return stride == 0; });
}

// `begin` places from the start of something dense, or anywhere in something that is one number all over.
Tensor part_of(const Tensor& tensor, const LayoutRef& layout, std::int64_t begin) {
    if (is_dense(tensor.layout())) return alias(tensor, layout, tensor->offset + begin);
    const Dims none{0};
    return alias(tensor, Layout::make(layout->shape(), none), tensor->offset);
}

class StripGuard {
public:
    explicit StripGuard(const Strip& strip) : before_(std::exchange(strip_under_way, &strip)) {}
    ~StripGuard() { strip_under_way = before_; }
    StripGuard(const StripGuard&) = delete;
    StripGuard& operator=(const StripGuard&) = delete;

private:
    const Strip* before_;
};

void run_node(std::span<StripNode> nodes, std::span<StripExit> exits, StripNode& at, const LayoutRef& layout) {
    Node& node = *at.node;
    const RuleGuard guard(node);
    Tensor few[kMostInputs];
    const std::span<Tensor> results(few, node.edge_count);
    Tensor gradient = std::move(at.gradient);
    BackwardCall call{&node, std::span<Tensor>(&gradient, 1), results, at.wants};
    node.kind->backward(call);
    gradient = Tensor();
    for (std::uint32_t i = 0; i < node.edge_count; ++i) {
        if (!results[i] || !call.needs(static_cast<int>(i))) continue;
        const int target = at.targets[i];
        fit_gradient(results[i], *layout, node.output_dtypes()[0], node.kind->node_name, static_cast<int>(i));
        add_gradient(target >= 0 ? nodes[static_cast<std::size_t>(target)].gradient
                                 : exits[static_cast<std::size_t>(-1 - target)].strip,
                     std::move(results[i]));
    }
}

}  // namespace

Tensor Strip::of(const Tensor& tensor) const {
    return tensor && tensor.numel() == whole ? part_of(tensor, layout, begin) : tensor;
}

bool can_be_cut(const Tensor& gradient) {
    return gradient.numel() * static_cast<std::int64_t>(item_size(gradient.dtype())) >= kWorthIt &&
           (is_dense(gradient.layout()) || is_one_number(gradient));
}

LayoutRef strip_order(Node& first, const Tensor& gradient) {
    return is_dense(gradient.layout()) ? gradient.layout_ref() : LayoutRef(first.outputs()[0].layout);
}

bool fits_strips(Node& node, const Tensor& gradient, const Layout& order) {
    const auto like_it = [&](const Layout& layout) { return is_dense(layout) && lie_alike(layout, order); };
    if (!node.kind->elementwise || node.edge_count > kMostInputs || node.extras || node.has(Node::kPython) ||
        node.output_count != 1 || node.output_dtypes()[0] != gradient.dtype() ||
        !same_sizes(node.outputs()[0].layout->shape(), gradient.sizes()))
        return false;
    for (std::uint32_t i = 0; i < node.edge_count; ++i) {
        Node* child = node.edge_nodes()[i];
        if (child == nullptr) continue;
        const std::uint32_t output = node.edge_indices()[i];
        if (!like_it(*child->outputs()[output].layout) || child->output_dtypes()[output] != gradient.dtype())
            return false;
    }
    const std::span<SavedSlot> slots(node.slots(), node.slot_count);
    return std::all_of(slots.begin(), slots.end(), [&](const SavedSlot& slot) {
        return slot.state == SlotState::Held && (slot.layout->numel == 1 || like_it(*slot.layout));
    });
}

void run_strips(std::span<StripNode> nodes, std::span<StripExit> exits, Tensor gradient) {
    const LayoutRef order = strip_order(*nodes[0].node, gradient);
    const std::int64_t count = gradient.numel();
    const std::int64_t length = strip_bytes() / static_cast<std::int64_t>(item_size(gradient.dtype()));
    for (StripExit& exit : exits) {
        const RuleGuard guard(*exit.from);
        // The first may be written over what arrived: a strip of that has been read when its place is written.
        const bool reuses = &exit == exits.data() && is_unshared(gradient);
        exit.whole = reuses ? alias(gradient, gradient.layout_ref(), gradient->offset) : empty(order, gradient.dtype());
    }
    Strip strip{Layout::make(Dims{length}), 0, count};
    for (; strip.begin < count; strip.begin += length) {
        if (count - strip.begin < length) strip.layout = Layout::make(Dims{count - strip.begin});
        const StripGuard guard(strip);
        nodes[0].gradient = strip.of(gradient);
        for (StripNode& node : nodes) run_node(nodes, exits, node, strip.layout);
        for (StripExit& exit : exits) engine_ops.copy_into(strip.of(exit.whole), std::exchange(exit.strip, Tensor()));
        runtime.check_interrupt();
    }
}

// Which nodes the gradient that waits at this one can pass through in strips: those that get all their gradients from
// others of the run, as long as they would be next.
std::vector<StripNode> Run::strip_nodes(std::uint32_t index) {
    constexpr std::size_t kMost = 64;
    const Tensor& gradient = entries_[index].gradient;
    const LayoutRef order = strip_order(*entries_[index].node, gradient);
    std::vector<StripNode> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reached;  // entries, and how many gradients come from the run
    const std::uint64_t after = ready_.empty() ? 0 : ready_.front().sequence;
    const auto joins = [&](std::uint32_t i, std::uint32_t count) {
        const Entry& entry = entries_[i];
        return entry.waiting == count && entry.needed && entry.capture < 0 && !entry.gradient && !entry.others &&
               entry.node->sequence > after && fits_strips(*entry.node, gradient, *order);
    };
    while (nodes.size() < kMost) {
        Node& node = *entries_[index].node;
        nodes.push_back({&node, wants(node)});
        for (std::uint32_t i = 0; i < node.edge_count; ++i) {
            if (node.edge_nodes()[i] == nullptr) continue;
            const std::uint32_t child = find(node.edge_nodes()[i]) - 1;
            const auto at = std::find_if(reached.begin(), reached.end(), [&](auto& r) { return r.first == child; });
            if (at == reached.end())
                reached.emplace_back(child, 1);
            else
                ++at->second;
        }
        auto next = reached.end();
        for (auto r = reached.begin(); r != reached.end(); ++r)
            if (joins(r->first, r->second) &&
                (next == reached.end() || entries_[r->first].node->sequence > entries_[next->first].node->sequence))
                next = r;
        if (next == reached.end()) break;
        index = next->first;
        reached.erase(next);
    }
    return nodes;
}

bool Run::evaluate_in_strips(std::uint32_t index) {
    Entry& entry = entries_[index];
    if (!entry.gradient || !can_be_cut(entry.gradient)) return false;
    if (grad_enabled() || mode(kAnomaly | kInterpreted) || !has_memory(entry.gradient) || !entry.needed ||
        entry.capture >= 0 || !fits_strips(*entry.node, entry.gradient, *strip_order(*entry.node, entry.gradient)))
        return false;
    std::vector<StripNode> nodes = strip_nodes(index);
    if (nodes.size() < 2) return false;
    std::vector<StripExit> exits;
    const auto target_of = [&](const Node* from, Node* child, std::uint32_t output) {
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (nodes[i].node == child) return static_cast<int>(i);
        std::size_t i = 0;
        while (i < exits.size() && !(exits[i].child == child && exits[i].output == output)) ++i;
        if (i == exits.size()) exits.push_back({child, output, from});
        return -1 - static_cast<int>(i);
    };
    for (StripNode& at : nodes)
        for (std::uint32_t i = 0; i < at.node->edge_count; ++i)
            at.targets.push_back(
                (at.wants >> i) & 1 ? target_of(at.node, at.node->edge_nodes()[i], at.node->edge_indices()[i]) : 0);
    run_strips(nodes, exits, std::move(entry.gradient));
    for (StripExit& exit : exits)
        add_gradient(entries_[find(exit.child) - 1].output(exit.output), std::move(exit.whole));
    for (const StripNode& at : nodes) {
        if (!request_.keep_graph && !at.node->has(Node::kSpared)) release_saved(*at.node, result_.release);
        for (std::uint32_t i = 0; i < at.node->edge_count; ++i) {
            Node* child = at.node->edge_nodes()[i];
            if (child == nullptr) continue;
            const bool inside =
                std::any_of(nodes.begin(), nodes.end(), [&](const StripNode& other) { return other.node == child; });
            if (!inside) arrived(find(child) - 1);
        }
    }
    return true;
}

}  // namespace clew
