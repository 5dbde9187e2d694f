#include "bind/watch/python_state.h"

#include <algorithm>
#include <utility>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

// Modules, batches: what may hold much memory.
bool is_held_weakly(PyObject* object) {
    return as_tensor(object) || (is_python_class(Py_TYPE(object)) && PyType_SUPPORTS_WEAKREFS(Py_TYPE(object)));
}

bool is_owned(const nb::object& object) { return object.is_valid(); }
bool is_owned(const Held& object) { return object.owned(); }

}  // namespace

PythonState::Dict& PythonState::of_dict(PyObject* dict) {
    const auto [found, fresh] = dict_index_.emplace(dict, dicts_.size());
    if (fresh) dicts_.push_back({.dict = nb::borrow(dict), .entries = {}});
    return dicts_[found->second];
}

void PythonState::entry(PyObject* dict, PyObject* key) {
    Dict& known = of_dict(dict);
    if (known.whole) return;
    for (const Entry& entry : known.entries)
        if (same_value(entry.key.ptr(), key)) return;
    known.entries.push_back({nb::borrow(key), nb::borrow(look_up(dict, key))});
}

void PythonState::whole(PyObject* dict) {
    Dict& known = of_dict(dict);
    if (known.whole) return;
    known.whole = true;
    known.entries.clear();
    each_item(dict, [&](PyObject* key, PyObject* value) {
        known.entries.push_back({nb::borrow(key), nb::borrow(value)});
        return true;
    });
    known.ordered = PyODict_Check(dict) && known.entries.size() > 1;
}

void PythonState::list(PyObject* list) {
    if (!list_index_.emplace(list, lists_.size()).second) return;
    List& known = lists_.emplace_back(List{nb::borrow(list), {}});
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) known.items.push_back(nb::borrow(PyList_GET_ITEM(list, i)));
}

void PythonState::set(PyObject* set) {
    if (!set_index_.emplace(set, sets_.size()).second) return;
    List& known = sets_.emplace_back(List{nb::borrow(set), {}});
    for (nb::object& item : items_of(set)) known.items.emplace_back(std::move(item));
}

void PythonState::cell(PyObject* cell) {
    if (cell_index_.emplace(cell, cells_.size()).second)
        cells_.push_back({nb::borrow(cell), nb::borrow(PyCell_GET(cell))});
}

void PythonState::function(PyObject* function) {
    if (!function_index_.emplace(function, functions_.size()).second) return;
    functions_.push_back({nb::borrow(function), nb::borrow(code_of(function)), nb::borrow(defaults_of(function)),
                          nb::borrow(keyword_defaults_of(function))});
    if (keyword_defaults_of(function)) whole(keyword_defaults_of(function));
}

void PythonState::instance(PyObject* object) {
    if (instance_index_.emplace(object, instances_.size()).second)
        instances_.push_back({nb::borrow(object), nb::borrow(as_object(Py_TYPE(object))), nb::borrow(dict_of(object))});
}

bool PythonState::type(PyTypeObject* type) {
    if (type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) return false;
    if (!type_index_.emplace(as_object(type), types_.size()).second) return false;
    types_.push_back({.type = nb::borrow(as_object(type)), .bases = nb::borrow(type->tp_mro)});
    return true;
}

void PythonState::registered_classes() {
    if (!registrations_.is_valid()) registrations_ = registrations();
}

void PythonState::slot(PyObject* object, PyObject* descriptor) {
    slots_.push_back({nb::borrow(object), nb::borrow(descriptor), slot_value(object, descriptor)});
}

void PythonState::thread_local_dict(PyObject* local, PyObject* dict) {
    for (const ThreadLocal& one : thread_locals_)
        if (one.local.ptr() == local) return;
    thread_locals_.push_back({nb::borrow(local), nb::borrow(dict)});
}

void PythonState::answer(PyObject* cache, PyObject* arguments, PyObject* value) {
    answers_.push_back({nb::borrow(cache), nb::borrow(arguments), nb::borrow(value)});
}

std::size_t PythonState::size() const {
    std::size_t count = lists_.size() + sets_.size() + cells_.size() + functions_.size() + instances_.size() +
                        slots_.size() + answers_.size();
    for (const Dict& dict : dicts_) count += dict.entries.size();
    return count + types_.size();
}

