#include "bind/calls/index_key.h"

#include <cstring>

#include "bind/errors.h"
#include "bind/types/objects.h"
#include "core/base/error.h"
#include "core/ops/dispatch.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

constexpr const char* kWhatIsValid =
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %s)";

bool is_array(PyObject* object) {
    return PyObject_CheckBuffer(object) && PySequence_Check(object) && PyIndex_Check(object);
}

// PyTorch (and once NumPy) reads a short list that holds more than numbers as if it were a tuple.
bool is_like_tuple(PyObject* key) {
    constexpr Py_ssize_t longest = 32;
    if (PyTuple_Check(key)) return true;
    if (as_tensor(key) || !PySequence_Check(key) || is_array(key) || PyUnicode_Check(key) || PyBytes_Check(key))
        return false;
    const Py_ssize_t count = PySequence_Size(key);
    if (count < 0) PyErr_Clear();
    for (Py_ssize_t i = 0; i < count && count < longest; ++i) {
        const Handle held = Handle::steal(checked(PySequence_GetItem(key, i)));
        auto* item = static_cast<PyObject*>(held.get());
        if (as_tensor(item) || PySequence_Check(item) || PySlice_Check(item) || item == Py_Ellipsis ||
            item == Py_None) {
            checked(PyErr_WarnEx(PyExc_UserWarning,
                                 "Using a non-tuple sequence for multidimensional indexing is deprecated: it reads "
                                 "x[[a, b]] as x[a, b]; write "
                                 "x[tuple(seq)], or x[torch.tensor(seq)] if that is what you mean",
                                 1));
            return true;
        }
    }
    return false;
}

// A list or array as a tensor of indices or a mask.
Tensor index_from(PyObject* sequence) {
    if (PyUnicode_Check(sequence) || PyBytes_Check(sequence))
        fail(ErrorKind::Type, "index: expected an integer, slice, ellipsis, None, tensor or list, got %s",
             Py_TYPE(sequence)->tp_name);
    Handle wide;  // an array of integers that have no native dtype
    if (is_array(sequence)) {
        const Handle dtype = Handle::steal(checked(PyObject_GetAttrString(sequence, "dtype")));
        const Handle kind = Handle::steal(checked(PyObject_GetAttrString(static_cast<PyObject*>(dtype.get()), "char")));
        const char* letter = PyUnicode_AsUTF8(static_cast<PyObject*>(kind.get()));
        if (letter && std::strchr("bhHIL", *letter))
            wide = Handle::steal(checked(PyObject_CallMethod(sequence, "astype", "s", "int64")));
    }
    const Tensor made = tensor_from_python(wide ? static_cast<PyObject*>(wide.get()) : sequence);
    return is_inexact(made.dtype()) ? cast(made, DType::Int64) : made;  // an empty list is floating, too
}

bool is_mask(const Tensor& index) { return index.dtype() == DType::Bool || index.dtype() == DType::UInt8; }

// True and False select all or nothing along a new axis.
Tensor index_from_truth(bool truth) { return truth ? zeros(Dims{1}, DType::Int64) : empty({0}, DType::Int64); }

// One part of a key. Lists and arrays have become tensors.
struct Part {
    enum Kind { Integer, Slice, NewAxis, Ellipsis, Truth, Indices } kind;
    PyObject* object;  // borrowed from the key
    Handle integer{};
    Tensor tensor{};
    bool truth = false;

    int axes() const {
        if (kind == Indices) return is_mask(tensor) ? tensor.ndim() : 1;
        return kind == Integer || kind == Slice ? 1 : 0;
    }
};

Part part_of_tensor(PyObject* object, Tensor tensor) {
    const bool of_each_sample = is_batched(tensor) && !is_mask(tensor);
    if (tensor.ndim() != 0 || is_inexact(tensor.dtype()) || of_each_sample)
        return {.kind = Part::Indices, .object = object, .tensor = std::move(tensor)};
    const std::int64_t number = read_integer(escape(tensor, Read::Index));
    if (is_mask(tensor)) return {.kind = Part::Truth, .object = object, .truth = number != 0};
    return {.kind = Part::Integer, .object = object, .integer = Handle::steal(checked(PyLong_FromLongLong(number)))};
}

