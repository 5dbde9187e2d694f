#include "bind/calls/indexing.h"

#include "bind/calls/index_key.h"
#include "bind/errors.h"
#include "bind/types/objects.h"
#include "bind/types/torch_function.h"
#include "core/base/error.h"
#include "core/ops/elementwise/elementwise.h"
#include "core/ops/elementwise/scalar.h"
#include "core/ops/functions.h"

namespace clew::bind {
namespace {

// What is assigned, as a tensor; numbers take the dtype of what they are written to.
Tensor value_of(PyObject* value, const Tensor& self) {
    if (TensorObject* tensor = as_tensor(value)) return Tensor(tensor);
    if (!is_number(value))
        fail(ErrorKind::Type, "can't assign a %s to a %s Tensor; make it a tensor first, with clew.tensor(...)",
             Py_TYPE(value)->tp_name, dtype_name(self.dtype()));
    const Tensor number = element("__setitem__", number_in(tensor_from_number(value)), self.dtype());
    number->set(TensorObject::kWrappedNumber, true);
    return number;
}

Dims without_leading_ones(Sizes all) {
    Dims sizes(all);
    while (!sizes.empty() && sizes[0] == 1) sizes.erase(0);
    return sizes;
}

// Leading axes of size 1 that the destination does not have don't matter.
void write(const Tensor& place, const Tensor& value) {
    if (same_sizes(value.sizes(), place.sizes())) return copy_in_place(place, value);
    if (value.ndim() == 0) return fill_in_place(place, value);
    const Tensor source = view(value, without_leading_ones(value.sizes()));
    const bool fits = can_expand(source.sizes(), place.sizes());  // copy_ says what is wrong
    copy_in_place(place, fits && value.requires_grad() ? expand(source, place.sizes()) : source);
}

Tensor get(const Tensor& x, PyObject* key) {
    if (PyLong_CheckExact(key)) return select_position(x, 0, key, 0);
    if (PySlice_Check(key)) return take_slice(x, 0, key, true);
    if (is_exact_tensor(key)) {
        const Tensor places(reinterpret_cast<TensorObject*>(key));
        if (places.dtype() == DType::Int64 && places.ndim() > 0) return index(x, Tensors(&places, 1));
    }
    const Selection selection = select(x, key);
    if (!selection.indices.empty()) return index(selection.view, selection.indices);
    return selection.view.same(x) ? view_alias(x) : selection.view;
}

void set(const Tensor& x, PyObject* key, const Tensor& value) {
    if (key == Py_False) return;  // nothing is selected
    if (PyLong_CheckExact(key)) return write(select_position(x, 0, key, 0), value);
    if (PySlice_Check(key)) return write(take_slice(x, 0, key, false), value);
    if (key == Py_True) return write(unsqueeze(x, 0), value);
    const Selection selection = select(x, key);
    if (selection.indices.empty()) return write(selection.view, value);
    // The value may have leading ones more than the result, whose rank only the indices know: as many go as there are.
    const Dims sizes = without_leading_ones(value.sizes());
    index_put_in_place(selection.view, selection.indices, sizes.size() == value.ndim() ? value : view(value, sizes));
}

}  // namespace

[[gnu::hot]] PyObject* tensor_getitem(PyObject* self, PyObject* key) {
    return guarded([&]() -> PyObject* {
        PyObject* const arguments[] = {self, key};
        if (is_asked_about({arguments, 2, nullptr})) [[unlikely]]
            return ask_method("__getitem__", {arguments, 2, nullptr});
        return wrap(get(Tensor(reinterpret_cast<TensorObject*>(self)), key));
    });
}

int tensor_setitem(PyObject* self, PyObject* key, PyObject* value) {
    return guarded(
        [&] {
            if (value == nullptr) fail(ErrorKind::Type, "Tensor does not support deleting items");
            PyObject* const arguments[] = {self, key, value};
            if (is_asked_about({arguments, 3, nullptr})) [[unlikely]] {
                Py_DECREF(ask_method("__setitem__", {arguments, 3, nullptr}));
                return 0;
            }
            const Tensor x(reinterpret_cast<TensorObject*>(self));
            set(x, key, value_of(value, x));
            return 0;
        },
        -1);
}

}  // namespace clew::bind
