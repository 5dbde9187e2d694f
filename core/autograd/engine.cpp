#include "core/autograd/engine.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/run.h"
#include "core/base/pool_use.h"

namespace clew {

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

namespace {
void call_rule_beside_meta(BackwardCall& call) {
    const bool meta =
        std::ranges::any_of(call.incoming, [](const Tensor& g) { return g && is_meta(g) && !is_sparse(g); });
    std::optional<OnMeta> scope;
    if (meta || !skips_kernels()) scope.emplace(meta ? call.node->kind->node_name : nullptr);
    call.node->kind->backward(call);
}
}  // namespace

void call_rule(BackwardCall& call) {
    // Inputs may all be views of no_grad mode, which require a gradient and lead nowhere: no rule knows their shapes.
    if (call.needed == 0 && call.node->edge_count && !call.node->has(Node::kFunction)) return;
    process_mode == 0 ? call.node->kind->backward(call) : call_rule_beside_meta(call);
}

BackwardResult run_backward(const BackwardRequest& request) {
    pool_note_use();
    const bool seen =
        mode(kInterpreted) && (engine_ops.backward_begins(request.roots, request.inputs) || request.create_graph);
    const ModeGuard interpreted(kInterpreted, seen);
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
    BackwardCall call{&node, gradients, results, wants};
    call_rule(call);
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
          run(request, true) {}
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