// State that goes from call to call: tensors in entries which the call sets, one or a tuple of some (an LSTM's).
#include <algorithm>

#include "bind/keep/variant.h"
#include "bind/types/objects.h"
#include "core/program/replay/replay.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

// Of an entry; none: it is something else.
std::vector<PyObject*> tensors_in(PyObject* entry) {
    if (as_tensor(entry)) return {entry};
    if (!PyTuple_CheckExact(entry)) return {};
    std::vector<PyObject*> found;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(entry); ++i) {
        if (!as_tensor(PyTuple_GET_ITEM(entry, i))) return {};
        found.push_back(PyTuple_GET_ITEM(entry, i));
    }
    return found;
}

}  // namespace

// It is no guard, and read anew by each replay.
void Variant::carry(Tracer& tracer) {
    for (const Effect& one : tracer.effects) {
        if (one.kind != Effect::SetItem || tensors_in(one.value.ptr()).empty()) continue;
        const nb::object before = tracer.state.give_up_entry(one.holder.ptr(), one.key.ptr());
        if (before.is_valid() && !carry_entry(tracer, one, before.ptr()))
            tracer.state.take_entry(one.holder.ptr(), one.key.ptr(), before.ptr());
    }
}

bool Variant::carry_entry(const Tracer& tracer, const Effect& set, PyObject* before) {
    const std::vector<PyObject*> tensors = tensors_in(before);
    if (tensors.empty() || tracer.state.mentions(before)) return false;
    std::vector<Input*> inputs;
    for (PyObject* const tensor : tensors) {
        Input* const input = carried_input(tensor);
        if (input == nullptr || std::ranges::count(inputs, input) || tracer.compared.contains(tensor) ||
            tracer.state.mentions(tensor))
            return false;
        inputs.push_back(input);
    }
    const bool in_tuple = tensors[0] != before;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        inputs[i]->bound = true;
        inputs[i]->tensor = Tensor();
        carried.push_back({static_cast<int>(inputs[i] - program.inputs.data()), set.holder, set.key,
                           nb::borrow(as_object(Py_TYPE(tensors[i]))), in_tuple ? static_cast<int>(i) : -1,
                           in_tuple ? static_cast<int>(inputs.size()) : 0});
    }
    return true;
}

Input* Variant::carried_input(PyObject* object) {
    Input* found = nullptr;
    for (Input& input : program.inputs) {
        if (!input.tensor || as_object(input.tensor.get()) != object) continue;
        if (found || input.grad_of || input.bound) return nullptr;
        found = &input;
    }
    return found;
}

Tensor Variant::Carried::now() const {
    PyObject* found = look_up(dict.ptr(), key.ptr());
    if (found && item >= 0)
        found = PyTuple_CheckExact(found) && PyTuple_GET_SIZE(found) == items ? PyTuple_GET_ITEM(found, item) : nullptr;
    if (found == nullptr || as_object(Py_TYPE(found)) != type.ptr())
        throw ReplayFailed("read something else than a tensor that it set in the call before", nullptr);
    return Tensor(as_tensor(found));
}

}  // namespace clew::bind
