// Runs a graph backward.
//
// Note [The engine]
// 1. Discover: walk from the roots, give every node an entry, count how many gradients it waits for.
// 2. Run: of the nodes that wait for nothing more, the one made last comes first; leaves come as soon as they are
// complete.
//    Hooks, the rule, hooks; then what the node saved is dropped, and its results are added to the entries of its
//    inputs.
// With `inputs`, only nodes on a path to one of them run. One thread does all of it; a backward inside a backward is a
// nested call.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/autograd/node.h"
#include "core/base/error.h"

namespace clew {

struct BackwardRequest {
    std::span<const Tensor> roots;
    std::span<const Tensor> gradients;  // one for each root; empty handles mean "ones", for one-element roots
    bool keep_graph = false;
    bool create_graph = false;
    const char* kind = "backward";   // for the release record
    std::span<const Tensor> inputs;  // empty: accumulate into all leaves
    bool accumulate_inputs = false;  // backward(inputs=): into .grad of these only; else return them
};

struct BackwardResult {
    std::vector<Tensor> captured;  // one for each input; empty handle where it was not reached
    Ref<Release> release;          // null when the graph was kept
};

// Calls the rule of call.node, on the device of the gradients that came: Note [Meta tensors].
void call_rule(BackwardCall& call);

BackwardResult run_backward(const BackwardRequest& request);

// Checks the roots and what is given for them: one gradient for each (or an empty handle), made of the root's dtype.
void fit_to_roots(std::span<const Tensor> roots, std::vector<Tensor>& gradients);
// Raises the error about a root without history; set from outside, where its causes are looked for.
extern void (*explain_no_grad)(const Tensor& root, std::size_t index);
// Checks `inputs` of a request; where their gradients are to be accumulated, results among them retain theirs.
void check_inputs(std::span<const Tensor> inputs, bool accumulate);
// Gradients that leave a pass without create_graph: nobody's views, and with the reason why they have no history.
void make_plain(std::vector<Tensor>& gradients);
// Of gradients that leave a pass with create_graph: those without a history say why.
void note_constant_gradients(std::span<const Tensor> gradients);

// What happened at one node: the gradients that arrived, hooks included, and those that it sent on.
struct BackwardStep {
    NodeRef node;
    std::vector<Tensor> incoming, results;
};

// The same run, one node at a time, for those who want to look at each gradient on its way. Between steps other
// backward passes may run. What has not run when it is destroyed does not run.
class SteppedBackward {
public:
    SteppedBackward(std::vector<Tensor> roots, std::vector<Tensor> gradients, bool keep_graph, bool create_graph);
    ~SteppedBackward();
    SteppedBackward(const SteppedBackward&) = delete;
    SteppedBackward& operator=(const SteppedBackward&) = delete;

    bool next(BackwardStep& step);  // false: all nodes have run
    BackwardResult finish();        // then: what was released

private:
    struct State;
    template <class Work>
    void during(Work work);
    std::unique_ptr<State> state_;
};

// The node's rule alone, on gradients of its outputs: no hooks, nothing freed, nothing accumulated.
std::vector<Tensor> run_rule(Node& node, std::span<Tensor> gradients);

// For hooks: which run this thread is in (0: none), all runs under way, whether the run asks a node for gradients, and
// whether it accumulates into all leaves (it was given no inputs).
std::uint64_t backward_serial();
std::vector<std::uint64_t> backward_serials();
bool backward_reaches(Node& node);
bool backward_accumulates();

// Checks what a rule returned against what its input was: sums over broadcast axes, casts. Fails when it cannot fit.
void fit_gradient(Tensor& gradient, const Layout& layout, DType dtype, const char* who, int index);

}  // namespace clew
