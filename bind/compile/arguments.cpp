#include "bind/compile/arguments.h"

#include <utility>

#include "bind/errors.h"
#include "bind/objects.h"
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

CallArguments::CallArguments(PyObject* positional, PyObject* named)
    : lists_(spare ? std::move(spare) : std::make_unique<ArgumentLists>()),
      key(lists_->key),
      tensors(lists_->tensors),
      containers(lists_->containers),
      objects(lists_->objects),
      floats(lists_->floats) {
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
    spare = std::move(lists_);
}

std::string CallArguments::key_with_floats() const {
    return key + std::string(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(double));
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
        if (!add_container(object)) return;
        add_value(PyDict_GET_SIZE(object));
        PyObject *name, *value;
        for (Py_ssize_t place = 0; PyDict_Next(object, &place, &name, &value);)
            add(name, depth + 1), add(value, depth + 1);
    } else if (PyObject_CheckBuffer(object) && !PyBytes_Check(object)) {
        unknown = "is given a NumPy array or number, or another buffer; give a tensor, a float or an int";
    } else {
        key += 'o';
        add_value(object);
        objects.push_back(object);
    }
}

}  // namespace clew::bind
