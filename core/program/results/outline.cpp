// The end of a compiled call: Note [Outcome].
#include <algorithm>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/program/record/recorder.h"
#include "core/program/record/weak_bindings.h"
#include "core/program/results/outcome.h"

namespace clew {
namespace {

// What a tensor's flags say that a new one is to have, too.
constexpr std::uint8_t kCopied = TensorObject::kRequiresGrad | TensorObject::kInference | TensorObject::kRetainsGrad;

bool is_slices(const Node& node) { return node.kind == &copy_slices_kind; }

// Whether the node has more than its operation and hooks gave it. A Function's attributes are its own.
bool has_more(const Node& node) {
    const NodeExtras* const extras = node.extras;
    if (extras == nullptr) return false;
    return extras->metadata || (extras->attributes && !node.has(Node::kFunction));
}

}  // namespace

void Recorder::end_call(bool whole, Tensors results, Tensors arguments, std::vector<Node*> contexts,
                        std::vector<Node*> hooked) {
    if (!on_) return;
    if (abandoned_) return end(false);
    contexts_ = std::move(contexts);
    hooked_ = std::move(hooked);
    leave();
    if (whole) look_back();
    if (whole && program_.refusals.empty()) {
        program_.outcome = Ref<Outcome>::steal(new Outcome);
        for (const Tensor& one : results) program_.outcome->given.push_back(outline_result(one));
        for (const Leaf& leaf : program_.leaves) outline_gradient(leaf);
        program_.outcome->order_nodes();
        program_.outcome->released = static_cast<int>(
            std::ranges::count_if(program_.outcome->nodes, [](const NodeOutline& one) { return bool(one.released); }));
        check_ages();
        program_.outcome->defer();
        note_leaves({});
        for (Leaf& leaf : program_.leaves) {
            const Tensor grad = leaf.tensor->extras ? leaf.tensor->extras->grad : Tensor();
            if (const auto found = outlined_results_.find(grad.get()); found != outlined_results_.end())
                leaf.result = found->second;
            if (grad && grad->grad_fn && !grad->has(TensorObject::kPreexisting))
                refuse("leaves a .grad with a history");
        }
        note_ends();
        program_.finished = program_.refusals.empty();
    }
    for (Input& input : program_.inputs) {
        input.older = input.tensor->has(TensorObject::kPreexisting);
        for (const Tensor& argument : arguments) input.bound = input.bound || input.tensor.same(argument);
    }
    unmark();
}

int Recorder::input_of(const Tensor& tensor) {
    const int reg = resolve(tensor);
    int input = 0;
    while (program_.inputs[static_cast<std::size_t>(input)].reg != reg) ++input;
    return input;
}

// Edges lead to older nodes, or else a replay can't make them in that order.
void Recorder::check_ages() {
    const std::vector<NodeOutline>& nodes = program_.outcome->nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i)
        for (const EdgeOutline& edge : nodes[i].edges)
            if (edge.node >= static_cast<int>(i))
                return refuse("gives a graph with an edge from a node to a younger one");
}

// An input that is a view of this tensor: in another call it may be a view of another one.
int Recorder::input_with_base(const Tensor& tensor) const {
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
        const Input& input = program_.inputs[i];
        if (!input.grad_of && input.tensor->base.get() == tensor.get()) return static_cast<int>(i);
    }
    return -1;
}

// The first whose loss it is: what comes in its place may have lost its history elsewhere, or have lost none.
int Recorder::input_that_lost(const Ref<HistoryBreak>& lost) const {
    for (std::size_t i = 0; lost && i < program_.inputs.size(); ++i)
        if (!program_.inputs[i].grad_of && program_.inputs[i].tensor->lost.get() == lost.get())
            return static_cast<int>(i);
    return -1;
}

