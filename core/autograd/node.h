// A node of the graph: one operation that ran, with edges to the nodes of its inputs and what its derivative needs.
//
// Note [Shape of a node]
// A node is a Python object with a fixed head and a body of variable length behind it:
//
//     head | outputs | edge nodes | saved slots | attributes | edge indices | output dtypes
//
// A binary operation that saves both inputs takes 200 bytes in all, the collector's head included. A node whose class
// is Python's (autograd.Function) learns its counts only after its forward has run; its body is a block of its own.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/autograd/ledger.h"
#include "core/tensor/tensor.h"

namespace clew {

struct Node;
struct NodeKind;
struct SavedSlot;   // core/autograd/saved.h
struct NodeExtras;  // core/autograd/hooks.h

// The gradients that arrive at a node, and where its rule puts the ones that leave.
// What a rule reads, given apart from a node: Note [Rules that run kernels].
struct RuleOperands {
    const NodeKind* op;
    std::span<const Tensor> inputs, outputs;  // what is saved of them
    const void* attributes;
};

struct UnpackedValues;  // core/autograd/saved_unpack.cpp
struct DeleteUnpacked {
    void operator()(UnpackedValues* values) const;
};

struct BackwardCall {
    Node* node;                  // null if there are operands
    std::span<Tensor> incoming;  // one for each output; may be empty handles
    std::span<Tensor> results;   // one for each input
    std::uint64_t needed;        // bit i: input i wants its gradient (inputs from 63 on share the last bit)
    const RuleOperands* operands = nullptr;
    std::unique_ptr<UnpackedValues, DeleteUnpacked> unpacked{};  // by hooks: each value is asked for once
    bool needs(int i) const { return (needed >> (i < 63 ? i : 63)) & 1; }
};

// What all nodes of one operation share. ops/OpDef derives from it.
struct NodeKind {
    const char* name = "";       // "mul"
    const char* node_name = "";  // "MulBackward0": what the class of its nodes is called
    const char* full_name = "";  // what Node.name() says: the same, or with a namespace before it
    // The Python class of its nodes, made with the first of them (Runtime::node_type_of).
    mutable void* node_type = nullptr;
    void (*backward)(BackwardCall&) = nullptr;
    std::uint32_t kept_bytes = 0;  // of attributes, a plain struct, copied as bytes: none where no rule reads them
    bool chooses = false;          // its gradients are zero where it took no element
    bool elementwise = false;      // an element of a gradient depends on what lies at its place: Note [Strips]
    const char* (*input_name)(const NodeKind&, int) = nullptr;
    const char* (*output_name)(const NodeKind&, int) = nullptr;
};

struct Edge {
    Node* node = nullptr;  // borrowed
    std::uint32_t index = 0;
    explicit operator bool() const { return node != nullptr; }
};

struct OutputRecord {
    Layout* layout;        // owned: the shape that a gradient must have
    TensorObject* tensor;  // weak: the tensor that the user holds, while it lives and has this node
};

inline constexpr std::size_t kSlotBytes = 32;
inline constexpr std::size_t round_up_to_8(std::size_t bytes) { return (bytes + 7) / 8 * 8; }

struct Node : Object {
    enum Flag : std::uint16_t {
        kPython = 1,  // it, or something below it, holds Python things: the collector must see it
        kTracked = 2,
        kDetachedBody = 4,  // the body is in extras
        kAccumulate = 8,    // AccumulateGrad
        kFreed = 16,        // what it saved was released by `released`
        kFunction = 32,     // autograd.Function
        kBuilt = 64,        // counted in nodes_alive
        kWrapped = 128,     // of an in-place operation on a view: CopySlices runs it
        kCut = 512,         // no gradient passes it: core/autograd/prune.h
        kSpared = 1024,     // the backward under way leaves what it saved
        kKept = 256,        // a kept program fills it again: it is to be told when the node dies
        kDeferred = 2048,   // what it leads to has not been made yet: Note [Deferred graphs]
    };
    const NodeKind* kind;
    NodeExtras* extras;
    void* weak_references;
    void* code;  // provenance: the user's line (owned)
    std::int32_t instruction;
    std::uint32_t visit;  // the engine's hint where its entry is
    Release* released;    // owned, or null
    std::uint64_t sequence : 48;
    std::uint64_t flags : 16;
    std::uint32_t edge_count;
    std::uint16_t slot_count;
    std::uint16_t output_count;

