#include "core/program/outcome.h"

#include <utility>

#include "core/autograd/leaf.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/program/commit.h"

namespace clew {
namespace {

class Maker {
public:
    Maker(ReplayState& state, const Outcome& outcome, const std::vector<StorageRef>& places)
        : state_(state), outcome_(outcome), places_(places) {}

    std::vector<Tensor> go() {
        for (const ResultOutline& outline : outcome_.results) results_.push_back(result(outline));
        for (const NodeOutline& outline : outcome_.nodes) nodes_.push_back(node(outline));
        for (std::size_t i = 0; i < results_.size(); ++i) {
            const ResultOutline& outline = outcome_.results[i];
            if (outline.node >= 0)
                set_history(results_[i], nodes_[static_cast<std::size_t>(outline.node)], outline.output);
            if (outline.base >= 0) results_[i]->history_version = version_of(*results_[i].get()) - outline.behind;
        }
        return std::move(results_);
    }

private:
    const Input& input(int i) const { return state_.program.inputs[static_cast<std::size_t>(i)]; }

    Tensor looking_at(int reg) const {
        const Tensor& made = state_.regs[static_cast<std::size_t>(reg)];
        Tensor looks = alias(made, made->layout, made->offset);
        looks->dtype = made->dtype;
        if (const StorageRef& place = places_[static_cast<std::size_t>(state_.program.of(reg).memory)])
            looks->storage = place;
        return looks;
    }

    Tensor result(const ResultOutline& outline) const {
        if (outline.input >= 0) return input(outline.input).present();
        Tensor made = looking_at(outline.reg);
        if (outline.through >= 0)
            share_version(made, input(outline.through).present());
        else if (outline.own_counter)
            own_version(made, outline.version);
        else
            made->storage->version = outline.version;
        if (outline.base >= 0) mark_view(made, results_[static_cast<std::size_t>(outline.base)], outline.view_kind);
        made->view_kind = outline.view_kind;
        made->flags = static_cast<std::uint8_t>(made->flags | outline.flags);
        made->lost = outline.lost;
        return made;
    }

    Edge edge(const EdgeOutline& outline) const {
        if (outline.node >= 0) return {nodes_[static_cast<std::size_t>(outline.node)].get(), outline.index};
        if (outline.input >= 0) return gradient_edge(input(outline.input).present());
        if (outline.result >= 0) return gradient_edge(results_[static_cast<std::size_t>(outline.result)]);
        return {};
    }

    NodeRef node(const NodeOutline& outline) const {
        NodeRef made = new_node(*outline.kind, outline.shape);
        const Handle here = Handle::steal(std::exchange(made->code, Handle(outline.code).detach()));
        made->instruction = outline.instruction;
        const EdgeWriter edges{*made};
        for (std::size_t i = 0; i < outline.edges.size(); ++i) edges.set(i, edge(outline.edges[i]));
        for (std::size_t i = 0; i < outline.outputs.size(); ++i)
            set_output_shape(*made, static_cast<int>(i), outline.outputs[i].first, outline.outputs[i].second);
        std::copy(outline.attributes.begin(), outline.attributes.end(), static_cast<char*>(made->attributes()));
        if (outline.freed)
            mark_released(*made, Release::make("backward"));
        else
            for (std::size_t i = 0; i < outline.slots.size(); ++i) fill(made->slots()[i], outline.slots[i]);
        return made;
    }

    void fill(SavedSlot& slot, const SlotOutline& outline) const {
        slot.source = outline.source;
        slot.index = outline.index;
        slot.wrapped_number = outline.wrapped_number;
        if (outline.reg < 0) return;
        const Tensor value = looking_at(outline.reg);
        if (outline.through >= 0) share_version(value, input(outline.through).present());
        refill(slot, value, version_of(*value.get()) - outline.behind);
    }

    ReplayState& state_;
    const Outcome& outcome_;
    const std::vector<StorageRef>& places_;
    std::vector<Tensor> results_;
    std::vector<NodeRef> nodes_;
};

}  // namespace

std::vector<int> Outcome::registers() const {
    std::vector<int> list;
    for (const ResultOutline& result : results)
        if (result.reg >= 0) list.push_back(result.reg);
    for (const NodeOutline& node : nodes)
        if (!node.freed)
            for (const SlotOutline& slot : node.slots)
                if (slot.reg >= 0) list.push_back(slot.reg);
    return list;
}

std::vector<Tensor> make_results(ReplayState& state, const Outcome& outcome, const std::vector<StorageRef>& places) {
    return Maker(state, outcome, places).go();
}

}  // namespace clew
