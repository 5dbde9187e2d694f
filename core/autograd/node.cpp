#include "core/autograd/node.h"

#include <cstring>
#include <new>

#include "core/autograd/hooks.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/base/error.h"

namespace clew {

std::size_t NodeShape::body_bytes(const NodeKind& kind) const {
    return sizeof(OutputRecord) * outputs + sizeof(Node*) * edges + sizeof(SavedSlot) * slots +
           (kind.attribute_bytes + 7) / 8 * 8 + (sizeof(std::uint16_t) * edges + outputs + 7) / 8 * 8;
}

char* Node::body() { return has(kDetachedBody) ? extras->body : reinterpret_cast<char*>(this + 1); }
void* Node::attributes() { return slots() + slot_count; }
std::uint16_t* Node::edge_indices() {
    return reinterpret_cast<std::uint16_t*>(static_cast<char*>(attributes()) + (kind->attribute_bytes + 7) / 8 * 8);
}

namespace {

void zero_body(Node& node) {
    std::memset(node.body(), 0, NodeShape{node.edge_count, node.slot_count, node.output_count}.body_bytes(*node.kind));
}

}  // namespace

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

NodeRef new_node(const NodeKind& kind, NodeShape shape) {
    char* memory = static_cast<char*>(pool_take(kGcHead + sizeof(Node) + shape.body_bytes(kind)));
    std::memset(memory, 0, kGcHead);
    auto* self = reinterpret_cast<Node*>(memory + kGcHead);
    self->references = 1;
    self->reserved = 0;
    self->type = runtime.node_type;
    construct_node(self, kind);
    self->edge_count = shape.edges;
    self->slot_count = shape.slots;
    self->output_count = shape.outputs;
    zero_body(*self);
    return NodeRef::steal(self);
}

void attach_body(Node* self, NodeShape shape) {
    NodeExtras& extras = extras_of(*self);
    extras.body_bytes = shape.body_bytes(*self->kind);
    extras.body = static_cast<char*>(pool_take(extras.body_bytes));
    self->set(Node::kDetachedBody);
    self->edge_count = shape.edges;
    self->slot_count = shape.slots;
    self->output_count = shape.outputs;
    zero_body(*self);
}

void set_edge(Node& node, int i, Edge to) {
    if (to.index > 0xffff)
        fail(ErrorKind::NotImplemented, "%s: a node with more than 65536 outputs is not supported", node.kind->name);
    node.edge_nodes()[i] = to.node;
    node.edge_indices()[i] = static_cast<std::uint16_t>(to.index);
    if (to.node == nullptr) return;
    retain(to.node);
    if (to.node->has(Node::kPython)) mark_python(node);
}

void set_output_shape(Node& node, int i, const LayoutRef& layout, DType dtype) {
    OutputRecord& record = node.outputs()[i];
    retain(layout.get());
    if (record.layout) release(record.layout);
    record.layout = layout.get();
    node.output_dtypes()[i] = dtype;
}

void set_output(Node& node, int i, TensorObject* result) {
    set_output_shape(node, i, result->layout, result->dtype);
    node.outputs()[i].tensor = result;
}

void unlink_output(TensorObject* tensor) {
    Node* node = tensor->grad_fn.get();
    if (node == nullptr || tensor->output_index >= node->output_count) return;
    OutputRecord& record = node->outputs()[tensor->output_index];
    if (record.tensor == tensor) record.tensor = nullptr;
}

void mark_python(Node& node) {
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
thread_local DeadNodes dead_nodes;

}  // namespace

void drain_dead_nodes() {
    DeadNodes& dead = dead_nodes;
    if (dead.draining) return;
    dead.draining = true;
    while (!dead.waiting.empty()) {
        Node* node = dead.waiting.back();
        dead.waiting.pop_back();
        release(node);
    }
    dead.draining = false;
}

void destruct_node(Node* self) {
    bool held = false;
    for (int i = 0; i < self->slot_count; ++i) {
        SavedSlot& slot = self->slots()[i];
        held = held || slot.state == SlotState::Held || slot.state == SlotState::Packed;
        drop_slot(slot);
    }
    graph_counters.nodes_freed_by_scope += held;
    for (int i = 0; i < self->output_count; ++i)
        if (Layout* layout = self->outputs()[i].layout) release(layout);
    for (std::uint32_t i = 0; i < self->edge_count; ++i) {
        Node* child = self->edge_nodes()[i];
        if (child == nullptr) continue;
        if (child->references == 1)
            dead_nodes.waiting.push_back(child);
        else
            --child->references;
    }
    if (self->released) release(self->released);
    if (void* code = self->code) runtime.release(code);
    if (NodeExtras* extras = self->extras) {
        if (extras->body) pool_give(extras->body, extras->body_bytes);
        if (Node* inner = extras->inner.detach()) {
            if (inner->references == 1)
                dead_nodes.waiting.push_back(inner);
            else
                --inner->references;
        }
        self->extras = nullptr;
        delete extras;  // may run Python
    }
    if (self->has(Node::kBuilt)) --graph_counters.nodes_alive;
}

std::size_t node_bytes(Node& self) {
    const std::size_t body = NodeShape{self.edge_count, self.slot_count, self.output_count}.body_bytes(*self.kind);
    return kGcHead + sizeof(Node) + body + (self.extras ? sizeof(NodeExtras) : 0);
}

void free_node(Node* self) {
    const std::size_t body =
        self->has(Node::kDetachedBody)
            ? 0
            : NodeShape{self->edge_count, self->slot_count, self->output_count}.body_bytes(*self->kind);
    pool_give(reinterpret_cast<char*>(self) - kGcHead, kGcHead + sizeof(Node) + body);
}

}  // namespace clew
