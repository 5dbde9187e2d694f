// The end of a block: which of its tensors and nodes live on, and what can't be run again.
#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/program/record/leaves.h"
#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"

namespace clew {

void Recorder::leave() {
    pop();
    on_ = false;
    if (under_way_ == this) under_way_ = nullptr;
}

void Recorder::unmark() {
    for (TensorObject* one = living_tensors; one; one = one->next) one->set(TensorObject::kPreexisting, false);
}

void Recorder::end(bool whole) {
    if (!on_) return;
    leave();
    if (abandoned_) return forget();
    if (whole) look_back();
    if (whole) look_at_gradients();
    if (whole && program_.refusals.empty()) {
        track_tensors();
        note_ends();
        program_.finished = true;
    } else {
        forget_nodes(program_);
        program_.nodes.clear();
    }
    program_.forget_known();
    unmark();
}

void Recorder::track_tensors() {
    // A gradient may not keep the program alive, which keeps its leaf alive.
    std::unordered_set<const TensorObject*> gradients;
    for (TensorObject* one = living_tensors; one; one = one->next)
        if (one->extras && one->extras->grad) gradients.insert(one->extras->grad.get());
    std::unordered_map<const TensorObject*, int> places;
    for (TensorObject* one = living_tensors; one; one = one->next) {
        if (one->has(TensorObject::kPreexisting) || one->has(TensorObject::kWrappedNumber)) continue;
        const Tensor tensor(one);
        const int last = last_on(*tensor->storage);
        if (last < 0 || (one->extras && one->extras->kept)) continue;
        const int node = index_of(program_, one->grad_fn.get());
        if (one->grad_fn && node < 0) continue;  // a history of another time
        const int found = find(last, tensor);
        const int reg =
            found >= 0 && program_.of(found).made_by >= 0 ? found : alias_of(program_.of(last).memory, tensor);
        const std::uint32_t version = version_of(*one);
        const int index = static_cast<int>(program_.tracked.size());
        program_.tracked.push_back(
            {one, reg, node, version, one->base ? version - one->history_version : 0, place_of(*one)});
        places[one] = index;
    }
    note_leaves(places);
    for (std::size_t i = 0; i < program_.tracked.size(); ++i)
        keep_tensor(program_, static_cast<int>(i), !gradients.contains(program_.tracked[i].tensor));
}

// Which assignment to each .grad is the last.
void Recorder::note_leaves(const std::unordered_map<const TensorObject*, int>& places) {
    std::unordered_map<const TensorObject*, std::size_t> last;
    for (std::size_t i = 0; i < program_.leaves.size(); ++i) last[program_.leaves[i].tensor.get()] = i;
    for (std::size_t i = 0; i < program_.leaves.size(); ++i) {
        Leaf& leaf = program_.leaves[i];
        if (set_by_[i] < 0) continue;  // it failed
        if (last[leaf.tensor.get()] == i) leaf.last = set_by_[i];
        if (leaf.last >= 0 && leaf.tensor->extras && leaf.tensor->extras->grad) {
            const Tensor& gradient = leaf.tensor->extras->grad;
            leaf.version = version_of(*gradient.get());
            if (const auto found = places.find(gradient.get()); found != places.end()) leaf.gradient = found->second;
        }
        if (const auto found = places.find(leaf.tensor.get()); found != places.end()) leaf.tracked = found->second;
        if (leaf.tensor->has(TensorObject::kPreexisting)) leaf.input = input_of(leaf.tensor);
    }
}

void Recorder::note_ends() {
    for (Leaf& leaf : program_.leaves) leaf.tensor = Tensor();  // one that only the program holds dies here
    for (KeptNode& kept : program_.nodes)
        if (kept.alive()) {
            kept.freed_at_end = kept.node->has(Node::kFreed);
            kept.hooked = kept.node->extras != nullptr;
        }
    for (Input& input : program_.inputs)
        if (!input.grad_of) input.hooks = hooks_of(input.tensor);
    note_values(program_);
}

// What can be said only once all has run.
void Recorder::look_back() {
    for (const Tensor& one : asked_) resolve(one);
    for (const Input& input : program_.inputs) {
        if (input.grad_of) continue;
        if (input.tensor.requires_grad() != input.requires_grad)
            refuse("changes the requires_grad of a tensor from before the block; do it before");
        else if (history_of(input.tensor) != input.history)
            refuse("gives a tensor from before the block another history; do it before");
    }
    for (TensorObject* one = living_tensors; one; one = one->next) {
        if (!one->has(TensorObject::kPreexisting)) continue;
        const auto before = hooks_.find(one);
        if (hooks_of(Tensor(one)) == (before == hooks_.end() ? 0 : before->second)) continue;
        refuse("adds or removes a hook of a tensor from before the block; do it before");
        break;
    }
    for (const int i : shared_reads_) {
        const Step& step = program_.steps[static_cast<std::size_t>(i)];
        const auto& writers = program_.memory_of(step.inputs[0]).writers;
        if (!writers.empty() && writers.back() > i)
            program_.refusals.push_back(
                {format("%s() hands out memory that the block writes later, so Python can see what it computes",
                        step.action->name),
                 step.action->code, step.action->instruction});
    }
}

// A gradient that the block gives to a leaf is one object, with a new value in each run. What the block reads there in
// the next run is that object, so nothing else may keep the value of the run before.
void Recorder::look_at_gradients() {
    const auto gradient_of = [](const Tensor& leaf) { return leaf->extras ? leaf->extras->grad : Tensor(); };
    for (const Step& step : program_.steps) {
        if (step.action->kind != StepKind::Rebind) continue;
        const Tensor& leaf = program_.leaves[static_cast<std::size_t>(step.index)].tensor;
        const Tensor now = gradient_of(leaf);
        if (!now || now->has(TensorObject::kPreexisting)) continue;
        for (const Input& input : program_.inputs) {
            const int memory = program_.of(input.reg).memory;
            if (!input.grad_of || input.tensor.get() != leaf.get() || memory_of(now) == memory) continue;
            const bool is_kept = outlives(memory) || std::ranges::any_of(program_.leaves, [&](const Leaf& other) {
                                     const Tensor gradient = gradient_of(other.tensor);
                                     return gradient && memory_of(gradient) == memory;
                                 });
            if (!is_kept) continue;
            program_.refusals.push_back(
                {"gives a tensor a new .grad while the one before is kept (as the .grad of another tensor, by a view "
                 "or "
                 "in a graph), which run() can't tell apart; keep a clone() of it",
                 step.action->code, step.action->instruction});
            return;
        }
    }
}

// Whether a tensor of the block that lives looks at this memory, or a node has saved it.
bool Recorder::outlives(int memory) {
    for (TensorObject* one = living_tensors; one; one = one->next)
        if (!one->has(TensorObject::kPreexisting) && memory_of(Tensor(one)) == memory) return true;
    return std::ranges::any_of(program_.nodes, [&](const KeptNode& kept) {
        return kept.alive() && !kept.node->has(Node::kFreed) &&
               std::ranges::any_of(kept.slots, [&](const KeptSlot& slot) {
                   return slot.reg >= 0 && program_.of(slot.reg).memory == memory;
               });
    });
}

// Rules of nodes from before the block read what the graph saved then.
void Recorder::note_backward(Tensors roots) {
    program_.has_backward = true;
    const auto stays = [&](const Tensor& root) { return stays_in(root->grad_fn.get()); };
    if (call_ && !leads_out_ && std::ranges::all_of(roots, stays)) return;
    std::vector<Node*> seen;  // a node's hint says where it stands, as in the engine
    const auto visit = [&](Node* node) {
        if (node == nullptr || node->has(Node::kAccumulate)) return;
        if (node->visit < seen.size() && seen[node->visit] == node) return;
        node->visit = static_cast<std::uint32_t>(seen.size());
        seen.push_back(node);
    };
    for (const Tensor& root : roots) visit(root->grad_fn.get());
    for (std::size_t next = 0; next < seen.size(); ++next) {
        Node* const node = seen[next];
        if (node->sequence < program_.began)
            return refuse(
                format("runs a backward through %s, which was made before the block; make the whole graph inside",
                       node->kind->node_name));
        for (std::uint32_t i = 0; i < node->edge_count; ++i) visit(node->edge_nodes()[i]);
    }
}

}  // namespace clew