int Recorder::outline_result(const Tensor& tensor) {
    if (const auto found = outlined_results_.find(tensor.get()); found != outlined_results_.end()) return found->second;
    ResultOutline outline;
    if (tensor->has(TensorObject::kPreexisting)) {
        const int base_of = inputs_.contains(tensor.get()) ? -1 : input_with_base(tensor);
        outline.input = base_of >= 0 ? base_of : input_of(tensor);
        outline.base_of_input = base_of >= 0;
    } else {
        NodeRef history;
        try {
            history = grad_fn_of(tensor);
        } catch (const Error&) {
            refuse("gives a view whose history can't be read any more");
        }
        if (tensor->base) outline.base = outline_result(Tensor(tensor->base.get()));
        outline.reg = resolve(tensor);
        outline.view_kind = tensor->view_kind;
        outline.flags = tensor->flags & kCopied;
        outline.version = version_of(*tensor.get());
        outline.through = input_with_counter(program_.of(outline.reg).memory, counter_of(*tensor.get()));
        outline.own_counter = tensor->has(TensorObject::kAliasCounter);
        outline.behind = outline.base >= 0 ? outline.version - tensor->history_version : 0;
        outline.lost = tensor->lost;
        outline.lost_of = input_that_lost(tensor->lost);
        outline.output = tensor->output_index;
        if (tensor->has(TensorObject::kSubclass)) refuse("gives a tensor of a subclass that it made");
        if (tensor->extras && tensor->extras->grad) refuse("gives a tensor that it made and that has a .grad");
        if (tensor->dict) refuse("gives a tensor that it made and that has attributes of the user's");
        if (!history && hooks_of(tensor)) refuse("gives a leaf that it made and that has hooks");
        if (history && program_.refusals.empty()) outline.node = outline_node(history.get());
    }
    const int index = static_cast<int>(program_.outcome->results.size());
    program_.outcome->results.push_back(std::move(outline));
    outlined_results_[tensor.get()] = index;
    return index;
}

// One that the call made of memory from before it is made anew, as a result is: it is no tensor from before.
void Recorder::outline_gradient(const Leaf& leaf) {
    const Tensor gradient = leaf.tensor->extras ? leaf.tensor->extras->grad : Tensor();
    if (!gradient || gradient->has(TensorObject::kPreexisting)) return;
    const int memory = memory_of(gradient);
    if (memory >= 0 && program_.memories[static_cast<std::size_t>(memory)].input >= 0) {
        outline_result(gradient);
        return;
    }
    const auto [first, is_new] = gradient_on_.emplace(gradient->storage.get(), gradient.get());
    if (!is_new && first->second != gradient.get() && first->second->offset == gradient->offset)
        refuse("gives two leaves gradients that are two tensors on the same memory");
}

EdgeOutline Recorder::outline_edge(const Edge& edge) {
    if (!edge) return {};
    Node& node = *edge.node;
    if (node.has(Node::kAccumulate)) {
        TensorObject* const leaf = node.outputs()[0].tensor;
        if (leaf == nullptr)
            refuse("gives a graph that ends in a leaf which the call made and dropped: detach the result");
        else if (leaf->has(TensorObject::kPreexisting))
            return {.input = input_of(Tensor(leaf)), .index = edge.index};
        else if (leaf->grad_fn || !leaf->has(TensorObject::kRequiresGrad))
            refuse("gives a graph that ends in a leaf which the call made and then changed: detach the result");
        else
            return {.result = outline_result(Tensor(leaf)), .index = edge.index};
        return {};
    }
    if (node.sequence >= program_.began) return {.node = outline_node(&node), .index = edge.index};
    for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
        const Tensor input = program_.inputs[i].present();
        if (!input || program_.inputs[i].grad_of) continue;
        const Edge to = gradient_edge(input);
        if (to.node == &node && to.index == edge.index) return {.input = static_cast<int>(i), .index = edge.index};
    }
    refuse("gives a graph that leads to one from before the call by no tensor that it was given");
    return {};
}

