#include "core/program/results/outcome.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/autograd/hooks.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/autograd/saved.h"
#include "core/autograd/view.h"
#include "core/program/replay/commit.h"
#include "core/program/results/deferred_graph.h"

namespace clew {
namespace {

class Maker {
public:
    explicit Maker(ReplayState& state)
        : state_(state), outcome_(*state.program.outcome), nodes_(state.program.outcome->made) {}
    ~Maker() { nodes_.clear(); }

    std::vector<Tensor> go() {
        results_ = std::move(state_.program.outcome->room);
        results_.reserve(outcome_.results.size());
        for (const ResultOutline& outline : outcome_.results) results_.push_back(result(outline));
        if (outcome_.root >= 0) make_root();
        for (std::size_t i = first_ + nodes_.size(); i < outcome_.nodes.size(); ++i)
            nodes_.push_back(node(outcome_.nodes[i]));
        if (outcome_.from_head && nodes_[0]->has(Node::kDeferred))
            deferred_below(*nodes_[0]).head = nodes_[1]->sequence;
        for (std::size_t i = 0; i < nodes_.size() && !releases_.empty(); ++i)
            for (const auto& [then, now] : releases_)
                if (outcome_.nodes[first_ + i].born <= then->youngest)
                    now->youngest = std::max<std::uint64_t>(now->youngest, nodes_[i]->sequence);
        for (std::size_t i = 0; i < results_.size(); ++i) {
            const ResultOutline& outline = outcome_.results[i];
            if (outline.node >= 0) set_history(results_[i], made(outline.node), outline.output);
            if (outline.base >= 0) results_[i]->history_version = version_of(*results_[i].get()) - outline.behind;
        }
        return std::move(results_);
    }

private:
    const Input& input(int i) const { return state_.program.inputs[static_cast<std::size_t>(i)]; }

    const NodeRef& made(int node) const { return nodes_[static_cast<std::size_t>(node) - first_]; }

    // Of the next result.
    Tensor value(int reg) const {
        const bool handed_over = state_.plan && state_.plan->handed_over[results_.size()] &&
                                 !state_.places[static_cast<std::size_t>(state_.program.of(reg).memory)];
        return handed_over ? std::move(state_.regs[static_cast<std::size_t>(reg)]) : settled(state_, reg);
    }

    Tensor result(const ResultOutline& outline) const {
        if (outline.input >= 0) {
            Tensor older = input(outline.input).present();
            return outline.base_of_input && older->base ? Tensor(older->base.get()) : older;
        }
        Tensor made = value(outline.reg);
        if (outline.through >= 0)
            share_version(made, input(outline.through).present());
        else if (outline.own_counter)
            own_version(made, outline.version);
        else
            made->storage->version = outline.version;
        if (outline.base >= 0) mark_view(made, results_[static_cast<std::size_t>(outline.base)], outline.view_kind);
        made->view_kind = outline.view_kind;
        made->flags = static_cast<std::uint8_t>(made->flags | outline.flags);
        made->lost = outline.lost_of < 0 ? outline.lost : input(outline.lost_of).present()->lost;
        return made;
    }

    Edge edge(const EdgeOutline& outline) const {
        if (outline.node >= 0) return {made(outline.node).get(), outline.index};
        if (outline.input >= 0) return gradient_edge(input(outline.input).present());
        if (outline.result >= 0) return gradient_edge(results_[static_cast<std::size_t>(outline.result)]);
        return {};
    }

    NodeRef node(const NodeOutline& outline) {
        NodeRef made = outline.context < 0 ? make_node(outline) : context(outline);
        const EdgeWriter edges{*made};
        for (std::size_t i = 0; i < outline.edges.size(); ++i) edges.set(i, edge(outline.edges[i]));
        if (outline.released)
            mark_released(*made, release_of(*outline.released));
        else
            for (std::size_t i = 0; i < outline.slots.size(); ++i) fill_if_held(made->slots()[i], outline.slots[i]);
        if (outline.slices.inner >= 0) wrap(*made, outline.slices);
        if (outline.hooked >= 0) expect_hooks(made, outline.hooked);
        return made;
    }

    // The root alone, if what it leads to can wait: Note [Deferred graphs].
    void make_root() {
        const Ref<DeferredGraph> below = DeferredGraph::of(state_.program);
        if (!below) return;
        const auto place = static_cast<std::size_t>(outcome_.root);
        const NodeOutline& outline = outcome_.nodes[place];
        const NodeRef root = make_node(outline);
        if (outline.released) {
            mark_released(*root, release_of(*outline.released));
            below->mark_released_all(releases_[0].second);
        } else {
            for (std::size_t i = 0; i < below->slots.size(); ++i)
                if (const SlotOutline& slot = outcome_.slots_below[i]; slot.reg >= 0)
                    fill(below->slots[i], slot);
                else
                    name_slot(below->slots[i], slot);
            for (std::size_t i = 0; i < outline.slots.size(); ++i) fill_if_held(root->slots()[i], outline.slots[i]);
        }
        if (outline.released) {
            const Ref<Release>& now = releases_[0].second;
            const auto ran = static_cast<std::uint64_t>(std::ranges::count_if(
                outcome_.nodes, [&](const NodeOutline& one) { return one.born <= outline.released->youngest; }));
            now->youngest = ran > place ? root->sequence : ran > 0 ? below->first + ran - 1 : 0;
            releases_.clear();
        }
        set_deferred_below(*root, Ref<Deferred>(below.get()));
        first_ = place;
        nodes_.push_back(root);
    }

