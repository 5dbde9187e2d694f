// What the call changes of objects that are older: an effect or a count that a replay makes again, or a cause to stay
// eager.
#include "bind/watch/kinds.h"
#include "bind/watch/tracer.h"

#include <opcode.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "bind/errors.h"
#include "bind/types/objects.h"

#if CLEW_READS_FRAMES

namespace nb = nanobind;

namespace clew::bind {

bool Tracer::was_set(PyObject* holder, PyObject* key) const {
    return std::any_of(effects.begin(), effects.end(),
                       [&](const Effect& one) { return one.holder.ptr() == holder && same_value(one.key.ptr(), key); });
}

// Whether what it has set in the dict is set back.
bool Tracer::is_as_before(PyObject* dict) const {
    return std::ranges::all_of(effects, [&](const Effect& one) {
        if (one.holder.ptr() != dict) return true;
        PyObject* const before = state.found_first(dict, one.key.ptr());
        return before && before == look_up(dict, one.key.ptr());
    });
}

// What is set back in the end to what it was, as functional_call() does, is no effect: the entry is a guard.
void Tracer::drop_undone() {
    const auto ends_as_before = [&](const Effect& one) {
        if (one.kind != Effect::SetItem || !PyDict_CheckExact(one.holder.ptr())) return false;
        PyObject* const before = state.found_first(one.holder.ptr(), one.key.ptr());
        if (before == nullptr) return false;
        const auto last = std::find_if(effects.rbegin(), effects.rend(), [&](const Effect& other) {
            return other.kind == Effect::SetItem && other.holder.is(one.holder) &&
                   same_value(other.key.ptr(), one.key.ptr());
        });
        return last->value.ptr() == before;
    };
    std::vector<Effect> kept;
    for (const Effect& one : effects)
        if (!ends_as_before(one)) kept.push_back(one);
    effects = std::move(kept);
}

Counter* Tracer::counter_of(PyObject* dict, PyObject* key) {
    for (Counter& one : counters)
        if (one.dict.ptr() == dict && same_value(one.key.ptr(), key)) return &one;
    return nullptr;
}

// It is a value like any other, after all.
void Tracer::read_counter(Counter& counter) {
    if (!std::exchange(counter.read, true))
        stay_eager("reads " + std::string(utf8(counter.key.ptr())) + ", which it has counted up");
}

// Whether what follows is `+= constant` and the store of the same attribute, of an int that nothing has read.
bool Tracer::begins_to_count(PyObject* dict, PyObject* name) {
    PyObject* const value = PyDict_GetItemWithError(dict, name);
    if (value == nullptr || !PyLong_CheckExact(value) || state.has_entry(dict, name)) return false;
    if (rest_.size() < 4) return false;
    const Instruction &constant = rest_[0], &add = rest_[1], &swap = rest_[2], &store = rest_[3];
    constexpr int kInPlaceAdd = 13;
    if (constant.opcode != LOAD_CONST || add.opcode != BINARY_OP || add.argument != kInPlaceAdd || swap.opcode != SWAP)
        return false;
    const bool attribute = store.opcode == STORE_ATTR && PyTuple_GET_ITEM(code_->co_names, store.argument) == name;
    const bool item = rest_.size() > 4 && swap.argument == 3 && store.opcode == SWAP && store.argument == 2 &&
                      rest_[4].opcode == STORE_SUBSCR;
    if (!attribute && !item) return false;
    PyObject* const change = PyTuple_GET_ITEM(code_->co_consts, constant.argument);
    if (!PyLong_CheckExact(change)) return false;
    counters.push_back({nb::borrow(dict), nb::borrow(name), nb::borrow(change)});
    return true;
}

bool Tracer::sets_property(PyObject* object, PyObject* found, PyObject* value) {
    if (found == nullptr || !PyObject_TypeCheck(found, &PyProperty_Type)) return false;
    touch(object);
    descriptor(found);
    const nb::object setter = nb::steal(checked(PyObject_GetAttrString(found, "fset")));
    PyObject* const arguments[] = {object, value};
    add_older(setter.ptr());
    if (!setter.is_none()) call(setter.ptr(), arguments, 2);
    return true;
}

void Tracer::set_attribute(PyObject* object, PyObject* name, PyObject* value) {
    if (TensorObject* const tensor = as_tensor(object)) {
        const char* const text = utf8(name);
        if (std::strcmp(text, "requires_grad") == 0) return note(tensor);
        if (is_told(text)) return;  // the recorder is told
        if (tensor->has(TensorObject::kPreexisting)) stay_eager(std::string("sets ") + text + " of a tensor");
        return;
    }
    if (is_argument(object)) return stay_eager("sets an attribute of an argument");
    PyTypeObject* const type = Py_TYPE(object);
    PyObject* const found = _PyType_Lookup(type, name);
    if (sets_property(object, found, value) || !is_older(object)) return;
    touch(object);
    if (is_thread_local(type)) {
        PyObject* const own = own_of_thread(object);
        look_up_entry(own, name);
        return found && Py_TYPE(found)->tp_descr_set ? stay_eager("sets a slot of an object from before the call")
                                                     : set_entry(own, name, value);
    }
    if (type->tp_setattro != PyObject_GenericSetAttr) {
        if (has_python_method(type, "__setattr__")) return;  // watched
        return stay_eager(std::string("sets an attribute of a ") + type->tp_name);
    }
    descriptor(found);
    if (found && Py_TYPE(found)->tp_descr_set) {
        if (has_python_method(Py_TYPE(found), "__set__")) return;  // watched
        return stay_eager("sets a slot of an object from before the call");
    }
    PyObject* const dict = dict_of(object);
    if (dict == nullptr) return stay_eager("sets the first attribute of an object from before the call");
    state.instance(object);
    if (!stores_count(dict, name)) set_entry(dict, name, value);
}

bool Tracer::stores_count(PyObject* dict, PyObject* key) {
    Counter* const counter = counter_of(dict, key);
    return counter && !std::exchange(counter->stored, true);
}

void Tracer::set_entry(PyObject* dict, PyObject* key, PyObject* value) {
    if (counter_of(dict, key)) return stay_eager("sets " + std::string(utf8(key)) + ", which it has counted up");
    for (const auto& [number, how] : numbers)  // an option that it has read before
        if (how.is_option() && how.dict.ptr() == dict && same_value(how.key.ptr(), key)) use(number);
    effects.push_back({Effect::SetItem, nb::borrow(dict), nb::borrow(key), nb::borrow(value)});
}

void Tracer::set_item(PyObject* container, PyObject* key, PyObject* value) {
    use(container);
    add_key(key);
    if (PySlice_Check(key)) take_over(value), use_if_read(value);
    if (as_tensor(container)) return contents(value);
    if (is_argument(container)) return stay_eager("sets an item of an argument");
    if (!is_older(container)) return;
    if (has_python_method(Py_TYPE(container), "__setitem__")) return;  // watched
    set_item_itself(container, key, value);
}

// By the method of the type in C, which that of a class in Python may call.
void Tracer::set_item_itself(PyObject* container, PyObject* key, PyObject* value) {
    if (is_argument(container)) return stay_eager("sets an item of an argument");
    if (has_python_method(Py_TYPE(container), "__setitem__") && !is_plain_dict(container))
        return stay_eager("sets an item of a container from before the call by a method of its base class");
    if (PyDict_Check(container) && (PyUnicode_CheckExact(key) || PyLong_CheckExact(key)))
        return stores_count(container, key) ? void() : set_entry(container, key, value);
    if (PyList_CheckExact(container) && has_place(container, key)) {
        effects.push_back({Effect::SetItem, nb::borrow(container), nb::borrow(key), nb::borrow(value)});
        return;
    }
    stay_eager(std::string("sets an item of a ") + Py_TYPE(container)->tp_name + " from before the call");
}

void Tracer::enter_with(PyObject* manager) {
    touch(manager);
    PyTypeObject* const type = Py_TYPE(manager);
    if (is_clews(type) || (has_python_method(type, "__enter__") && has_python_method(type, "__exit__"))) return;
    stay_eager(std::string("enters a ") + type->tp_name);
}

}  // namespace clew::bind

#endif
