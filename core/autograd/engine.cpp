#include "core/autograd/saved.h"

#include "core/autograd/engine.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "core/autograd/anomaly.h"
#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/strips.h"
#include "core/tensor/timeline.h"

namespace clew {
namespace {

// Note [The visit hint]
// Each node carries the index of its entry in the run that saw it last. That makes the usual run (alone) free of
// hashing. A run inside another, or beside one on another thread, overwrites hints; from then on all runs under way
// look nodes up in a map.
struct Entry {
    Node* node;
    std::uint32_t waiting = 0;  // gradients still to come
    bool needed = true;
    std::int32_t capture = -1;           // first capture of an output of this node
    Tensor gradient{};                   // of output 0
    std::unique_ptr<Tensor[]> others{};  // of outputs 1, 2, ...

    Tensor& output(std::uint32_t i) {
        if (i == 0) return gradient;
        if (!others) others = std::make_unique<Tensor[]>(node->output_count - 1);
        return others[i - 1];
    }
};

struct Capture {
    std::int32_t next;  // of the same node
    std::uint32_t output;
    std::size_t input;
};

class Run;
Run* runs_under_way = nullptr;
thread_local Run* this_threads_run = nullptr;

class Run {
public:
    explicit Run(const BackwardRequest& request) : request_(request), outer_(runs_under_way) {
        if (outer_)
            for (Run* run = this; run; run = run->outer_) run->use_map();
        runs_under_way = this;
        this_threads_run = this;
    }
    ~Run() {
        if (this_threads_run == this) this_threads_run = around_;
        // Runs of several threads may end in any order.
        Run** link = &runs_under_way;
        while (*link != this) link = &(*link)->outer_;
        *link = outer_;
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    BackwardResult go();

    // One node at a time: start() once, then next() until it gives false.
    void start();
    bool next(BackwardStep* seen);
    BackwardResult finish() { return std::move(result_); }
    // A run that is not at work right now is none that hooks should see.
    void enter() { around_ = std::exchange(this_threads_run, this); }
    void leave() { this_threads_run = around_; }

    std::uint64_t serial() const { return serial_; }
    Run* outer() const { return outer_; }
    bool accumulates() const { return request_.inputs.empty(); }
    bool reaches(Node& node) {
        const std::uint32_t found = find(&node);
        return found && (entries_[found - 1].needed || entries_[found - 1].capture >= 0);
    }

private:
    std::uint32_t find(Node* node);  // index + 1; 0: not seen
    std::uint32_t visit(Node* node);
    void use_map();
    void seed_roots();
    void discover();
    void select_paths();
    void add_captures();
    void push(std::uint32_t index);
    std::uint32_t pop();
    void evaluate(std::uint32_t index, BackwardStep* seen);
    std::uint64_t wants(Node& node);
    bool evaluate_in_strips(std::uint32_t index);
    std::vector<StripNode> strip_nodes(std::uint32_t index);
    void arrived(std::uint32_t index) {
        if (--entries_[index].waiting == 0) push(index);
    }
    void send(Node& node, std::span<Tensor> results);

    const BackwardRequest& request_;
    Run* outer_;  // of any thread
    Run* around_ = this_threads_run;
    std::uint64_t serial_ = tick();
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> ready_;  // a heap, the largest sequence first
    std::unordered_map<Node*, std::uint32_t> map_;
    bool use_map_ = false;
    std::vector<Capture> captures_;
    std::vector<NodeRef> kept_;  // roots, and the nodes of inputs
    BackwardResult result_;
    AnomalyWatch watch_;  // does nothing but under detect_anomaly
};

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
        add_gradient(entries_[index].output(edge.index), std::move(gradient));
    }
}

void Run::discover() {
    std::vector<std::uint32_t> stack;
    for (std::uint32_t i = 0; i < entries_.size(); ++i) stack.push_back(i);
    while (!stack.empty()) {
        Node* node = entries_[stack.back()].node;
        stack.pop_back();
        Node** children = node->edge_nodes();
        for (std::uint32_t i = 0; i < node->edge_count; ++i) {
            Node* child = children[i];
            if (child == nullptr) continue;
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
    ready_.push_back(index);
    std::push_heap(ready_.begin(), ready_.end(),
                   [&](auto a, auto b) { return entries_[a].node->sequence < entries_[b].node->sequence; });
}

std::uint32_t Run::pop() {
    if (ready_.size() > 1)
        std::pop_heap(ready_.begin(), ready_.end(),
                      [&](auto a, auto b) { return entries_[a].node->sequence < entries_[b].node->sequence; });
    const std::uint32_t index = ready_.back();
    ready_.pop_back();
    return index;
}

void Run::send(Node& node, std::span<Tensor> results) {
    for (std::uint32_t i = 0; i < node.edge_count; ++i) {
        Node* child = node.edge_nodes()[i];
        if (child == nullptr) continue;
        const std::uint32_t index = find(child) - 1;
        Entry& entry = entries_[index];
        if (results[i] && (entry.needed || entry.capture >= 0)) {
            const std::uint32_t output = node.edge_indices()[i];
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
        Node* child = node.edge_nodes()[i];
        if (child == nullptr) continue;
        const Entry& entry = entries_[find(child) - 1];
        if (entry.needed || entry.capture >= 0) wants |= std::uint64_t{1} << std::min<std::uint32_t>(i, 63);
    }
    return wants;
}

// Which nodes the gradient that waits at this one can pass through in strips: those that get all their gradients from
// others of the run, as long as they would be next.
std::vector<StripNode> Run::strip_nodes(std::uint32_t index) {
    constexpr std::size_t kMost = 64;
    const Tensor& gradient = entries_[index].gradient;
    std::vector<StripNode> nodes;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> reached;  // entries, and how many gradients come from the run
    const std::uint64_t after = ready_.empty() ? 0 : entries_[ready_.front()].node->sequence;
    const auto joins = [&](std::uint32_t i, std::uint32_t count) {
        const Entry& entry = entries_[i];
        return entry.waiting == count && entry.needed && entry.capture < 0 && !entry.gradient && !entry.others &&
               entry.node->sequence > after && fits_strips(*entry.node, gradient);
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
    if (grad_enabled() || mode(kAnomaly) || !entry.gradient || !entry.needed || entry.capture >= 0 ||
        !can_be_cut(entry.gradient) || !fits_strips(*entry.node, entry.gradient))
        return false;
    std::vector<StripNode> nodes = strip_nodes(index);
    if (nodes.size() < 2) return false;
    std::vector<StripExit> exits;
    const auto target_of = [&](Node* child, std::uint32_t output) {
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (nodes[i].node == child) return static_cast<int>(i);
        std::size_t i = 0;
        while (i < exits.size() && !(exits[i].child == child && exits[i].output == output)) ++i;
        if (i == exits.size()) exits.push_back({child, output});
        return -1 - static_cast<int>(i);
    };
    for (StripNode& at : nodes)
        for (std::uint32_t i = 0; i < at.node->edge_count; ++i)
            at.targets.push_back((at.wants >> i) & 1 ? target_of(at.node->edge_nodes()[i], at.node->edge_indices()[i])
                                                     : 0);
    run_strips(nodes, exits, std::move(entry.gradient));
    for (StripExit& exit : exits)
        add_gradient(entries_[find(exit.child) - 1].output(exit.output), std::move(exit.whole));
    for (const StripNode& at : nodes) {
        if (!request_.keep_graph) release_saved(*at.node, result_.release);
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

// Tells a timeline whose rule runs (Note [Whose bytes]).
class RuleGuard {
public:
    explicit RuleGuard(const Node& node) : before_(running_node) {
        if (a_timeline_runs) running_node = {{node.code, node.instruction}, node.sequence, true};
    }
    ~RuleGuard() { running_node = before_; }
    RuleGuard(const RuleGuard&) = delete;
    RuleGuard& operator=(const RuleGuard&) = delete;

private:
    RunningNode before_;
};

void Run::evaluate(std::uint32_t index, BackwardStep* seen) {
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
    if (any && (needed || capture >= 0)) {
        run_tensor_hooks(node, incoming);
        if (!request_.accumulate_inputs || !node.has(Node::kAccumulate))
            for (std::int32_t i = capture; i >= 0; i = captures_[static_cast<std::size_t>(i)].next) {
                const Capture& wanted = captures_[static_cast<std::size_t>(i)];
                result_.captured[wanted.input] = incoming[wanted.output];
            }
    }
    if (any && needed) {
        run_pre_hooks(node, incoming);
        std::vector<Tensor> shown;  // the rule may consume its gradients; hooks after it see them still
        const bool hooks_after = node.extras && !node.extras->post_hooks.empty();
        const bool watched = mode(kAnomaly);
        if (hooks_after || watched || seen) shown.assign(incoming.begin(), incoming.end());
        BackwardCall call{node, incoming, results, wants(node)};
        node.kind->backward(call);
        if (hooks_after) run_post_hooks(node, results, shown);
        if (watched) watch_.look_at(node, results, shown);
        if (!request_.keep_graph) release_saved(node, result_.release);
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

}  // namespace

std::uint64_t backward_serial() { return this_threads_run ? this_threads_run->serial() : 0; }
bool backward_reaches(Node& node) { return this_threads_run && this_threads_run->reaches(node); }
bool backward_accumulates() { return this_threads_run == nullptr || this_threads_run->accumulates(); }
std::vector<std::uint64_t> backward_serials() {
    std::vector<std::uint64_t> serials;
    for (Run* run = runs_under_way; run; run = run->outer()) serials.push_back(run->serial());
    return serials;
}

void fit_gradient(Tensor& gradient, const Layout& layout, DType dtype, const char* who, int index) {
    if (gradient->layout.get() != &layout && !same_sizes(gradient.sizes(), layout.shape())) {
        if (!can_expand(layout.shape(), gradient.sizes()))
            fail(ErrorKind::Runtime,
                 "Function %s returned an invalid gradient at index %d - got %s but expected shape compatible with %s",
                 who, index, shape_text(gradient.sizes()).c_str(), shape_text(layout.shape()).c_str());
        gradient = engine_ops.sum_to(gradient, layout.shape());
    }
    if (gradient.dtype() != dtype) gradient = engine_ops.cast(gradient, dtype);
}

BackwardResult run_backward(const BackwardRequest& request) {
    const bool timed = mode(kTiming) && runs_under_way == nullptr;
    const std::int64_t start = timed ? now_ns() : 0;
    BackwardResult result = [&] {
        const ModeGuard guard(kTiming, false);  // what runs inside counts as backward
        return Run(request).go();
    }();
    if (timed) timings.backward += now_ns() - start;
    return result;
}

std::vector<Tensor> run_rule(Node& node, std::span<Tensor> gradients) {
    const ModeGuard guard(kNoGrad | kInBackward, true);
    std::vector<Tensor> results(node.edge_count);
    std::uint64_t wants = 0;
    for (std::uint32_t i = 0; i < node.edge_count; ++i)
        if (node.edge_nodes()[i]) wants |= std::uint64_t{1} << std::min<std::uint32_t>(i, 63);
    BackwardCall call{node, gradients, results, wants};
    node.kind->backward(call);
    return results;
}

struct SteppedBackward::State {
    std::vector<Tensor> roots, gradients;
    BackwardRequest request;
    Run run;

    State(std::vector<Tensor> from, std::vector<Tensor> given, bool keep_graph, bool create_graph)
        : roots(std::move(from)),
          gradients(std::move(given)),
          request{.roots = roots,
                  .gradients = gradients,
                  .keep_graph = keep_graph,
                  .create_graph = create_graph,
                  .inputs = {}},
          run(request) {}
};

SteppedBackward::SteppedBackward(std::vector<Tensor> roots, std::vector<Tensor> gradients, bool keep_graph,
                                 bool create_graph)
    : state_(std::make_unique<State>(std::move(roots), std::move(gradients), keep_graph, create_graph)) {
    state_->run.leave();
    during([&] { state_->run.start(); });
}

SteppedBackward::~SteppedBackward() = default;

template <class Work>
void SteppedBackward::during(Work work) {
    struct Inside {
        Run& run;
        explicit Inside(Run& run) : run(run) { run.enter(); }
        ~Inside() { run.leave(); }
    } inside(state_->run);
    const ModeGuard grad(kNoGrad, !state_->request.create_graph);
    const ModeGuard backward(kInBackward, true);
    work();
}

BackwardResult SteppedBackward::finish() { return state_->run.finish(); }

bool SteppedBackward::next(BackwardStep& step) {
    bool ran = false;
    during([&] {
        do {
            step = {};
            ran = state_->run.next(&step);
        } while (ran && !step.node);  // nothing arrived there: not a step
    });
    return ran;
}

}  // namespace clew
