// What autograd keeps of a call: a node, or the reason why there is none.
#pragma once
#include <algorithm>

#include "core/ops/opdef.h"

namespace clew {

// Bit i: input i requires grad (the last bit stands for all from there on).
inline std::uint64_t inputs_that_need(Tensors inputs) {
    std::uint64_t needs = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (inputs[i] && inputs[i].requires_grad()) needs |= std::uint64_t{1} << std::min<std::size_t>(i, 63);
    return needs;
}
inline bool any_lost(Tensors inputs) {
    for (const Tensor& input : inputs)
        if (input && input->lost) return true;
    return false;
}

// What some input's gradient, or the loss of it, asks for.
void keep_history(const OpCall& call, std::uint64_t needs);
void finish_views(const OpDef& op, const Tensor& source, std::span<Tensor> outputs);

// After the kernel of a call that made new tensors.
inline void record_call(const OpCall& call) {
    if (call.op.is(kView)) finish_views(call.op, call.inputs[0], call.outputs);
    const std::uint64_t needs = inputs_that_need(call.inputs);
    if (needs != 0 || any_lost(call.inputs)) keep_history(call, needs);
}

Saves what_to_save(const OpDef& op, Tensors inputs, std::uint64_t needs, const void* attributes);

// A call that writes over input 0: its node is made before the kernel runs, and becomes the history afterwards.
class InPlaceRecord {
public:
    explicit InPlaceRecord(const OpCall& call);
    // Whether the write asks more of input 0 than that its memory may be written: it gets a history, or is told.
    bool touches_history() const { return records_ || (needs_ != 0 && !call_.op.is(kWritesInput)); }
    void choose_saves();
    bool reads_before() const { return (saves_.inputs & 1) != 0; }  // the rule wants what input 0 was
    void make_node(const Tensor& before);
    void finish();

private:
    const OpCall& call_;
    std::uint64_t needs_;
    bool records_;
    Saves saves_;
    NodeRef node_;
};

}  // namespace clew
