// What nodes show to Python.
#pragma once
#include <Python.h>

#include <string>
#include <vector>

#include "core/autograd/saved.h"

namespace clew::bind {

void add_node_attributes(PyTypeObject& type);
void add_leaf_attributes(PyTypeObject& type);  // what only AccumulateGrad has
PyObject* node_new(PyTypeObject* type, PyObject* args,
                   PyObject* kwargs);     // subclasses only: autograd.Function's contexts
PyObject* node_display_name(Node* node);  // "MulBackward0": its class
// The inputs that next_functions and hooks tell of, as PyTorch's do: not those that can have no derivative (indices,
// masks).
std::vector<int> shown_inputs(Node& node);
inline bool is_operation(const Node& node) { return node.kind->input_name != nullptr; }

// From here on saved_records.cpp.
PyObject* release_object(const Release* record);  // a clew.graph.model.records.Release

// What can change about a slot: all of it as numbers, so that it can be noted and told later.
struct SlotFacts {
    SlotState state;
    bool foreign = false;
    Fate fate{};  // if Freed
    std::uint32_t version, current_version;
    std::int64_t bytes = 0;  // of the storage
    const Storage* storage = nullptr;
    std::uint64_t identity = 0;  // 0: nobody else was known to have the storage
};
SlotFacts facts_of(const SavedSlot& slot);
// A clew.graph.model.records.SavedSlot.
PyObject* slot_record(const char* name, const Layout& layout, DType dtype, const SlotFacts& slot);

// _saved_<name>: a saved tensor, or an attribute of the operation. Null without an error if there is none.
PyObject* saved_value(Node& node, const char* name);
// Every name for which saved_value has something to give, some of them more than once.
std::vector<std::string> saved_names(Node& node);

}  // namespace clew::bind
