#include "bind/keep/arguments.h"

#include <algorithm>
#include <utility>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"
#include "bind/watch/values.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/dtype.h"
#include "core/base/error.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

constexpr int kDeepest = 16;

std::unique_ptr<ArgumentLists> spare;

}  // namespace

CallArguments::CallArguments(PyObject* positional, PyObject* named, const ByContent& by_content)
    : lists_(spare ? std::move(spare) : std::make_unique<ArgumentLists>()),
      key(lists_->key),
      tensors(lists_->tensors),
      containers(lists_->containers),
      objects(lists_->objects),
      floats(lists_->floats),
      addresses(lists_->addresses),
      by_content_(by_content) {
    add_value(mode_word);
    add_value(default_dtype());
    add(positional, 0);
    if (named) add(named, 0);
}

CallArguments::~CallArguments() {
    tensors.clear();  // which may run Python
    key.clear();
    containers.clear();
    objects.clear();
    floats.clear();
    addresses.clear();
    spare = std::move(lists_);
}

std::string CallArguments::key_with_floats() const {
    return key + std::string(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(double));
}

std::string CallArguments::key_without_objects() const {
    std::string text = key;
    for (const std::size_t at : addresses)
        std::fill_n(text.begin() + static_cast<std::ptrdiff_t>(at), sizeof(PyObject*), '\0');
    return text;
}

void CallArguments::add_text(PyObject* text) {
    const Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    const auto width = static_cast<Py_ssize_t>(PyUnicode_KIND(text));
    add_value(length);
    add_value(width);
    add_bytes(PyUnicode_DATA(text), static_cast<std::size_t>(length * width));
}

void CallArguments::add_tensor(PyObject* object) {
    const Tensor tensor(as_tensor(object));
    for (std::size_t i = 0; i < tensors.size(); ++i)
        if (tensors[i].same(tensor)) {
            key += '=';
            return add_value(i);
        }
    tensors.push_back(tensor);
    key += is_exact_tensor(object) ? 'T' : 'S';
    if (!is_exact_tensor(object)) add_value(Py_TYPE(object)), objects.push_back(as_object(Py_TYPE(object)));
    const bool grad = tensor->extras && tensor->extras->grad;
    key += static_cast<char>(tensor.dtype());
    key += static_cast<char>(tensor.requires_grad() | grad << 1 | bool(tensor->grad_fn) << 2 | bool(tensor->base) << 3 |
                             is_meta(tensor) << 4 | tensor->has(TensorObject::kInference) << 5);
    key += static_cast<char>(tensor.ndim());
    for (const std::int64_t size : tensor.sizes()) add_value(size);
    for (const std::int64_t stride : tensor.strides()) add_value(stride);
}

// Whether the container is a new one; else where it stood before is part of the key.
bool CallArguments::add_container(PyObject* object) {
    for (std::size_t i = 0; i < containers.size(); ++i)
        if (containers[i] == object) {
            key += '=';
            add_value(i);
            return false;
        }
    containers.push_back(object);
    return true;
}

void CallArguments::add(PyObject* object, int depth) {
    if (depth > kDeepest) {
        unknown = "its arguments are nested more than 16 deep";
        return;
    }
    if (as_tensor(object)) return add_tensor(object);
    if (object == Py_None || object == Py_True || object == Py_False) {
        key += object == Py_None ? 'n' : object == Py_True ? '1' : '0';
    } else if (PyFloat_CheckExact(object)) {
        key += 'f';
        if (depth == 1)
            floats.push_back(PyFloat_AS_DOUBLE(object));
        else
            add_value(PyFloat_AS_DOUBLE(object));
    } else if (PyLong_CheckExact(object)) {
        key += 'i';
        add_text(nb::steal(checked(PyNumber_ToBase(object, 16))).ptr());
    } else if (PyUnicode_CheckExact(object)) {
        key += 's';
        add_text(object);
    } else if (PyTuple_CheckExact(object) || PyList_CheckExact(object)) {
        key += PyTuple_CheckExact(object) ? '(' : '[';
        if (!add_container(object)) return;
        const Py_ssize_t count = PySequence_Fast_GET_SIZE(object);
        add_value(count);
        for (Py_ssize_t i = 0; i < count; ++i) add(PySequence_Fast_GET_ITEM(object, i), depth + 1);
    } else if (PyDict_CheckExact(object)) {
        key += '{';
        if (add_container(object)) add_entries(object, depth);
    } else if (add_by_content(object, depth)) {
        return;
    } else if (PyObject_CheckBuffer(object) && !PyBytes_Check(object)) {
        unknown = "is given a NumPy array or number, or another buffer; give a tensor, a float or an int";
    } else {
        key += 'o';
        addresses.push_back(key.size());
        add_object(object);
    }
}

