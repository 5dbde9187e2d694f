// Was what a node saved written to since? And what an error says then: which write, where, and what to do.
#include <algorithm>
#include <vector>

#include "core/autograd/mode.h"
#include "core/autograd/saved.h"

namespace clew {
namespace {

std::string at(void* code, std::int32_t instruction) {
    return code ? saved_hooks.site_text(code, instruction) : std::string("an unknown line");
}

std::string names(Node& node, const SavedSlot& slot) {
    return format("[%s %s], which is '%s' of %s (%s, created at %s)", dtype_name(slot.dtype),
                  shape_text(slot.layout->shape()).c_str(), slot_name(node, slot), node.kind->name,
                  node.kind->node_name, at(node.code, node.instruction).c_str());
}

// Calls visit(byte) with the first byte of each element.
template <class Visit>
void each_element(const Layout& layout, std::int64_t byte, std::int64_t size, int axis, const Visit& visit) {
    if (axis == layout.ndim) return visit(byte);
    for (std::int64_t i = 0; i < layout.sizes()[axis]; ++i)
        each_element(layout, byte + i * layout.strides()[axis] * size, size, axis + 1, visit);
}

// The ranges overlap; do the elements? (A column that is written lies between the elements of its neighbour.)
bool touches(const Write& write, const SavedSlot& slot, std::int64_t begin, std::int64_t end) {
    if (write.layout->contiguous && slot.layout->contiguous) return true;
    std::vector<bool> saved(static_cast<std::size_t>(end - begin));
    const auto size = static_cast<std::int64_t>(item_size(slot.dtype));
    each_element(*slot.layout, slot.offset * size, size, 0, [&](std::int64_t byte) {
        for (std::int64_t i = 0; i < size; ++i) saved[static_cast<std::size_t>(byte + i - begin)] = true;
    });
    bool found = false;
    each_element(*write.layout, write.offset * write.item_size, write.item_size, 0, [&](std::int64_t byte) {
        for (std::int64_t i = std::max(byte, begin); i < std::min(byte + write.item_size, end); ++i)
            found = found || saved[static_cast<std::size_t>(i - begin)];
    });
    return found;
}

const void* counter_of(const SavedSlot& slot) {
    if (slot.has_rest && slot.rest->counter) return slot.rest->counter.get();
    return slot.held_storage();
}

bool overlaps(const Write& write, const SavedSlot& slot) {
    const Extent reach = extent(*slot.layout);
    const auto size = static_cast<std::int64_t>(item_size(slot.dtype));
    const std::int64_t begin = (slot.offset + reach.low) * size, end = (slot.offset + reach.high + 1) * size;
    return write.begin < end && begin < write.end && touches(write, slot, begin, end);
}

const Write* alias_write(const Node& node, const SavedSlot& slot, const Storage& storage) {
    if (storage.log == nullptr || mode(kAllowDataWrites)) return nullptr;
    const void* counter = counter_of(slot);
    const auto& writes = storage.log->since_saved;
    for (std::size_t i = writes.size(); i-- > 0 && writes[i].serial > node.sequence;)
        if (writes[i].counter != counter && overlaps(writes[i], slot)) return &writes[i];
    return nullptr;
}

struct LastWrite {
    const Write* write;  // null if nobody noted it
    bool overlaps;
};

// Of the writes that moved the slot's counter since it was saved: the last that touched what was saved, else the last.
LastWrite last_write(const SavedSlot& slot, const Storage& storage) {
    if (storage.log == nullptr) return {nullptr, false};
    const void* counter = counter_of(slot);
    const auto& writes = storage.log->since_saved;
    const Write* last = storage.log->last.op ? &storage.log->last : nullptr;
    std::uint32_t counted = current_version(slot) - slot.version;
    for (std::size_t i = writes.size(); i-- > 0 && counted > 0;) {
        if (writes[i].counter != counter) continue;
        if (overlaps(writes[i], slot)) return {&writes[i], true};
        if (last == nullptr || last->counter != counter) last = &writes[i];
        --counted;
    }
    return {last, false};
}

std::string advice(const Write* write) {
    if (write && write->by_optimizer)
        return "run every backward before the optimizer's step, or compute the loss again after it";
    return "write out of place, or clone the value before it is written (clew.explain(tensor) shows what each node "
           "keeps)";
}

}  // namespace

bool written_through_alias(const Node& node, const SavedSlot& slot) {
    return slot.state == SlotState::Held && alias_write(node, slot, *slot.held_storage()) != nullptr;
}

void saved_detail::check_writes(Node& node, const SavedSlot& slot) {
    const Storage& storage = *slot.held_storage();
    const std::uint32_t now = current_version(slot);
    if (now != slot.version) {
        std::string text = format(
            "one of the variables needed for gradient computation has been modified by an inplace operation: %s, is at "
            "version %u; "
            "expected version %u instead.",
            names(node, slot).c_str(), now, slot.version);
        const auto [write, overlapping] = last_write(slot, storage);
        if (write)
            text += format(" The last write %swas '%s' at %s.", overlapping ? "to it " : "", write->op,
                           at(write->site.code, write->site.instruction).c_str());
        throw ModifiedInPlace(text + " To do: " + advice(write), NodeRef(&node), slot_name(node, slot), write);
    }
    if (const Write* write = alias_write(node, slot, storage)) {
        throw ModifiedInPlace(format("one of the variables needed for gradient computation has been modified by an "
                                     "inplace operation: %s, is at version %u "
                                     "as expected, but '%s' at %s wrote to its memory through an alias that does not "
                                     "share its version counter "
                                     "(.data, or from_numpy of its memory), so the gradient would be wrong. To do: %s; "
                                     "or, if the values are back in "
                                     "place, call backward under `with autograd.graph.allow_data_writes():`",
                                     names(node, slot).c_str(), now, write->op,
                                     at(write->site.code, write->site.instruction).c_str(), advice(write).c_str()),
                              NodeRef(&node), slot_name(node, slot), write);
    }
}

const char* slot_name(Node& node, const SavedSlot& slot) {
    if (slot.source == SlotSource::Input && node.kind->input_name) return node.kind->input_name(*node.kind, slot.index);
    if (slot.source == SlotSource::Output && node.kind->output_name)
        return node.kind->output_name(*node.kind, slot.index);
    return "tensor";
}

void throw_freed(Node& node) {
    std::string text = format(
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
        "been freed). "
        "Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Expected: %s "
        "(created at %s) still "
        "holds what it saved. ",
        node.kind->node_name, at(node.code, node.instruction).c_str());
    // What to do is told by bind/, which sees the whole backward (src/clew/graph/explanations/culprits.py).
    text += node.released ? format("Got: freed by the %s at %s.", node.released->kind,
                                   at(node.released->site.code, node.released->site.instruction).c_str())
                          : std::string("Got: freed.");
    throw GraphFreed(std::move(text), NodeRef(&node));
}

ModifiedInPlace::ModifiedInPlace(std::string text, NodeRef node, const char* saved_name, const Write* write)
    : Error(ErrorKind::Runtime, std::move(text)), node(std::move(node)), saved_name(saved_name) {
    if (write == nullptr) return;
    written_op = write->op;
    written_code = Handle::borrow(write->site.code);
    written_instruction = write->site.instruction;
}

}  // namespace clew