    void wrap(Node& node, const SlicesOutline& outline) const {
        const NodeRef& inner = made(outline.inner);
        inner->set(Node::kWrapped);
        extras_of(node).inner = inner;
        SavedSlot& where = node.slots()[0];
        where.layout = LayoutRef(outline.layout).detach();
        where.offset = outline.offset;
        where.dtype = outline.dtype;
    }

    // They are Python, of which the collector has to know in all nodes above.
    void expect_hooks(const NodeRef& node, int place) const {
        mark_python(*node);
        std::vector<NodeRef>& hooked = state_.program.outcome->hooked;
        hooked.resize(std::max(hooked.size(), static_cast<std::size_t>(place) + 1));
        hooked[static_cast<std::size_t>(place)] = node;
    }

    NodeRef context(const NodeOutline& outline) const {
        NodeRef made = outcome_.contexts[static_cast<std::size_t>(outline.context)];
        attach_body(made.get(), outline.shape);
        made->sequence = tick();
        describe_node(*made, outline);
        return made;
    }

    const Ref<Release>& release_of(const Release& then) {
        for (const auto& [before, now] : releases_)
            if (before == &then) return now;
        return releases_.emplace_back(&then, release_like(then, state_.first_release + releases_.size())).second;
    }

    void fill_if_held(SavedSlot& slot, const SlotOutline& outline) const {
        if (outline.reg >= 0) fill(slot, outline);
    }
    void fill(SavedSlot& slot, const SlotOutline& outline) const {
        const KeptRegister& reg = state_.program.of(outline.reg);
        const auto memory = static_cast<std::size_t>(reg.memory);
        const BufferBinding& binding = state_.bindings[memory];
        if (state_.plan && binding.storage && !reg.number) return fill(slot, outline, reg, binding, memory);
        const Tensor value = settled(state_, outline.reg);
        if (outline.through >= 0) share_version(value, input(outline.through).present());
        fill_counted(slot, SavedValue(value), outline);
    }
    // From where its memory lies: there may be no tensor.
    void fill(SavedSlot& slot, const SlotOutline& outline, const KeptRegister& reg, const BufferBinding& binding,
              std::size_t memory) const {
        const StorageRef& place = state_.places[memory] ? state_.places[memory] : binding.storage;
        const TensorObject* const counted = outline.through < 0 ? nullptr : input(outline.through).present().get();
        VersionCounter* const counter =
            counted && counted->has(TensorObject::kAliasCounter) ? counted->extras->counter.get() : nullptr;
        const std::int64_t offset = (reg.offset + binding.shift) >> std::countr_zero(item_size(reg.dtype));
        fill_counted(slot, SavedValue(*place, *reg.layout, offset, reg.dtype, counter), outline);
    }
    // Memory that nobody had before begins at version 0: the writes of the recorded run count there, whichever slot
    // comes first.
    void fill_counted(SavedSlot& slot, SavedValue value, const SlotOutline& outline) const {
        const bool is_new = value.counter == nullptr && state_.program.memory_of(outline.reg).input < 0;
        if (is_new && value.storage.version == 0) value.storage.version = outline.version;
        value.number = outline.wrapped_number;
        fill_slot(slot, value, outline.source, outline.index, value.version() - outline.behind);
    }

    ReplayState& state_;
    const Outcome& outcome_;
    std::vector<Tensor> results_;
    std::vector<NodeRef>& nodes_;  // of the outcome, from this one on:
    std::size_t first_ = 0;
    std::vector<std::pair<const Release*, Ref<Release>>> releases_;  // few
};

}  // namespace

void retain(const Outcome* outcome) { ++outcome->references; }
void release(const Outcome* outcome) {
    if (--outcome->references == 0) delete outcome;
}

void Outcome::order_nodes() {
    std::vector<int> places(nodes.size());
    std::iota(places.begin(), places.end(), 0);
    std::ranges::sort(places, {}, [&](int i) { return nodes[static_cast<std::size_t>(i)].born; });
    std::vector<int> now(nodes.size());
    std::vector<NodeOutline> ordered;
    for (const int i : places) {
        now[static_cast<std::size_t>(i)] = static_cast<int>(ordered.size());
        ordered.push_back(std::move(nodes[static_cast<std::size_t>(i)]));
    }
    nodes = std::move(ordered);
    const auto move = [&](int& node) {
        if (node >= 0) node = now[static_cast<std::size_t>(node)];
    };
    for (NodeOutline& node : nodes) {
        move(node.slices.inner);
        for (EdgeOutline& edge : node.edges) move(edge.node);
    }
    for (ResultOutline& result : results) move(result.node);
}

std::vector<int> Outcome::given_registers() const {
    std::vector<int> list;
    for (const ResultOutline& result : results)
        if (result.reg >= 0) list.push_back(result.reg);
    return list;
}

std::vector<int> Outcome::registers() const {
    std::vector<int> list = given_registers();
    for (const NodeOutline& node : nodes)
        if (!node.released)
            for (const SlotOutline& slot : node.slots)
                if (slot.reg >= 0) list.push_back(slot.reg);
    return list;
}

std::vector<Tensor> make_results(ReplayState& state) { return Maker(state).go(); }

}  // namespace clew
