// One run of a graph backward; for the files of the engine alone (engine.h is what others use).
#pragma once
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/autograd/anomaly.h"
#include "core/autograd/deferred.h"
#include "core/autograd/engine.h"
#include "core/autograd/ledger.h"
#include "core/autograd/strips.h"
#include "core/base/block_allocator.h"
#include "core/tensor/timeline.h"

namespace clew {

// Note [The visit hint]
// Each node carries the index of its entry in the run that saw it last. That makes the usual run (alone) free of
// hashing. A run inside another, or beside one on another thread, overwrites hints; from then on all runs under way
// look nodes up in a map.
struct Entry {
    Node* node;
    std::uint32_t waiting = 0;  // gradients still to come
    bool needed = true;
    std::int32_t capture = -1;           // first capture of an output of this node
    std::int32_t deferred = -1;          // of Run::deferred_
    Tensor gradient{};                   // of output 0
    std::unique_ptr<Tensor[]> others{};  // of outputs 1, 2, ...

    Tensor& output(std::uint32_t i) {
        if (i == 0) return gradient;
        if (!others) others = std::make_unique<Tensor[]>(node->output_count - 1);
        return others[i - 1];
    }
};

// A node whose gradients have all come. The youngest runs first.
struct ReadyNode {
    std::uint64_t sequence;
    std::uint32_t index;  // of its entry
    friend bool operator<(const ReadyNode& a, const ReadyNode& b) { return a.sequence < b.sequence; }
};

struct Capture {
    std::int32_t next;  // of the same node
    std::uint32_t output;
    std::size_t input;
};

// A node is younger than those that it leads to, unless these were filled again for other values (core/program).
inline bool is_of_another_run(const Node& node, const Node& child) {
    return child.sequence > node.sequence && !child.has(Node::kAccumulate);
}
[[noreturn, gnu::cold]] void fail_age(const char* op, const Node& node, const Node& child);

class Run;
extern Run* runs_under_way;  // the innermost; each knows the one around it
extern thread_local constinit Run* this_threads_run __attribute__((tls_model("initial-exec")));

class Run {
public:
    // `by_steps`: somebody looks at each node.
    explicit Run(const BackwardRequest& request, bool by_steps = false)
        : request_(request), outer_(runs_under_way), runs_deferred_(!by_steps && can_run_deferred(request)) {
        if (outer_)
            for (Run* run = this; run; run = run->outer_) run->use_map();
        runs_under_way = this;
        this_threads_run = this;
        entries_.reserve(kSmallGraph);
        ready_.reserve(kSmallGraph);
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
    // Nodes for which memory is asked for once. 960 bytes of entries: glibc's malloc keeps up to 1032 at hand.
    static constexpr std::size_t kSmallGraph = 24;

    std::uint32_t find(Node* node);  // index + 1; 0: not seen
    std::uint32_t visit(Node* node);
    void use_map();
    static bool can_run_deferred(const BackwardRequest& request);
    Deferred* defer(std::uint32_t index);  // null: its nodes are made
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
    void evaluate_whole(std::uint32_t index);
    void take_sums(const Deferred& below, std::span<Tensor> sums);
    void put_sums(const Deferred& below, std::span<Tensor> sums, bool arrive);
    bool run_from_head(Node& node, const Tensor& gradient);

    const BackwardRequest& request_;
    Run* outer_;  // of any thread
    const bool runs_deferred_;
    Run* around_ = this_threads_run;
    std::uint64_t serial_ = tick();
    std::vector<Entry, BlockAllocator<Entry>> entries_;
    std::vector<ReadyNode> ready_;  // a heap
    std::unordered_map<Node*, std::uint32_t> map_;
    bool use_map_ = false;
    std::vector<Capture> captures_;
    std::vector<Ref<Deferred>> deferred_;  // that run as a whole: Note [Deferred graphs]
    std::vector<NodeRef> kept_;            // roots, and the nodes of inputs
    BackwardResult result_;
    AnomalyWatch watch_;  // does nothing but under detect_anomaly
};

// Tells a timeline whose rule runs (Note [Attribution of memory]), and how long it takes where that is asked.
class RuleGuard {
public:
    explicit RuleGuard(const Node& node) {
        if (a_timeline_runs || operation_times) [[unlikely]]
            begin(node);
    }
    ~RuleGuard() {
        if (looked_at_) [[unlikely]]
            end();
    }
    RuleGuard(const RuleGuard&) = delete;
    RuleGuard& operator=(const RuleGuard&) = delete;

private:
    [[gnu::cold]] void begin(const Node& node);
    [[gnu::cold]] void end() const;
    bool looked_at_ = false;
    RunningNode before_;  // this and the rest, if it is
    std::uint64_t sequence_ = 0;
    std::int64_t start_ = 0;
};

}  // namespace clew
