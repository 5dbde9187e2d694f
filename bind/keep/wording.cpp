#include "bind/keep/wording.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bind/errors.h"
#include "bind/keep/variant.h"
#include "bind/types/objects.h"
#include "bind/watch/kinds.h"
#include "bind/watch/values.h"
#include "core/autograd/leaf.h"
#include "core/autograd/mode.h"
#include "core/base/dtype.h"

namespace nb = nanobind;

namespace clew::bind {
namespace {

class Wording {
public:
    std::string text;

    void add(PyObject* object, int depth) {
        if (as_tensor(object)) {
            add_tensor(object);
        } else if (PyFloat_CheckExact(object) && depth == 1) {
            text += kFloat;
        } else if (is_atom(object)) {
            text += short_repr(object);
        } else if (PyTuple_CheckExact(object)) {
            add_items(object, depth, "(", ")");
        } else if (PyList_CheckExact(object)) {
            add_items(object, depth, "[", "]");
        } else if (PyDict_CheckExact(object)) {
            add_dict(object, depth);
        } else {
            add_other(object);
        }
    }
    void add_named(PyObject* names, bool first) {
        PyObject *name, *value;
        for (Py_ssize_t place = 0; PyDict_Next(names, &place, &name, &value); first = false) {
            if (!first) text += ", ";
            text += std::string(utf8(name)) + "=";
            add(value, 1);
        }
    }
    void add_items(PyObject* items, int depth, const char* begin, const char* end) {
        const Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
        text += begin;
        for (Py_ssize_t i = 0; i < count; ++i) {
            if (i) text += ", ";
            if (is_enough(i, depth)) break;
            add(PySequence_Fast_GET_ITEM(items, i), depth + 1);
        }
        text += end;
    }

private:
    static constexpr Py_ssize_t kMostItems = 8;
    static constexpr std::size_t kLongest = 400;
    static constexpr int kDeepest = 4;
    std::vector<PyObject*> tensors_;

    // Arguments are all told, so that floats among them are counted.
    bool is_enough(Py_ssize_t count, int depth) {
        if (depth == 0 || (count < kMostItems && depth < kDeepest && text.size() < kLongest)) return false;
        text += "...";
        return true;
    }
    // Nothing is asked of the object: that might run Python of the user's.
    void add_other(PyObject* object) {
        if (PyType_Check(object))
            text += reinterpret_cast<PyTypeObject*>(object)->tp_name;
        else if (PyFunction_Check(object))
            text += utf8(reinterpret_cast<PyFunctionObject*>(object)->func_qualname);
        else if (PyCFunction_Check(object))
            text += reinterpret_cast<PyCFunctionObject*>(object)->m_ml->ml_name;
        else
            text.append("<").append(Py_TYPE(object)->tp_name).append(">");
    }
    void add_dict(PyObject* dict, int depth) {
        text += '{';
        PyObject *name, *value;
        Py_ssize_t count = 0;
        for (Py_ssize_t place = 0; PyDict_Next(dict, &place, &name, &value); ++count) {
            if (count) text += ", ";
            if (is_enough(count, depth)) break;
            add(name, depth + 1);
            text += ": ";
            add(value, depth + 1);
        }
        text += '}';
    }
    void add_sizes(std::span<const std::int64_t> sizes) {
        for (std::size_t i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
    }
    void add_tensor(PyObject* object) {
        const Tensor tensor(as_tensor(object));
        if (std::ranges::find(tensors_, object) != tensors_.end())
            text += "the same ";
        else
            tensors_.push_back(object);
        if (!is_exact_tensor(object)) text += std::string(Py_TYPE(object)->tp_name) + " ";
        text += std::string(dtype_name(tensor.dtype())) + "[";
        add_sizes(tensor.sizes());
        text += "]";
        if (!tensor.contiguous()) text += " strides (", add_sizes(tensor.strides()), text += ")";
        if (tensor->grad_fn)
            text += " with a graph";
        else if (tensor.requires_grad())
            text += " requires_grad";
        if (tensor->extras && tensor->extras->grad) text += " with .grad";
        if (tensor->base) text += " view";
        if (is_meta(tensor)) text += " meta";
    }
};

}  // namespace

std::string wording_of_call(PyObject* positional, PyObject* named) {
    Wording wording;
    wording.add_items(positional, 0, "(", "");
    if (named) wording.add_named(named, PyTuple_GET_SIZE(positional) == 0);
    wording.text += ")";
    if (!grad_enabled()) wording.text += " under no_grad";
    if (default_dtype() != DType::Float32)
        wording.text += std::string(" with default dtype ") + dtype_name(default_dtype());
    return std::move(wording.text);
}

std::string Variant::told_arguments() const {
    static constexpr const char* kOperations[] = {"<", "<=", "==", "!=", ">", ">="};
    std::string text;
    int next = 0;
    for (const char one : given) {
        if (one != kFloat || next == static_cast<int>(floats.size())) {
            text += one;
            continue;
        }
        const auto& [followed, value, constants] = floats[static_cast<std::size_t>(next)];
        text += followed ? "any float" : short_repr(nb::float_(value).ptr());
        const char* between = " that is ";
        for (const NumberWitness& compared : comparisons) {
            if (!followed || compared.read != next) continue;
            text += std::exchange(between, " and ") + std::string(compared.outcome ? "" : "not ") +
                    kOperations[compared.operation] + " " + short_repr(nb::float_(compared.constant).ptr());
        }
        ++next;
    }
    return text;
}

std::string short_repr(PyObject* atom) {
    const nb::object text = nb::steal(PyUnicode_FromFormat("%.40R", atom));
    if (text.is_valid()) return utf8(text.ptr());
    PyErr_Clear();  // an int of thousands of digits
    return Py_TYPE(atom)->tp_name;
}

}  // namespace clew::bind
