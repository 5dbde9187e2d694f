// In which order operands are computed, and how many bytes that takes at one time.
#include <algorithm>
#include <unordered_map>

#include "core/autograd/hooks.h"
#include "core/autograd/saved.h"
#include "core/budget/account.h"

namespace clew::budget {
namespace {

constexpr int kLookedAt = 64;

bool comes_before(const Value& one, const Value& other) {
    if (reads(other, one)) return true;
    return !reads(one, other) && one.depth > other.depth;
}

// Each of the operands goes before the first that it has to come before.
void choose_order(Recipe& recipe) {
    std::vector<std::uint32_t>& order = recipe.order;
    for (std::uint32_t i = 0; i < recipe.operands.size(); ++i) {
        const Value* const value = recipe.operands[i].value.get();
        const auto later = std::ranges::find_if(order, [&](std::uint32_t other) {
            const Value* const placed = recipe.operands[other].value.get();
            return value && placed && value != placed && comes_before(*value, *placed);
        });
        order.insert(later, i);
    }
}

}  // namespace

bool reads(const Value& value, const Value& other) {
    std::vector<const Value*> waiting{&value};
    for (int looked_at = 0; !waiting.empty() && looked_at < kLookedAt; ++looked_at) {
        const Value* const one = waiting.back();
        waiting.pop_back();
        if (one == &other) return true;
        if (!one->recipe || one->depth <= other.depth) continue;
        for (const Operand& operand : one->recipe->operands)
            if (operand.value) waiting.push_back(operand.value.get());
    }
    return false;
}

Value* operand_at(const Value& value, std::size_t place) {
    Recipe& recipe = *value.recipe;
    if (recipe.order.size() != recipe.operands.size()) choose_order(recipe);
    return recipe.operands[recipe.order[place]].value.get();
}

namespace {

// What it takes to compute a value, itself included, where all that can go has gone.
class Least {
public:
    std::int64_t of(const Value& value) {
        std::vector<const Value*> waiting{&value};
        while (!waiting.empty()) {
            const Value* const one = waiting.back();
            const std::size_t before = waiting.size();
            if (!known_.contains(one) && moves(*one))
                for (const Operand& operand : one->recipe->operands)
                    if (operand.value && moves(*operand.value) && !known_.contains(operand.value.get()))
                        waiting.push_back(operand.value.get());
            if (waiting.size() != before) continue;
            waiting.pop_back();
            patience_ = kLookedAt;
            if (!known_.contains(one)) known_[one] = beside_locked(*one);
        }
        return known_[&value];
    }
    static bool moves(const Value& value) { return value.recipe && (!value.present() || value.can_go()); }

private:
    bool is_locked(const Value& value) const { return std::ranges::find(locked_, &value) != locked_.end(); }
    // The same while `locked_` stay where they are.
    std::int64_t beside_locked(const Value& value) {
        if (--patience_ < 0) return known_[&value];
        const std::size_t before = locked_.size();
        std::int64_t own = 0, most = 0;
        for (std::size_t i = 0; i < value.recipe->operands.size(); ++i) {
            const Value* const one = operand_at(value, i);
            if (one == nullptr || !moves(*one) || is_locked(*one)) continue;
            const bool meets = std::ranges::any_of(locked_, [&](const Value* other) { return reads(*one, *other); });
            most = std::max(most, own + (meets ? beside_locked(*one) : known_[one]));
            locked_.push_back(one);
            own += one->bytes;
        }
        locked_.resize(before);
        return std::max(most, own + value.bytes);
    }

    std::unordered_map<const Value*, std::int64_t> known_;
    std::vector<const Value*> locked_;
    int patience_ = 0;
};

// What the rule of a node reads that may have to be computed: in any order.
std::int64_t least_of_node(Node& node, Least& least) {
    std::vector<const Value*> read;
    const auto add = [&](Node& saver) {
        for (int i = 0; i < saver.slot_count; ++i) {
            const Storage* const storage = saver.slots()[i].held_storage();
            const Value* const value = storage ? find(*storage) : nullptr;
            if (value && Least::moves(*value) && std::ranges::find(read, value) == read.end()) read.push_back(value);
        }
    };
    add(node);
    if (node.extras && node.extras->inner) add(*node.extras->inner);
    std::int64_t all = 0, most = 0;
    for (const Value* value : read) all += value->bytes;
    for (const Value* value : read) most = std::max(most, all - value->bytes + least.of(*value));
    return most;
}

}  // namespace

std::int64_t least_for(const Account& account, Tensors roots) {
    std::int64_t stays = account.held;
    for (const Value* value : account.present)
        if (value->can_go()) stays -= value->counted;
    Least least;
    std::int64_t most = 0;
    std::unordered_map<Node*, bool> seen;
    std::vector<Node*> waiting;
    const auto visit = [&](Node* node) {
        if (node && seen.emplace(node, true).second) waiting.push_back(node);
    };
    for (const Tensor& root : roots) visit(root->grad_fn.get());
    while (!waiting.empty()) {
        Node* const node = waiting.back();
        waiting.pop_back();
        most = std::max(most, least_of_node(*node, least));
        for (std::uint32_t i = 0; i < node->edge_count; ++i) visit(node->edge_nodes()[i]);
    }
    return stays + most;
}

}  // namespace clew::budget