Part part_of(PyObject* object) {
    if (PyBool_Check(object)) return {.kind = Part::Truth, .object = object, .truth = object == Py_True};
    if (PyLong_Check(object)) return {.kind = Part::Integer, .object = object, .integer = Handle::borrow(object)};
    if (PySlice_Check(object)) return {.kind = Part::Slice, .object = object};
    if (object == Py_None) return {.kind = Part::NewAxis, .object = object};
    if (object == Py_Ellipsis) return {.kind = Part::Ellipsis, .object = object};
    if (TensorObject* tensor = as_tensor(object)) return part_of_tensor(object, Tensor(tensor));
    if (PySequence_Check(object)) return part_of_tensor(object, index_from(object));
    if (PyIndex_Check(object)) {
        PyObject* number = PyNumber_Index(object);
        if (number) return {.kind = Part::Integer, .object = object, .integer = Handle::steal(number)};
        PyErr_Clear();
    }
    fail(ErrorKind::Index, kWhatIsValid, Py_TYPE(object)->tp_name);
}

std::vector<Part> parts_of(PyObject* key) {
    std::vector<Part> parts;
    if (!is_like_tuple(key)) {
        parts.push_back(part_of(key));
        return parts;
    }
    const Handle held = Handle::steal(checked(PySequence_Tuple(key)));
    auto* tuple = static_cast<PyObject*>(held.get());
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) parts.push_back(part_of(PyTuple_GET_ITEM(tuple, i)));
    return parts;
}

}  // namespace

[[gnu::hot]] Tensor select_position(const Tensor& x, int axis, PyObject* integer, int real_axis) {
    if (x.ndim() == 0)
        fail(ErrorKind::Index,
             "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
             "0-dim tensor to a "
             "number");
    int overflow;
    const long long index = PyLong_AsLongLongAndOverflow(integer, &overflow);
    const std::int64_t size = x.size(axis);
    if (overflow || index < -size || index >= size) {
        const Handle text = Handle::steal(checked(PyObject_Str(integer)));
        fail(ErrorKind::Index, "index %s is out of bounds for dimension %d with size %lld",
             PyUnicode_AsUTF8(static_cast<PyObject*>(text.get())), real_axis, static_cast<long long>(size));
    }
    return clew::select(x, axis, index);
}

Tensor take_slice(const Tensor& x, int axis, PyObject* slice_object, bool keep_full) {
    Py_ssize_t start, stop, step;
    if (x.ndim() == 0) fail(ErrorKind::Index, "slice() cannot be applied to a 0-dim tensor.");
    checked(PySlice_Unpack(slice_object, &start, &stop, &step));
    if (step <= 0) fail(ErrorKind::Value, "step must be greater than zero, got %zd; use flip", step);
    if (!keep_full && step == 1 && start == 0 && stop >= x.size(axis)) return x;
    return slice(x, axis, start, stop, step);
}

Selection select(const Tensor& x, PyObject* key) {
    std::vector<Part> parts = parts_of(key);
    int named = 0;
    for (const Part& part : parts) named += part.axes();
    // A 0-dim tensor has an error of its own for x[0] and x[:].
    const bool number_alone = x.ndim() == 0 && parts.size() == 1 &&
                              (parts[0].kind == Part::Integer || parts[0].kind == Part::Slice) &&
                              as_tensor(parts[0].object) == nullptr;
    if (named > x.ndim() && !number_alone)
        fail(ErrorKind::Index, "too many indices for tensor of dimension %d", x.ndim());

    Selection result{x, {}};
    int axis = 0, real_axis = 0, noted = 0;  // `noted` axes of the view have their entry in indices
    const auto note = [&](Tensor index, int spans) {
        result.indices.resize(result.indices.size() + static_cast<std::size_t>(axis - noted));
        result.indices.push_back(std::move(index));
        axis += spans;
        noted = axis;
    };
    for (Part& part : parts) {
        const int spans = part.axes();
        if (axis + spans > result.view.ndim() && !number_alone)
            fail(ErrorKind::Index, "too many indices for tensor of dimension %d", x.ndim());
        switch (part.kind) {
            case Part::Integer:
                result.view =
                    select_position(result.view, axis, static_cast<PyObject*>(part.integer.get()), real_axis++);
                break;
            case Part::Slice:
                result.view = take_slice(result.view, axis++, part.object, false);
                ++real_axis;
                break;
            case Part::NewAxis:
                result.view = unsqueeze(result.view, axis++);
                break;
            case Part::Ellipsis:
                axis += x.ndim() - named;
                real_axis += x.ndim() - named;
                break;
            case Part::Truth:
                result.view = unsqueeze(result.view, axis);
                note(index_from_truth(part.truth), 1);
                break;
            case Part::Indices:
                note(std::move(part.tensor), spans);
                real_axis += spans;
                break;
        }
    }
    return result;
}

}  // namespace clew::bind
