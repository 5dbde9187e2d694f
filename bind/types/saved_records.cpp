// What nodes saved, as Python sees it: records of slots for ledgers, and values under the names of PyTorch's
// attributes.
#include <cstring>

#include "bind/calls/parse.h"
#include "bind/errors.h"
#include "bind/graph/site.h"
#include "bind/types/dtype.h"
#include "bind/types/node_attributes.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/ops/opdef.h"

namespace clew::bind {
namespace {

const char* fate_name(const SlotFacts& slot) {
    if (slot.state != SlotState::Freed || (slot.bytes == 0 && slot.identity == 0)) return "";
    constexpr const char* names[] = {"released", "dropped", "elsewhere", "foreign"};
    return names[static_cast<int>(slot.fate)];
}

const char* state_name(SlotState state) {
    constexpr const char* names[] = {"empty", "held", "packed", "freed"};
    return names[static_cast<int>(state)];
}

// Kept from the first use: a ledger asks for many.
PyObject* record_type(const char* name) {
    static PyObject* const module = checked(PyImport_ImportModule("clew.graph.model.records"));
    static PyObject* const slot = checked(PyObject_GetAttrString(module, "SavedSlot"));
    static PyObject* const release = checked(PyObject_GetAttrString(module, "Release"));
    return std::strcmp(name, "SavedSlot") == 0 ? slot : release;
}
}  // namespace

SlotFacts facts_of(const SavedSlot& slot) {
    SlotFacts facts{.state = slot.state, .version = slot.version, .current_version = current_version(slot)};
    if (const Storage* storage = slot.held_storage()) {
        facts.bytes = storage->bytes;
        facts.storage = storage;
        facts.foreign = storage->foreign;
        facts.identity = storage->foreign ? 0 : storage->identity;
    } else if (slot.state == SlotState::Freed) {
        facts.bytes = slot.freed_bytes;
        facts.fate = slot.fate;
        facts.foreign = slot.fate == Fate::Foreign && slot.freed_bytes;
        facts.identity = slot.freed_identity;
    }
    return facts;
}

PyObject* slot_record(const char* name, const Layout& layout, DType dtype, const SlotFacts& slot) {
    const auto view_bytes = layout.numel * static_cast<std::int64_t>(item_size(dtype));
    const bool is_known = slot.storage || slot.state == SlotState::Freed;
    return checked(PyObject_CallFunction(
        record_type("SavedSlot"), "sNNLLsNIIOsK", name, plain_tuple(layout.shape()), dtype_object(dtype),
        static_cast<long long>(is_known ? slot.bytes : view_bytes), static_cast<long long>(view_bytes),
        state_name(slot.state), PyLong_FromVoidPtr(const_cast<Storage*>(slot.storage)), slot.version,
        slot.current_version, slot.foreign ? Py_True : Py_False, fate_name(slot),
        static_cast<unsigned long long>(slot.identity)));
}
PyObject* release_object(const Release* record) {
    return checked(PyObject_CallFunction(record_type("Release"), "sNK", record->kind, site_object(record->site),
                                         static_cast<unsigned long long>(record->serial)));
}
PyObject* saved_value(Node& node, const char* name) {
    for (int i = 0; i < node.slot_count; ++i) {
        SavedSlot& slot = node.slots()[i];
        if (slot.state == SlotState::Empty || std::strcmp(slot_name(node, slot), name) != 0) continue;
        return wrap(unpack(node, slot));
    }
    if (!is_operation(node)) return nullptr;
    const auto& def = static_cast<const OpDef&>(*node.kind);
    // What another call would have saved, but no input of this one needed.
    for (const Saves& saves : def.saved_by_rule) {
        for (int i = 0; i < 32; ++i) {
            if ((saves.inputs >> i & 1) && std::strcmp(def.input_name(def, i), name) == 0) Py_RETURN_NONE;
            if ((saves.outputs >> i & 1) && std::strcmp(def.output_name(def, i), name) == 0) Py_RETURN_NONE;
        }
    }
    if (def.kept_bytes == 0) return nullptr;
    std::size_t field = 0;
    for (const Argument& argument : def.schema.arguments) {
        if (argument.type == ArgType::Tensor || argument.type == ArgType::Operand ||
            argument.type == ArgType::TensorList)
            continue;
        if (argument.name == name) return attribute_object(def, node.attributes(), field);
        ++field;
    }
    return nullptr;
}

std::vector<std::string> saved_names(Node& node) {
    std::vector<std::string> names;
    for (int i = 0; i < node.slot_count; ++i)
        if (node.slots()[i].state != SlotState::Empty) names.emplace_back(slot_name(node, node.slots()[i]));
    if (!is_operation(node)) return names;
    const auto& def = static_cast<const OpDef&>(*node.kind);
    for (const Saves& saves : def.saved_by_rule) {
        for (int i = 0; i < 32; ++i) {
            if (saves.inputs >> i & 1) names.emplace_back(def.input_name(def, i));
            if (saves.outputs >> i & 1) names.emplace_back(def.output_name(def, i));
        }
    }
    if (def.kept_bytes == 0) return names;
    for (const Argument& argument : def.schema.arguments)
        if (argument.type != ArgType::Tensor && argument.type != ArgType::Operand &&
            argument.type != ArgType::TensorList)
            names.push_back(argument.name);
    return names;
}

}  // namespace clew::bind
