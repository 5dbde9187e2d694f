#include "core/autograd/node.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "core/autograd/deferred.h"
#include "core/autograd/hooks.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"
#include "core/base/pool_use.h"

namespace clew {

char* Node::detached_body() { return extras->body; }

void construct_node(Node* self, const NodeKind& kind) {
    self->kind = &kind;
    self->extras = nullptr;
    self->weak_references = nullptr;
    self->code = nullptr;
    self->instruction = -1;
    self->visit = 0;
    self->released = nullptr;
    self->sequence = tick();
    self->flags = Node::kBuilt;
    self->edge_count = 0;
    self->slot_count = 0;
    self->output_count = 0;
    if (!mode(kNoProvenance)) {
        const Site site = runtime.current_site();
        self->code = site.code;
        self->instruction = site.instruction;
    }
    ++graph_counters.nodes_built;
    ++graph_counters.nodes_alive;
}

[[gnu::hot]] NodeRef new_node(const NodeKind& kind, NodeShape shape) {
    const std::size_t body = shape.body_bytes(kind);
    char* memory = static_cast<char*>(pool_take(kGcHead + sizeof(Node) + body));
    std::memset(memory, 0, kGcHead);
    auto* self = reinterpret_cast<Node*>(memory + kGcHead);
    self->references = 1;
    self->reserved = 0;
    if (kind.node_type == nullptr) kind.node_type = runtime.node_type_of(kind.node_name);
    self->type = kind.node_type;
    construct_node(self, kind);
    self->edge_count = shape.edges;
    self->slot_count = shape.slots;
    self->output_count = shape.outputs;
    std::memset(self + 1, 0, body);
    return NodeRef::steal(self);
}

void attach_body(Node* self, NodeShape shape) {
    NodeExtras& extras = extras_of(*self);
    extras.body_bytes = shape.body_bytes(*self->kind);
    extras.body = static_cast<char*>(pool_take(extras.body_bytes));
    std::memset(extras.body, 0, extras.body_bytes);
    self->set(Node::kDetachedBody);
    self->edge_count = shape.edges;
    self->slot_count = shape.slots;
    self->output_count = shape.outputs;
}

void too_many_outputs(const Node& node) {
    fail(ErrorKind::NotImplemented, "%s: a node with more than 65536 outputs is not supported", node.kind->name);
}

[[gnu::hot]] void unlink_output(TensorObject* tensor) {
    Node* node = tensor->grad_fn.get();
    if (node == nullptr || tensor->output_index >= node->output_count) return;
    OutputRecord& record = node->outputs()[tensor->output_index];
    if (record.tensor == tensor) record.tensor = nullptr;
}

void make_below(Node& node) {
    const Ref<Deferred> below = Ref<Deferred>::steal(&deferred_below(node));
    node.clear(Node::kDeferred);
    node.edge_room()[0] = nullptr;
    below->make(node);
}

void mark_python(Node& node) {
    make_whole(node);
    node.set(Node::kPython);
    if (!node.has(Node::kTracked)) {
        node.set(Node::kTracked);
        runtime.track(&node);
    }
}

namespace {

struct DeadNodes {
    std::vector<Node*> waiting;  // their last reference is ours
    bool draining = false;
};
// This thread's, once it has any: a plain pointer is read without a call.
thread_local constinit DeadNodes* dead_nodes __attribute__((tls_model("initial-exec"))) = nullptr;

[[gnu::noinline, gnu::cold]] DeadNodes& first_dead_nodes() {
    thread_local DeadNodes own;
    dead_nodes = &own;
    return own;
}

// Takes back one reference. The last one waits for the outermost death.
inline void let_go(Node* node) {
    if (node->references == 1)
        (dead_nodes ? *dead_nodes : first_dead_nodes()).waiting.push_back(node);
    else
        --node->references;
}

}  // namespace

Deferred::~Deferred() {
    for (std::uint32_t i = 0; i < out.count; ++i)
        if (Node* const node = out.nodes[i]) let_go(node);
    drain_dead_nodes();
}

void Deferred::set_edge_out(std::uint32_t i, Edge edge) {
    if (edge.index > 0xffff) too_many_outputs(*edge.node);
    if (edge.node) retain(edge.node);
    out.nodes[i] = edge.node;
    out.indices[i] = static_cast<std::uint16_t>(edge.index);
}

[[gnu::hot]] void drain_dead_nodes() {
    if (dead_nodes == nullptr || dead_nodes->draining) return;
    DeadNodes& dead = *dead_nodes;
    dead.draining = true;
    const std::int64_t freed_before = graph_counters.nodes_built - graph_counters.nodes_alive;
    while (!dead.waiting.empty()) {
        Node* node = dead.waiting.back();
        dead.waiting.pop_back();
        release(node);
    }
    dead.draining = false;
    constexpr std::int64_t kLarge = 4096, kBytes = 128;  // of a node, about
    const std::int64_t count = graph_counters.nodes_built - graph_counters.nodes_alive - freed_before;
    if (count > kLarge) [[unlikely]]
        pool_note_use(count * kBytes);
}

void (*kept_node_died)(Node* self) = nullptr;

[[gnu::hot]] void destruct_node(Node* self) {
    bool held = false;
    for (int i = 0; i < self->slot_count; ++i) {
        SavedSlot& slot = self->slots()[i];
        held = held || slot.state == SlotState::Held || slot.state == SlotState::Packed;
        drop_slot(slot);
    }
    graph_counters.nodes_freed_by_scope += held;
    for (int i = 0; i < self->output_count; ++i)
        if (Layout* layout = self->outputs()[i].layout) release(layout);
    if (self->has(Node::kDeferred)) [[unlikely]]
        release(&deferred_below(*self));
    else
        for (std::uint32_t i = 0; i < self->edge_count; ++i)
            if (Node* child = self->edge_room()[i]) let_go(child);
    if (self->released) release(self->released);
    if (void* code = self->code) runtime.release(code);
    if (NodeExtras* extras = self->extras) {
        if (extras->body) pool_give(extras->body, extras->body_bytes);
        if (Node* inner = extras->inner.detach()) let_go(inner);
        self->extras = nullptr;
        delete extras;  // may run Python
    }
    if (self->has(Node::kBuilt)) --graph_counters.nodes_alive;
}

std::size_t node_bytes(Node& self) {
    const std::size_t body = NodeShape{self.edge_count, self.slot_count, self.output_count}.body_bytes(*self.kind);
    return kGcHead + sizeof(Node) + body + (self.extras ? sizeof(NodeExtras) : 0);
}

[[gnu::hot]] void free_node(Node* self) {
    const std::size_t body =
        self->has(Node::kDetachedBody)
            ? 0
            : NodeShape{self->edge_count, self->slot_count, self->output_count}.body_bytes(*self->kind);
    pool_give(reinterpret_cast<char*>(self) - kGcHead, kGcHead + sizeof(Node) + body);
}

}  // namespace clew
