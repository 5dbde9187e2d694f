#include "core/program/record/weak_bindings.h"

#include "core/base/flat_table.h"
#include "core/ops/functions.h"
#include "core/program/replay/digests.h"

namespace clew {
namespace {

struct Place {
    Program* program;
    int index;
};
FlatTable<const Node*, Place>& places() {
    static auto* const all = new FlatTable<const Node*, Place>;
    return *all;
}

void node_died(Node* node) {
    const Place* const found = places().find(node);
    if (found == nullptr) return;
    Program& program = *found->program;
    program.nodes[static_cast<std::size_t>(found->index)].node = nullptr;
    ++program.deaths;
    places().erase(node);
}

struct Kept : KeptTensor {
    Program* program = nullptr;  // null: it is gone
    int index = -1;
    bool guarded = false, given_out = false;
    std::uint64_t values = 0;
    ~Kept() override {
        if (guarded) --guarded_leaves;
        if (program == nullptr) return;
        program->tracked[static_cast<std::size_t>(index)].tensor = nullptr;
        ++program->deaths;
    }
};

Kept* kept_of(const TensorObject& tensor) {
    return tensor.extras ? static_cast<Kept*>(tensor.extras->kept.get()) : nullptr;
}

std::uint64_t values_of(const TensorObject& tensor) {
    const Tensor value(const_cast<TensorObject*>(&tensor));
    return digest_of({&value, 1});
}

struct SetUp {
    SetUp() { kept_node_died = node_died; }
};
const SetUp set_up;

}  // namespace

void keep_node(Program& program, int index) {
    Node* const node = program.nodes[static_cast<std::size_t>(index)].node;
    node->set(Node::kKept);
    places().insert(node, {&program, index});
}

void forget_nodes(Program& program) {
    for (const KeptNode& kept : program.nodes) {
        if (kept.node == nullptr) continue;
        kept.node->clear(Node::kKept);
        places().erase(kept.node);
    }
}

int index_of(const Program& program, const Node* node) {
    if (node == nullptr || !node->has(Node::kKept)) return -1;
    const Place* const found = places().find(node);
    return found && found->program == &program ? found->index : -1;
}

void keep_tensor(Program& program, int index, bool owns) {
    TensorObject& tensor = *program.tracked[static_cast<std::size_t>(index)].tensor;
    auto kept = std::make_unique<Kept>();
    kept->program = &program;
    kept->index = index;
    if (owns) {
        kept->owner = Handle::borrow(program.self);
        mark_tracked(tensor);
    }
    extras_of(tensor).kept = std::move(kept);
}

void disown(const Program& program, int index) {
    const TrackedTensor& tracked = program.tracked[static_cast<std::size_t>(index)];
    if (Kept* const kept = tracked.tensor ? kept_of(*tracked.tensor) : nullptr) kept->owner = Handle();
}

void guard(const Program& program, int index, bool given_out) {
    const TensorObject& tensor = *program.tracked[static_cast<std::size_t>(index)].tensor;
    Kept& kept = *kept_of(tensor);
    kept.guarded = true;
    ++guarded_leaves;
    kept.given_out = given_out;
    if (given_out) kept.values = values_of(tensor);
}

void note_given_out(const Tensor& tensor) {
    if (guarded_leaves == 0) return;
    for (TensorObject* one = living_tensors; one; one = one->next) {
        Kept* const kept = one->storage == tensor->storage ? kept_of(*one) : nullptr;
        if (kept == nullptr || !kept->guarded || kept->given_out) continue;
        kept->values = values_of(*one);
        kept->given_out = true;
    }
}

bool has_other_values(const TensorObject& tensor) {
    const Kept* const kept = kept_of(tensor);
    return kept && kept->given_out && kept->values != values_of(tensor);
}

void note_values_of(const TensorObject& tensor) {
    Kept* const kept = kept_of(tensor);
    if (kept && kept->given_out) kept->values = values_of(tensor);
}

void forget_tensors(Program& program) {
    for (const TrackedTensor& tracked : program.tracked)
        if (tracked.tensor)
            if (Kept* kept = kept_of(*tracked.tensor)) kept->program = nullptr;
}

bool is_refreshed_view(const Program& program, const TrackedTensor& tracked) {
    const TensorObject& tensor = *tracked.tensor;
    if (tracked.node < 0 || !tensor.base || !tensor.grad_fn) return false;
    const KeptNode& kept = program.nodes[static_cast<std::size_t>(tracked.node)];
    return tensor.grad_fn.get() != kept.node && !kept.hooked && is_as_strided(*tensor.grad_fn->kind);
}

KeptBy kept_by(const TensorObject& tensor) {
    const Kept* kept = kept_of(tensor);
    return kept ? KeptBy{kept->program, kept->index} : KeptBy{nullptr, -1};
}

}  // namespace clew
