// What a compiled call hands out: tensors, and the nodes of their graphs, as they can be made again.
//
// Note [Outcome]
// A kept block refreshes the tensors that it made. A compiled call gives new ones each time, and nobody may see those
// of an earlier call change. So the recorder outlines what leaves the call: where each tensor lies, and for each node
// that it leads to, its kind, attributes, edges and which registers its slots hold. After a replay the same is made
// from the registers of that replay.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "core/autograd/ledger.h"
#include "core/autograd/node.h"
#include "core/autograd/saved.h"
#include "core/program/program.h"

namespace clew {

struct ReplayState;
struct GraphGradient;

struct EdgeOutline {
    int node = -1;    // of the outcome
    int input = -1;   // or where the gradient of this input goes
    int result = -1;  // or of this result, a leaf
    std::uint32_t index = 0;
};

struct SlotOutline {
    bool saved = false;
    int reg = -1;  // -1: empty, or released
    LayoutRef layout{};
    DType dtype{};
    int through = -1;
    std::uint32_t version = 0, behind = 0;  // of its memory at the end, and writes to it since it was saved
    SlotSource source{};
    std::uint8_t index = 0;
    bool wrapped_number = false;
};

// Of a CopySlices: the node of the operation that wrote into a view, and where the view lies in its base.
struct SlicesOutline {
    int inner = -1;  // of the outcome
    LayoutRef layout{};
    std::int64_t offset = 0;
    DType dtype{};
};

struct NodeOutline {
    const NodeKind* kind;
    NodeShape shape;
    std::vector<char> attributes;
    Handle code;
    std::int32_t instruction;
    std::uint64_t born;  // its number when it was recorded
    std::vector<EdgeOutline> edges;
    std::vector<SlotOutline> slots;
    std::vector<std::pair<LayoutRef, DType>> outputs;
    Ref<Release> released;  // by the call's own backward, if it was
    int context = -1;       // of Outcome::contexts: it is of an autograd.Function
    int hooked = -1;        // of Outcome::hooked
    SlicesOutline slices{};
};

struct ResultOutline {
    int input = -1;              // a tensor from before the call,
    bool base_of_input = false;  // or what it is a view of
    int reg = -1;                // or one that it made
    int base = -1;               // a result that it is a view of
    int through = -1;
    int node = -1;
    std::uint16_t output = 0;
    ViewKind view_kind{};
    std::uint8_t flags = 0;  // of TensorObject
    bool own_counter = false;
    std::uint32_t version = 0, behind = 0;
    Ref<HistoryBreak> lost{};
    int lost_of = -1;  // or what this input has lost
};

struct Outcome {
    mutable std::uint32_t references = 1;
    std::vector<NodeOutline> nodes;          // the oldest first
    std::vector<ResultOutline> results;      // a base comes first
    std::vector<int> given;                  // of these, what the call gives, in order
    std::vector<NodeRef> contexts{};         // objects that become nodes of autograd.Functions in the replay under way
    std::vector<NodeRef> hooked{};           // nodes of that replay which get the hooks that the call added
    std::vector<NodeRef> made{};             // nodes of that replay, while results are made
    std::vector<Tensor> room{};              // for results; empty between replays
    int root = -1;                           // the nodes below it wait: Note [Deferred graphs]
    std::vector<int> edges_out{};            // then: inputs that edges lead to, of the youngest node first
    std::vector<SlotOutline> slots_below{};  // of the nodes below it
    int released = 0;                        // nodes whose values the call's backward has released
    std::shared_ptr<GraphGradient> gradient{};   // of what waits, where it has not been released
    std::shared_ptr<GraphGradient> from_head{};  // and of the node above, if it does nothing but lead there
    void order_nodes();                          // by age, as the engine takes them; what edges lead to comes first
    void defer();                                // what can wait
    int find_root() const;                       // -1: none
    template <class Work>
    void for_each_register(const Work& work);
    std::vector<int> registers() const;        // that have to be there at the end
    std::vector<int> given_registers() const;  // of these, those of results
};

template <class Work>
void Outcome::for_each_register(const Work& work) {
    const auto visit = [&](int& reg) {
        if (reg >= 0) work(reg);
    };
    for (ResultOutline& result : results) visit(result.reg);
    for (NodeOutline& node : nodes)
        for (SlotOutline& slot : node.slots) node.released ? void(slot.reg = -1) : visit(slot.reg);
    for (SlotOutline& slot : slots_below) visit(slot.reg);
}

// As outlined, released or yet to be filled; without edges, and with the number that comes next.
NodeRef make_node(const NodeOutline& outline);
void describe_node(Node& node, const NodeOutline& outline);
inline void name_slot(SavedSlot& slot, const SlotOutline& outline) {
    slot.source = outline.source;
    slot.index = outline.index;
    slot.wrapped_number = outline.wrapped_number;
}
// One for each backward of the call, at the line where it was recorded.
Ref<Release> release_like(const Release& then, std::uint64_t serial);

// After the commit has settled where memory lies.
std::vector<Tensor> make_results(ReplayState& state);

}  // namespace clew