void CallArguments::add_object(PyObject* object) {
    add_value(object);
    objects.push_back(object);
}

void CallArguments::add_entries(PyObject* dict, int depth) {
    add_value(PyDict_GET_SIZE(dict));
    each_item(dict, [&](PyObject* name, PyObject* value) {
        add(name, depth + 1);
        add(value, depth + 1);
        return true;
    });
}

// In its own order, and with the size of its table, on which the order of what is made of it depends.
bool CallArguments::add_set(PyObject* set, int depth) {
    const std::vector<nb::object> items = items_of(set);
    for (const nb::object& item : items)
        if (!is_atom(item.ptr()) && !is_tuple_of_atoms(item.ptr())) return false;
    key += PyFrozenSet_CheckExact(set) ? 'F' : 'U';
    if (!add_container(set)) return true;
    add_value(PySet_GET_SIZE(set));
    add_value(reinterpret_cast<PySetObject*>(set)->mask);
    for (const nb::object& item : items) add(item.ptr(), depth + 1);
    return true;
}

bool CallArguments::add_by_content(PyObject* object, int depth) {
    PyTypeObject* const type = Py_TYPE(object);
    if (PySlice_Check(object)) {
        key += ':';
        if (!add_container(object)) return true;
        auto* const slice = reinterpret_cast<PySliceObject*>(object);
        for (PyObject* const one : {slice->start, slice->stop, slice->step}) add(one, depth + 1);
    } else if (PyRange_Check(object)) {
        key += 'r';
        if (!add_container(object)) return true;
        for (const char* const part : {"start", "stop", "step"})
            add(nb::steal(checked(PyObject_GetAttrString(object, part))).ptr(), depth + 1);
    } else if (PyMethod_Check(object) && !as_tensor(PyMethod_GET_SELF(object))) {
        key += 'm';
        if (!add_container(object)) return true;
        for (PyObject* const one : {PyMethod_GET_FUNCTION(object), PyMethod_GET_SELF(object)}) {
            addresses.push_back(key.size());
            add_object(one);
        }
    } else if (PySet_CheckExact(object) || PyFrozenSet_CheckExact(object)) {
        return add_set(object, depth);
    } else if (PyODict_CheckExact(object)) {
        if (PyObject* const own = dict_of(object); own && PyDict_GET_SIZE(own)) return false;
        key += 'O';
        if (add_container(object)) add_entries(object, depth);
    } else if (PyTuple_Check(object) && is_of_class_statement(type)) {
        if (PyObject* const own = dict_of(object); own && PyDict_GET_SIZE(own)) return false;
        key += 't';
        add_object(as_object(type));
        if (!add_container(object)) return true;
        add_value(PyTuple_GET_SIZE(object));
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i) add(PyTuple_GET_ITEM(object, i), depth + 1);
    } else if (std::ranges::find(by_content_, type) != by_content_.end() && may_go_by_content(object)) {
        key += 'c';
        add_object(as_object(type));
        if (!add_container(object)) return true;
        const nb::object dict = nb::steal(checked(PyObject_GenericGetDict(object, nullptr)));
        if (add_container(dict.ptr())) add_entries(dict.ptr(), depth);
    } else {
        return false;
    }
    return true;
}

bool may_go_by_content(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    if (!has_python_method(type, "__eq__") || !has_python_method(type, "__repr__")) return false;
    if (type->tp_dictoffset == 0) return false;
    for (; is_of_class_statement(type); type = type->tp_base)
        if (reinterpret_cast<PyHeapTypeObject*>(type)->ht_slots) return false;
    return type == &PyBaseObject_Type;
}

}  // namespace clew::bind