    char* body() { return has(kDetachedBody) ? detached_body() : reinterpret_cast<char*>(this + 1); }
    char* detached_body();
    OutputRecord* outputs() { return reinterpret_cast<OutputRecord*>(body()); }
    // Whoever goes along edges sees all of them: Note [Deferred graphs].
    Node** edge_nodes();
    Node** edge_room() { return reinterpret_cast<Node**>(outputs() + output_count); }
    SavedSlot* slots() { return reinterpret_cast<SavedSlot*>(edge_room() + edge_count); }
    void* attributes() { return reinterpret_cast<char*>(slots()) + kSlotBytes * slot_count; }
    std::uint16_t* edge_indices() {
        return reinterpret_cast<std::uint16_t*>(static_cast<char*>(attributes()) + round_up_to_8(kind->kept_bytes));
    }
    DType* output_dtypes() { return reinterpret_cast<DType*>(edge_indices() + edge_count); }

    Edge edge(int i) { return {edge_nodes()[i], edge_indices()[i]}; }
    bool has(Flag flag) const { return (flags & flag) != 0; }
    void set(Flag flag) { flags = flags | flag; }
    void clear(Flag flag) { flags = flags & ~static_cast<unsigned>(flag) & 0xffffu; }
};
static_assert(sizeof(Node) == 80);

struct NodeShape {
    std::uint32_t edges;
    std::uint16_t slots;
    std::uint16_t outputs;
    std::size_t body_bytes(const NodeKind& kind) const {
        return sizeof(OutputRecord) * outputs + sizeof(Node*) * edges + kSlotBytes * slots +
               round_up_to_8(kind.kept_bytes) + round_up_to_8(sizeof(std::uint16_t) * edges + outputs);
    }
};

// A node with the user's site and a number, edges and outputs empty, slots empty, attributes raw. The caller fills it.
NodeRef new_node(const NodeKind& kind, NodeShape shape);
// For a node whose memory Python has made: construct() gives a head without body, attach_body() the rest.
void construct_node(Node* self, const NodeKind& kind);
void attach_body(Node* self, NodeShape shape);

// Note [Deferred graphs]
// Most graphs that a compiled call gives are never looked at. So only their youngest nodes are made; those that the
// last of these leads to wait, in the place of its first edge, until somebody goes along its edges. They are counted
// and numbered as if they were there. If the call has run its own backward, its graph has been released, and there is
// nothing else to do with it. If it has not, the engine runs all of it at once: core/autograd/deferred.h.
void make_below(Node& node);
inline void make_whole(Node& node) {
    if (node.has(Node::kDeferred)) [[unlikely]]
        make_below(node);
}
inline Node** Node::edge_nodes() {
    make_whole(*this);
    return edge_room();
}

void mark_python(Node& node);
[[noreturn]] void too_many_outputs(const Node& node);

// The edges of a node, for who sets all of them.
struct EdgeWriter {
    Node& node;
    Node** const nodes = node.edge_room();
    std::uint16_t* const indices = node.edge_indices();

    void set(std::size_t i, Edge to) const {
        if (to.index > 0xffff) too_many_outputs(node);
        nodes[i] = to.node;
        indices[i] = static_cast<std::uint16_t>(to.index);
        if (to.node == nullptr) return;
        retain(to.node);
        if (to.node->has(Node::kPython)) mark_python(node);
    }
};
inline void set_edge(Node& node, int i, Edge to) { EdgeWriter{node}.set(static_cast<std::size_t>(i), to); }
inline void set_output_shape(Node& node, int i, const LayoutRef& layout, DType dtype) {
    OutputRecord& record = node.outputs()[i];
    retain(layout.get());
    if (record.layout) release(record.layout);
    record.layout = layout.get();
    node.output_dtypes()[i] = dtype;
}
// Makes `result` output i of the node.
inline void set_output(Node& node, int i, TensorObject* result) {
    set_output_shape(node, i, result->layout, result->dtype);
    node.outputs()[i].tensor = result;
}
// Takes a tensor out of the graph's weak references to it (its grad_fn changes, or it dies).
void unlink_output(TensorObject* tensor);

// Everything but the memory of the head: edges go to the queue of Note [Deletion], slots and records are dropped.
void destruct_node(Node* self);
void free_node(Node* self);
std::size_t node_bytes(Node& self);         // all that the pool gave for it
extern void (*kept_node_died)(Node* self);  // set by core/program

// Note [Deletion]
// The last reference to a chain of ten million nodes may go in one statement. A node that dies hands its children to a
// queue (one for each thread) instead of releasing them itself; the outermost death empties the queue. Python code run
// by a death (weak references, __del__) may start another death, which finds the queue busy and only adds to it.
void drain_dead_nodes();

}  // namespace clew
