#include "core/program/files/names.h"

#include <unordered_map>

#include "core/ops/dispatch.h"
#include "core/program/record/recorder.h"

namespace clew {
namespace {

struct Names {
    std::unordered_map<const NodeKind*, std::string> names;
    std::unordered_map<std::string, const OpDef*> ops;
    std::unordered_map<const OpDef*, const OpDef*> rules;
    std::size_t seen = 0;  // of all_operations()

    void add(const OpDef* op, std::string name) {
        if (op == nullptr) return;
        ops.emplace(name, op);
        names.emplace(op, std::move(name));
    }
    Names() {
        for (const OpDef* op : {&load_op, &alias_op, &mark_dirty_op, &accumulate_op}) add(op, format("/%s", op->name));
    }
};

// Operations may be defined at any time.
const Names& known() {
    static auto* const all = new Names;
    for (; all->seen < all_operations().size(); ++all->seen) {
        const OpDef* const op = all_operations()[all->seen];
        const std::string name = op->schema.full_name();
        all->add(op, name);
        all->add(op->in_place_form, name + "/in_place");
        all->add(op->number_form, name + "/number");
        all->add(op->fused, name + "/backward");
        if (op->fused) all->rules.emplace(op->fused, op);
    }
    return *all;
}

}  // namespace

std::string name_in_files(const NodeKind& kind) {
    const auto found = known().names.find(&kind);
    return found == known().names.end() ? std::string() : found->second;
}

const OpDef* op_of_name(const std::string& name) {
    const auto found = known().ops.find(name);
    return found == known().ops.end() ? nullptr : found->second;
}

const OpDef* rule_of(const OpDef& op) {
    const auto found = known().rules.find(&op);
    return found == known().rules.end() ? nullptr : found->second;
}

}  // namespace clew
