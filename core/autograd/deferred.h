// What lies below a node and has not been made: Note [Deferred graphs].
#pragma once
#include <cstdint>
#include <span>

#include "core/autograd/ledger.h"
#include "core/autograd/node.h"
#include "core/tensor/tensor.h"

namespace clew {

struct Deferred {
    // The edges that leave the graph: those of its nodes from the youngest to the oldest, each node's in their order.
    // That is the order in which the engine would send gradients along them.
    struct EdgesOut {
        Node** nodes;  // owned
        std::uint16_t* indices;
        std::uint32_t count;
    };
    EdgesOut out;
    std::uint32_t references = 1;
    std::uint64_t head = 0;  // the number of a node whose only edge leads to the root, if both can run at once

    // `out` leads nowhere yet.
    explicit Deferred(const EdgesOut& out) : out(out) {}
    Deferred(const Deferred&) = delete;
    Deferred& operator=(const Deferred&) = delete;
    virtual ~Deferred();
    virtual void free() = 0;  // the last reference is gone
    void set_edge_out(std::uint32_t i, Edge edge);
    // Makes the nodes below the root. Once.
    virtual void make(Node& root) = 0;
    // Whether the graph can be run as a whole: nothing that it saved was released, or written since.
    virtual bool can_run(Node&) const { return false; }
    // Adds the gradient of each edge that leaves the graph to what has come along it before (null: nothing yet), as the
    // engine would have come to them node by node, also where the nodes were made since can_run() was asked. What the
    // graph saved is released on behalf of `record`, if there is one.
    virtual void run(Node&, std::span<Tensor>, std::span<Tensor>, const Ref<Release>&) {}
    // The same from the head on, which gets this gradient. False: nothing is done.
    virtual bool run_from(Node&, Node&, const Tensor&, std::span<Tensor>, const Ref<Release>&) { return false; }
};

inline void retain(Deferred* deferred) { ++deferred->references; }
inline void release(Deferred* deferred) {
    if (--deferred->references == 0) deferred->free();
}

// What waits below the node: it has kDeferred.
inline Deferred& deferred_below(Node& node) { return *reinterpret_cast<Deferred*>(node.edge_room()[0]); }
// Takes over a reference.
inline void set_deferred_below(Node& node, Ref<Deferred> below) {
    node.set(Node::kDeferred);
    node.edge_room()[0] = reinterpret_cast<Node*>(below.detach());
}

}  // namespace clew