void PythonState::seal() {
    for (auto* index :
         {&dict_index_, &list_index_, &set_index_, &cell_index_, &function_index_, &instance_index_, &type_index_})
        index->clear();
    for (Type& known : types_) known.version = version_of_type(known.type.ptr());
    each([&](const auto& one) { mentioned_.insert(one.ptr()); });
}

void PythonState::weaken(const nb::object& died) {
    std::vector<Answer> answers = std::exchange(answers_, {});  // a cache may forget them, and have them again
    each_found([&](Held& one) { weaken(one, died); });
    answers_ = std::move(answers);
}

void PythonState::weaken(Held& one, const nb::object& died) {
    if (!one.owned() || !is_held_weakly(one.ptr())) return;
    if (watched_.insert(one.ptr()).second)
        deaths_.push_back(nb::steal(checked(PyWeakref_NewRef(one.ptr(), died.ptr()))));
    one.loosen();
}

bool PythonState::dict_holds(Dict& known) {
    PyObject* const dict = known.dict.ptr();
    const std::uint64_t version = version_of_dict(dict);
    if (version != 0 && version == known.version && !known.ordered) return true;
    if (known.whole) {
        if (static_cast<std::size_t>(PyDict_GET_SIZE(dict)) != known.entries.size()) return fails(dict, nullptr);
        std::size_t i = 0;
        if (!each_item(dict, [&](PyObject* key, PyObject* value) {
                if (i == known.entries.size()) return fails(dict, nullptr);
                const Entry& then = known.entries[i++];
                return (same_value(key, then.key.ptr()) && same_value(value, then.value.ptr())) ||
                       fails(dict, key, value, same_value(key, then.key.ptr()) ? then.value.ptr() : nullptr);
            }))
            return false;
    } else {
        for (const Entry& entry : known.entries)
            if (PyObject* const now = look_up(dict, entry.key.ptr()); !same_value(now, entry.value.ptr()))
                return fails(dict, entry.key.ptr(), now, entry.value.ptr());
    }
    known.version = version;
    return true;
}

bool PythonState::holds() {
    for (Dict& dict : dicts_)
        if (!dict_holds(dict)) return false;
    for (const Instance& one : instances_)
        if (as_object(Py_TYPE(one.object.ptr())) != one.type.ptr() || dict_of(one.object.ptr()) != one.dict.ptr())
            return fails(one.object.ptr(), nullptr);
    for (const Type& known : types_) {
        auto* const type = reinterpret_cast<PyTypeObject*>(known.type.ptr());
        if (known.version == 0 || type->tp_version_tag != known.version || type->tp_mro != known.bases.ptr())
            return fails(known.type.ptr(), nullptr);
    }
    for (const Function& one : functions_) {
        PyObject* const function = one.function.ptr();
        if (code_of(function) != one.code.ptr() || defaults_of(function) != one.defaults.ptr() ||
            keyword_defaults_of(function) != one.keyword_defaults.ptr())
            return fails(function, nullptr);
    }
    for (const Cell& one : cells_)
        if (!same_value(PyCell_GET(one.cell.ptr()), one.value.ptr()))
            return fails(one.cell.ptr(), nullptr, PyCell_GET(one.cell.ptr()), one.value.ptr());
    for (const auto* lists : {&lists_, &sets_})
        for (const List& one : *lists)
            if (!one.holds()) return fails(one.list.ptr(), nullptr);
    if (registrations_.is_valid() && !same_value(registrations().ptr(), registrations_.ptr()))
        return fails(registrations_.ptr(), nullptr);
    for (const ThreadLocal& one : thread_locals_)
        if (!nb::steal(checked(PyObject_GetAttrString(one.local.ptr(), "__dict__"))).is(one.dict))
            return fails(one.local.ptr(), nullptr);
    for (const Slot& one : slots_)
        if (!same_value(slot_value(one.object.ptr(), one.descriptor.ptr()).ptr(), one.value.ptr()))
            return fails(one.object.ptr(), nullptr);
    // Last, since they may run Python; and all of them, so that caches that were cleared are full for the next
    // recording.
    bool same = true;
    for (const Answer& one : answers_)
        if (!one.holds()) same = fails(one.cache.ptr(), nullptr);
    return same;
}

bool PythonState::Answer::holds() const {
    const nb::object now = nb::steal(PyObject_CallObject(cache.ptr(), arguments.ptr()));
    if (now.is_valid()) return same_value(now.ptr(), value.ptr());
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError();
    PyErr_Clear();
    return false;
}