int Recorder::outline_node(Node* root) {
    // What is below comes first; no recursion, since graphs are deep.
    std::vector<Node*> stack{root};
    while (!stack.empty() && program_.refusals.empty()) {
        Node* const node = stack.back();
        if (outlined_nodes_.contains(node)) {
            stack.pop_back();
            continue;
        }
        const std::size_t before = stack.size();
        Node* const inner = is_slices(*node) ? node->extras->inner.get() : nullptr;
        if (inner && !outlined_nodes_.contains(inner)) stack.push_back(inner);
        for (std::uint32_t i = 0; i < node->edge_count; ++i) {
            Node* const below = node->edge_nodes()[i];
            if (below && !below->has(Node::kAccumulate) && below->sequence >= program_.began &&
                !outlined_nodes_.contains(below))
                stack.push_back(below);
        }
        if (stack.size() > before) continue;
        stack.pop_back();
        const bool kept = is_noted(*node);
        const auto context = std::ranges::find(contexts_, node), hooked = std::ranges::find(hooked_, node);
        if (!kept || node->has(Node::kCut) || has_more(*node) ||
            (node->has(Node::kFunction) && context == contexts_.end())) {
            refuse(format("gives a graph with %s, which %s, so that a replay can't make it again yet",
                          node->kind->node_name,
                          !kept ? "was made when a view's history was asked for" : "has attributes"));
            break;
        }
        NodeOutline outline{.kind = node->kind,
                            .shape = {node->edge_count, node->slot_count, node->output_count},
                            .attributes = {},
                            .code = Handle::borrow(node->code),
                            .instruction = node->instruction,
                            .born = node->sequence,
                            .edges = {},
                            .slots = {},
                            .outputs = {},
                            .released = node->has(Node::kFreed) ? Ref<Release>(node->released) : Ref<Release>(),
                            .context = node->has(Node::kFunction) ? static_cast<int>(context - contexts_.begin()) : -1,
                            .hooked = hooked != hooked_.end() ? static_cast<int>(hooked - hooked_.begin()) : -1};
        const char* const bytes = static_cast<const char*>(node->attributes());
        outline.attributes.assign(bytes, bytes + node->kind->kept_bytes);
        for (std::uint32_t i = 0; i < node->edge_count; ++i)
            outline.edges.push_back(outline_edge(node->edge(static_cast<int>(i))));
        for (int i = 0; i < node->output_count; ++i)
            outline.outputs.emplace_back(LayoutRef(node->outputs()[i].layout), node->output_dtypes()[i]);
        outline_slots(outline, *node);
        if (inner) {
            const SavedSlot& where = node->slots()[0];
            outline.slices = {outlined_nodes_.at(inner), LayoutRef(where.layout), where.offset, where.dtype};
        }
        outlined_nodes_[node] = static_cast<int>(program_.outcome->nodes.size());
        program_.outcome->nodes.push_back(std::move(outline));
    }
    const auto found = outlined_nodes_.find(root);
    return found == outlined_nodes_.end() ? -1 : found->second;
}

void Recorder::outline_slots(NodeOutline& outline, Node& node) {
    for (int i = 0; i < node.slot_count; ++i) {
        const SavedSlot& slot = node.slots()[i];
        const KeptSlot known = kept_slot(slot);
        if (known.edge)
            refuse(
                format("gives a graph with %s, which saved a value with a history of its own", node.kind->node_name));
        if (written_through_alias(node, slot))
            refuse(format("gives a graph with %s, whose saved value was written through .data", node.kind->node_name));
        outline.slots.push_back({.saved = slot.state != SlotState::Empty,
                                 .reg = known.reg,
                                 .layout = LayoutRef(slot.layout),
                                 .dtype = slot.dtype,
                                 .through = known.through,
                                 .version = current_version(slot),
                                 .behind = current_version(slot) - slot.version,
                                 .source = slot.source,
                                 .index = slot.index,
                                 .wrapped_number = slot.wrapped_number});
    }
}

}  // namespace clew