bool PythonState::List::holds() const {
    if (PyList_Check(list.ptr())) {
        if (static_cast<std::size_t>(PyList_GET_SIZE(list.ptr())) != items.size()) return false;
        for (std::size_t i = 0; i < items.size(); ++i)
            if (!same_value(PyList_GET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i)), items[i].ptr())) return false;
        return true;
    }
    const std::vector<nb::object> now = items_of(list.ptr());
    return std::equal(now.begin(), now.end(), items.begin(), items.end(),
                      [](const nb::object& a, const Held& b) { return same_value(a.ptr(), b.ptr()); });
}

template <class Visit>
void PythonState::each(const Visit& visit) const {
    const auto entries = [&](const std::vector<Entry>& list) {
        for (const Entry& one : list) visit(one.key), visit(one.value);
    };
    for (const Dict& one : dicts_) visit(one.dict), entries(one.entries);
    for (const Type& one : types_) visit(one.type), visit(one.bases);
    for (const auto* lists : {&lists_, &sets_})
        for (const List& one : *lists) {
            visit(one.list);
            for (const Held& item : one.items) visit(item);
        }
    for (const Cell& one : cells_) visit(one.cell), visit(one.value);
    for (const Function& one : functions_)
        visit(one.function), visit(one.code), visit(one.defaults), visit(one.keyword_defaults);
    for (const Instance& one : instances_) visit(one.object), visit(one.type), visit(one.dict);
    for (const Slot& one : slots_) visit(one.object), visit(one.descriptor), visit(one.value);
    for (const ThreadLocal& one : thread_locals_) visit(one.local), visit(one.dict);
    for (const Answer& one : answers_) visit(one.cache), visit(one.arguments), visit(one.value);
}

template <class Visit>
void PythonState::each_found(const Visit& visit) {
    for (Dict& one : dicts_)
        for (Entry& entry : one.entries) visit(entry.value);
    for (auto* lists : {&lists_, &sets_})
        for (List& one : *lists)
            for (Held& item : one.items) visit(item);
    for (Cell& one : cells_) visit(one.value);
    for (Instance& one : instances_) visit(one.object);
    for (Slot& one : slots_) visit(one.object), visit(one.value);
    for (Answer& one : answers_) visit(one.value);
}

bool PythonState::has_entry(PyObject* dict, PyObject* key) const {
    const auto found = dict_index_.find(dict);
    if (found == dict_index_.end()) return false;
    const Dict& known = dicts_[found->second];
    return known.whole || std::any_of(known.entries.begin(), known.entries.end(),
                                      [&](const Entry& one) { return same_value(one.key.ptr(), key); });
}

PyObject* PythonState::found_first(PyObject* dict, PyObject* key) const {
    const auto found = dict_index_.find(dict);
    if (found == dict_index_.end()) return nullptr;
    for (const Entry& one : dicts_[found->second].entries)
        if (same_value(one.key.ptr(), key)) return one.value.ptr();
    return nullptr;
}

nb::object PythonState::give_up_entry(PyObject* dict, PyObject* key) {
    for (Dict& known : dicts_) {
        if (known.dict.ptr() != dict || known.whole) continue;
        for (std::size_t i = 0; i < known.entries.size(); ++i) {
            if (!same_value(known.entries[i].key.ptr(), key)) continue;
            if (!known.entries[i].value.is_valid()) return {};
            const nb::object value = nb::borrow(known.entries[i].value.ptr());
            known.entries.erase(known.entries.begin() + static_cast<std::ptrdiff_t>(i));
            return value;
        }
    }
    return {};
}

void PythonState::take_entry(PyObject* dict, PyObject* key, PyObject* value) {
    of_dict(dict).entries.push_back({nb::borrow(key), nb::borrow(value)});
}

bool PythonState::mentions(PyObject* value) const {
    if (!mentioned_.empty()) return mentioned_.contains(value);
    bool found = false;
    each([&](const auto& one) { found = found || one.ptr() == value; });
    return found;
}

int PythonState::traverse(visitproc visit, void* arg) const {
    int result = 0;
    each([&](const auto& one) {
        if (result == 0 && is_owned(one)) result = visit(one.ptr(), arg);
    });
    return result;
}

void PythonState::clear() {
    PythonState gone;
    std::swap(*this, gone);
}

}  // namespace clew::bind
